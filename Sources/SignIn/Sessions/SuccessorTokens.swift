import Crypto
import Primitives

/// The tokens that replace a refresh token: HKDF-SHA-256 (RFC 5869) of that token and a random salt.
///
/// So an exchange can be repeated although the store has only hashes of tokens: within the grace period, the successor
/// is computed again from the presented token and the stored salt. Neither is enough alone: the store has no token, and
/// the holder of a used token has no salt. After the grace period the salt is erased. Nothing is kept in memory, so
/// that it works after a restart, too.
struct SuccessorTokens {
    let token: String
    let refreshToken: String

    /// - Parameter salt: 32 random bytes, new for each rotation.
    init(of shown: PresentedRefreshToken, salt: [UInt8]) {
        let key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Array(shown.text.utf8)), salt: salt,
            info: Array("latchkey tokens after a refresh".utf8), outputByteCount: 64)
        let bytes = key.withUnsafeBytes { Array($0) }
        token = Base64URL.encode(bytes.prefix(32))
        refreshToken = shown.family + "." + Base64URL.encode(bytes.dropFirst(32))
    }

    func tokens(expiringAt ends: (access: Timestamp, refresh: Timestamp), now: Timestamp) -> SessionTokens {
        SessionTokens(
            token: Secret(token), refreshToken: Secret(refreshToken),
            expiresIn: max(0, ends.access.secondsSinceEpoch - now.secondsSinceEpoch),
            refreshExpiresIn: max(0, ends.refresh.secondsSinceEpoch - now.secondsSinceEpoch))
    }
}
