import OpenIDConnect
package import Primitives
import StorageModel

/// The tokens of a signed-in app, each with 240 random bits, of which the store has only the hashes.
package struct SessionTokens: Sendable, Hashable {
    /// 48 characters of base64url; see `SessionTokenFormat`.
    package let token: Secret
    /// 48 characters of base64url, and 92 after the first exchange; see `PresentedRefreshToken`.
    package let refreshToken: Secret
    /// Seconds until ``token`` expires.
    package let expiresIn: Int64
    /// Seconds until ``refreshToken`` expires.
    package let refreshExpiresIn: Int64
}

/// A session that is not stored yet.
struct IssuedSession: Sendable {
    let tokens: SessionTokens
    private(set) var record: NewSession

    init(
        clientID: String, device: String?, lifetimes: SignInConfiguration.Lifetimes, isAudited: Bool, now: Timestamp,
        random: RandomSource
    ) {
        // One call of the random source for all three.
        let count = SessionTokenFormat.randomBytes
        let bytes = random.bytes(2 * count + 16)
        let time = SessionTokenFormat.time(at: now.secondsSinceEpoch, fraction: WallClock.systemFraction())
        let token = Base64URL.encode(time + bytes.prefix(count))
        let refreshToken = Base64URL.encode(time + bytes.dropFirst(count).prefix(count))
        let ends = lifetimes.ends(ofSessionMadeAt: now, at: now)
        tokens = SessionTokens(
            token: Secret(token), refreshToken: Secret(refreshToken),
            expiresIn: ends.access.seconds(since: now),
            refreshExpiresIn: ends.refresh.seconds(since: now))
        record = NewSession(
            id: Base64URL.encode(bytes.dropFirst(2 * count)), tokenHash: TokenHash(ofSessionToken: token),
            refreshTokenHash: TokenHash(ofSessionToken: refreshToken), clientID: clientID, createdAt: now,
            expiresAt: ends.access, refreshExpiresAt: ends.refresh, device: device)
        record.isAudited = isAudited
    }

    /// Keeps the ID token of the sign-in with the session.
    mutating func keep(_ hint: IDTokenHint) { record.idToken = SealedIDToken(hint, openedBy: tokens) }
}
