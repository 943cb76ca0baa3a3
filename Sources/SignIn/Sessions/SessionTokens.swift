package import Primitives
import StorageModel

/// The tokens of a signed-in app: two random values of 256 bits, of which the store has only the hashes.
package struct SessionTokens: Sendable, Hashable {
    /// 43 characters of base64url.
    package let token: Secret
    /// 43 characters of base64url, and 87 after the first exchange; see `PresentedRefreshToken`.
    package let refreshToken: Secret
    /// Seconds until ``token`` expires.
    package let expiresIn: Int64
    /// Seconds until ``refreshToken`` expires.
    package let refreshExpiresIn: Int64

    /// The length of 256 bits in base64url.
    static let characters = 43
}

/// A session that is not stored yet.
struct IssuedSession: Sendable {
    let tokens: SessionTokens
    let record: NewSession

    init(
        clientID: String, device: String?, lifetimes: SignInConfiguration.Lifetimes, now: Timestamp,
        random: RandomSource
    ) {
        // One call of the random source for all three.
        let bytes = random.bytes(32 + 32 + 16)
        let token = Base64URL.encode(bytes.prefix(32))
        let refreshToken = Base64URL.encode(bytes.dropFirst(32).prefix(32))
        let ends = lifetimes.ends(ofSessionMadeAt: now, at: now)
        tokens = SessionTokens(
            token: Secret(token), refreshToken: Secret(refreshToken),
            expiresIn: ends.access.secondsSinceEpoch - now.secondsSinceEpoch,
            refreshExpiresIn: ends.refresh.secondsSinceEpoch - now.secondsSinceEpoch)
        record = NewSession(
            id: Base64URL.encode(bytes.dropFirst(64)), tokenHash: TokenHash(sha256Of: token),
            refreshTokenHash: TokenHash(sha256Of: refreshToken), clientID: clientID, createdAt: now,
            expiresAt: ends.access, refreshExpiresAt: ends.refresh, device: device)
    }
}
