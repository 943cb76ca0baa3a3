import Crypto
import Primitives

/// The tokens that come in the place of a refresh token: HKDF-SHA-256 (RFC 5869) of that token and a random salt.
///
/// So the same exchange can be answered twice although the store has only hashes of tokens: whoever shows the old token
/// within the grace gets its successor computed once more from the salt. Neither half says anything alone. A thief of
/// the store has salts but no token, a thief of a token that was exchanged has no salt; and once the grace is over the
/// salt is erased, so both together are worth nothing. Nothing is kept in memory for it: it works after a restart too.
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
