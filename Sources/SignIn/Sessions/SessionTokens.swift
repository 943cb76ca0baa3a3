import Crypto
package import OpenIDConnect
package import Primitives
package import StorageModel

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

    package init(token: Secret, refreshToken: Secret, expiresIn: Int64, refreshExpiresIn: Int64) {
        self.token = token
        self.refreshToken = refreshToken
        self.expiresIn = expiresIn
        self.refreshExpiresIn = refreshExpiresIn
    }
}

/// A session that is not stored yet.
package struct IssuedSession: Sendable {
    package let tokens: SessionTokens
    package private(set) var record: NewSession

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

/// A refresh token as an app presents it. The first one of a session is 48 characters of base64url. All later ones have
/// the same family in front, 43 characters derived from the first token, and a dot. (`SessionTokenFormat`)
///
/// So every refresh token identifies its session. However often a thief exchanges tokens, the server still recognises
/// the one that the owner holds.
struct PresentedRefreshToken {
    let text: String
    /// The first half of the next token.
    let family: String

    /// Nil if the text cannot be a refresh token.
    init?(_ token: Secret) {
        text = token.exposed
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let last = parts.last, SessionTokenFormat.isLength(last.count),
            parts.count == 1 || parts[0].count == SessionTokenFormat.untimedCharacters
        else { return nil }
        family = parts.count == 2 ? String(Substring(parts[0])) : Self.family(ofFirst: text)
    }

    var hashes: RefreshTokenHashes {
        // No token has a space, so that no token has a family's hash.
        RefreshTokenHashes(token: TokenHash(ofSessionToken: text), family: TokenHash(sha256Of: "family " + family))
    }

    /// It does not reveal the token.
    private static func family(ofFirst text: String) -> String {
        let key = SymmetricKey(derivedFrom: text, for: "latchkey family of refresh tokens")
        return Base64URL.encode(key.withUnsafeBytes { Array($0) })
    }
}

struct SessionLifetimes: Sendable {
    private let general: SignInConfiguration.Lifetimes
    /// The clients with their own lifetimes.
    private let own: [String: SignInConfiguration.Lifetimes]

    init(_ lifetimes: SignInConfiguration.Lifetimes, _ providers: Providers) {
        general = lifetimes
        var own: [String: SignInConfiguration.Lifetimes] = [:]
        // If two providers have a client of the same id, the first provider by name decides.
        for client in providers.all.flatMap(\.allClients)
        where client.rules.sessions != .init() && own[client.id.text] == nil {
            own[client.id.text] = lifetimes.changed(by: client.rules.sessions)
        }
        self.own = own
    }

    func of(_ clientID: String) -> SignInConfiguration.Lifetimes {
        own.isEmpty ? general : own[clientID] ?? general
    }
}

extension SignInConfiguration.Lifetimes {
    fileprivate func changed(by own: SignInConfiguration.SessionTimes) -> SignInConfiguration.Lifetimes {
        var changed = self
        changed.access = own.access ?? access
        changed.refresh = own.refresh ?? refresh
        changed.idle = own.idle ?? idle
        changed.absolute = own.absolute ?? absolute
        return changed
    }

    /// When tokens issued now expire: after their own lifetime, the idle time or the absolute lifetime, whichever comes
    /// first.
    func ends(ofSessionMadeAt creation: Timestamp, at now: Timestamp) -> (access: Timestamp, refresh: Timestamp) {
        let limit = min(creation.advanced(bySeconds: absolute), now.advanced(bySeconds: idle))
        return (min(now.advanced(bySeconds: access), limit), min(now.advanced(bySeconds: refresh), limit))
    }
}

/// The encryption of the ID tokens that are kept for logout: AES-256-GCM under a key that HKDF-SHA-256 (RFC 5869)
/// derives from the family of the session's refresh tokens, so that the next refresh tokens open it as well.
///
/// A session token reveals no family. So this key is also stored, encrypted under one that the session token derives,
/// and encrypted again for the new session token at each refresh. The store has only hashes of all these tokens.
extension SealedIDToken {
    /// Nil if the tokens are not those of a session.
    package init?(_ hint: IDTokenHint, openedBy tokens: SessionTokens) {
        guard let refreshToken = PresentedRefreshToken(tokens.refreshToken),
            let content = try? Self.key(of: refreshToken).seal(
                Array((hint.issuer + "\n" + hint.token.exposed).utf8)),
            let sessionKey = Self.sessionKey(for: tokens.token.exposed, of: refreshToken)
        else { return nil }
        self.init(content: content, sessionKey: sessionKey)
    }

    /// The key of a session's ID token, encrypted for a new session token.
    static func sessionKey(for token: String, of refreshToken: PresentedRefreshToken) -> [UInt8]? {
        let key = key(of: refreshToken).withUnsafeBytes { Array($0) }
        return try? Self.key(ofSessionToken: token).seal(key)
    }

    /// The ID token; nil for the token of another session, and for one that a refresh has replaced.
    package func hint(forSessionToken token: Secret) -> IDTokenHint? {
        guard let key = Self.key(ofSessionToken: token.exposed).open(sessionKey), key.count == 32 else { return nil }
        return hint(under: SymmetricKey(data: key))
    }

    /// The ID token; nil for a refresh token of another session.
    package func hint(forRefreshToken token: Secret) -> IDTokenHint? {
        PresentedRefreshToken(token).flatMap { hint(under: Self.key(of: $0)) }
    }

    private func hint(under key: SymmetricKey) -> IDTokenHint? {
        guard let bytes = key.open(content), let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        return IDTokenHint(
            issuer: String(decoding: bytes[..<end], as: UTF8.self),
            token: Secret(String(decoding: bytes[(end + 1)...], as: UTF8.self)))
    }

    private static func key(of refreshToken: PresentedRefreshToken) -> SymmetricKey {
        SymmetricKey(derivedFrom: refreshToken.family, for: "latchkey ID token of a session")
    }

    private static func key(ofSessionToken token: String) -> SymmetricKey {
        SymmetricKey(derivedFrom: token, for: "latchkey key of a session's ID token")
    }
}
