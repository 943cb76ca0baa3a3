import Crypto
import Primitives
import StorageModel

/// The tokens that replace a refresh token: HKDF-SHA-256 (RFC 5869) of that token and a random salt.
///
/// So an exchange can be repeated although the store has only hashes of tokens: within the grace period, the successor
/// is computed again from the presented token and the stored salt. Neither is enough alone: the store has no token, and
/// the holder of a used token has no salt. After the grace period the salt is erased. Nothing is kept in memory, so
/// that it works after a restart, too.
struct SuccessorTokens {
    let token: String
    let refreshToken: String

    /// A new salt for a rotation: a time of issue (`SessionTokenFormat`) and 32 random bytes.
    static func salt(at now: Timestamp, _ random: RandomSource) -> [UInt8] {
        SessionTokenFormat.time(at: now.secondsSinceEpoch, fraction: WallClock.systemFraction()) + random.bytes(32)
    }

    /// - Parameter salt: Of the rotation. One of 32 bytes is of an earlier version, whose tokens have no time.
    init(of shown: PresentedRefreshToken, salt: [UInt8]) {
        let time = salt.dropLast(32)
        let count = time.isEmpty ? 32 : SessionTokenFormat.randomBytes
        let key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Array(shown.text.utf8)), salt: salt,
            info: Array("latchkey tokens after a refresh".utf8), outputByteCount: 64)
        let bytes = key.withUnsafeBytes { Array($0) }
        token = Base64URL.encode(time + bytes.prefix(count))
        refreshToken = shown.family + "." + Base64URL.encode(time + bytes.suffix(count))
    }

    func tokens(expiringAt ends: (access: Timestamp, refresh: Timestamp), now: Timestamp) -> SessionTokens {
        SessionTokens(
            token: Secret(token), refreshToken: Secret(refreshToken),
            expiresIn: max(0, ends.access.seconds(since: now)),
            refreshExpiresIn: max(0, ends.refresh.seconds(since: now)))
    }
}
