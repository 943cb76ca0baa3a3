import Crypto
import OpenIDConnect
package import Primitives
package import StorageModel

/// The sessions of signed-in users: authentication, sign-out, and erasing the account.
package struct Sessions: Sendable {
    let store: any SessionStore & UserStore & IdentityStore
    package let cache: SessionCache
    let lastSeen: LastSeenTracker
    let idempotency: Idempotency
    let lifetimes: SessionLifetimes
    let registration: RegistrationRules
    /// The clients whose sessions may have an ID token for logout.
    let clientsWithIDTokens: Set<String>
    let areAudited: Bool
    let keyRules: KeyRules
    /// Nil if all session tokens are opaque.
    let accessTokenForm: (any AccessTokenForm)?
    package let clock: WallClock
    let random: RandomSource
    let counts = Counts(SessionStatistics())

    /// The session of a token and its user; nil if the token is unknown, revoked or expired.
    ///
    /// Usually from memory. A revocation by another process on the same store takes effect at once if the store
    /// announces it, and otherwise within five seconds.
    /// - Throws: `temporarily_unavailable` if the store is unavailable; that does not mean "signed out".
    package func authenticate(_ token: Secret) async throws(SignInError) -> SessionAndUser? {
        let found: SessionAndUser?
        if let accessTokenForm, !token.exposed.withBytes(SessionTokenFormat.isSessionToken) {
            found = try await accessTokenForm.holder(of: token, in: self)?.found
        } else {
            found = try await self.found(token.exposed.withBytes(look))
        }
        return keyRules.admitted(found, SessionTokenFormat.isBound(token.exposed.utf8))
    }

    /// The session that is stored under a hash.
    package func holder(under hash: TokenHash) async throws(SignInError) -> SessionAndUser? {
        try await found(look(hash))
    }

    /// As ``authenticate(_:)``; at once for a session in memory.
    package func lookUp(_ token: Secret) -> ValueOrTask<SessionAndUser?> { token.exposed.withBytes(lookUp) }

    /// As ``lookUp(_:)-(Secret)``, for the UTF-8 bytes of a token.
    package func lookUp(_ token: UnsafeBufferPointer<UInt8>) -> ValueOrTask<SessionAndUser?> {
        if accessTokenForm != nil, !SessionTokenFormat.isSessionToken(token) {
            let token = Secret(String(decoding: token, as: UTF8.self))
            return .task { try await authenticate(token) }
        }
        let isBound = SessionTokenFormat.isBound(token)
        switch look(token) {
        case .known(let found): return .value(keyRules.admitted(found, isBound))
        case .stored(let hash, let ticket): return .task { keyRules.admitted(try await read(hash, ticket), isBound) }
        }
    }

    private enum Look {
        case known(SessionAndUser?)
        /// Only the store knows.
        case stored(TokenHash, SessionCache.Ticket)
    }

    private func look(_ token: UnsafeBufferPointer<UInt8>) -> Look {
        guard SessionTokenFormat.isSessionToken(token) else { return .known(nil) }
        // Looked up by its hash, so that the time taken reveals nothing about existing tokens.
        return look(TokenHash(ofSessionToken: token))
    }

    private func look(_ hash: TokenHash) -> Look {
        switch cache.look(hash, at: clock.now()) {
        case .hit(let found): return .known(found)
        case .miss(let ticket): return .stored(hash, ticket)
        }
    }

    private func found(_ look: Look) async throws(SignInError) -> SessionAndUser? {
        switch look {
        case .known(let found): return found
        case .stored(let hash, let ticket): return try await read(hash, ticket)
        }
    }

    private func read(_ hash: TokenHash, _ ticket: SessionCache.Ticket) async throws(SignInError) -> SessionAndUser? {
        let found = try await mappingStoreErrors(await store.session(hash, at: ticket.time))
        guard let found else { return nil }
        cache.put(found, for: hash, ticket)
        lastSeen.record(found.session, at: ticket.time)
        return found
    }

    /// Ends the session of a token.
    /// - Throws: `invalid_token` if there is no such session; `temporarily_unavailable`.
    package func signOut(_ token: Secret, requestID: String) async throws(SignInError) {
        guard let found = try await authenticate(token) else { throw .sessionUnknown }
        try await signOut(found, requestID: requestID)
    }

    /// Ends a session that was looked up before.
    ///
    /// By its id, and not by the token that it was found with: the cache may have found it with a token that refreshes
    /// have replaced since. Its holder wants the session to end, and an app takes any response for the end. If the
    /// token was copied, the session must end all the more: a spent refresh token ends it, too.
    /// - Throws: `invalid_token` if the session has ended meanwhile; `temporarily_unavailable`.
    package func signOut(_ holder: SessionAndUser, requestID: String) async throws(SignInError) {
        let session = holder.session
        let ended =
            areAudited
            ? event(.signedOut, holder.user.id, by: .user, requestID) { json in
                json.add("session_id", session.id)
                json.add("client_id", session.clientID)
            } : nil
        let revocation = try await revoke(
            session.id, of: holder.user.id, in: nil, recording: ended, countedAs: \.signedOut)
        guard revocation == .revoked else { throw .sessionUnknown }
    }

    /// Erases the user who holds a session, with identities and all sessions.
    /// - Throws: `invalid_token` if the session was revoked meanwhile; `temporarily_unavailable`.
    package func eraseUser(_ holder: SessionAndUser, requestID: String) async throws(SignInError) {
        let user = holder.user.id
        let event = event(.userErased, user, by: .user, requestID) { $0.add(erased: holder.user) }
        defer { cache.remove(user) }
        let isErased = try await mappingStoreErrors(
            await store.deleteUser(user, in: holder.session.id, recording: event))
        guard isErased else { throw .sessionUnknown }
    }

    /// Handles a change that the store announces: the cached values are read again.
    package func storeDidChange(_ change: StoreChange) {
        switch change {
        case .user(let user): cache.remove(user)
        case .anything: cache.removeAll()
        }
    }

    /// One of the user's sessions has ended: the other sessions are read again, and no retry of an earlier sign-in
    /// starts another session, because a retry may come from the client that the user signed out.
    package func forget(_ user: UserID) {
        cache.remove(user)
        idempotency.endRetries(of: user)
    }

    /// Providers have ended sessions.
    /// - Parameter ended: How many, by user.
    package func noteEnded(byProvider ended: [UserID: Int]) {
        for user in ended.keys { forget(user) }
        counts.note { $0.endedByProvider += UInt64(clamping: ended.values.reduce(0, +)) }
    }

    /// Creates a session without storing it.
    package func issue(for clientID: String, on device: String? = nil) -> IssuedSession {
        IssuedSession(
            clientID: clientID, device: device, lifetimes: lifetimes.of(clientID), isAudited: areAudited,
            now: clock.now(), random: random)
    }

    /// Stores another session of a user for a retry of the same sign-in.
    ///
    /// The store decides: another process or an administrator may have ended one of the user's sessions.
    /// - Throws: `invalid_grant` if the user was erased, or a session of theirs was ended since;
    ///   `temporarily_unavailable`.
    func start(
        besides earlier: GivenSession, clientID: String, on device: String? = nil
    ) async throws(SignInError) -> (tokens: SessionTokens, isNewUser: Bool) {
        let issued = issue(for: clientID, on: device)
        let ticket = cache.ticket(at: clock.now())
        let addition = try await mappingStoreErrors(await store.addSession(issued.record, besides: earlier))
        switch addition {
        case .added(let user, let isNewUser):
            remember(issued, of: user, ticket)
            return (issued.tokens, isNewUser)
        case .earlierEnded: throw .signedOutSince
        case .unknownUser: throw .userErased
        }
    }

    /// Caches a session that was just refreshed, under its new token.
    func remember(
        _ found: SessionAndUser, expiringAt end: Timestamp, under token: TokenHash, _ ticket: SessionCache.Ticket
    ) {
        let session = Session(
            id: found.session.id, userID: found.user.id, clientID: found.session.clientID,
            createdAt: found.session.createdAt, expiresAt: end)
        cache.put(SessionAndUser(session: session, user: found.user), for: token, ticket)
    }

    package func remember(_ issued: IssuedSession, of user: User, _ ticket: SessionCache.Ticket) {
        counts.note { $0.started += 1 }
        let record = issued.record
        let session = Session(
            id: record.id, userID: user.id, clientID: record.clientID, createdAt: record.createdAt,
            expiresAt: record.expiresAt)
        cache.put(SessionAndUser(session: session, user: user), for: record.tokenHash, ticket, isNew: true)
    }
}

/// Counts of session events since the process started.
package struct SessionStatistics: Sendable, Hashable {
    package var started: UInt64 = 0
    /// Refreshed with a live token; ``refreshedAgain`` counts repeated exchanges.
    package var refreshed: UInt64 = 0
    package var refreshedAgain: UInt64 = 0
    /// Ended with their own token.
    package var signedOut: UInt64 = 0
    /// Ended by the user from another session, or by a service.
    package var revoked: UInt64 = 0
    /// Ended because a used refresh token was presented again.
    package var reused: UInt64 = 0
    /// Ended by their provider.
    package var endedByProvider: UInt64 = 0
    /// Sessions found in the cache, and those read from the store.
    package var cacheHits: UInt64 = 0
    package var cacheMisses: UInt64 = 0

    package init() {}
}

extension Sessions {
    package var statistics: SessionStatistics {
        var statistics = counts.present
        (statistics.cacheHits, statistics.cacheMisses) = cache.looks
        return statistics
    }

    /// The session of a refresh token that was not exchanged yet; nil for any other.
    /// - Parameter orBound: Whether an exchange that bound the session to a key counts as none.
    /// - Throws: `temporarily_unavailable`.
    package func authenticate(
        refreshToken: Secret, orBound: Bool = false
    ) async throws(SignInError) -> SessionAndUser? {
        switch try await refreshTokenState(refreshToken) {
        case .live(let found): found
        case .justSpent(let found, let last) where orBound && last.caller == Refresh.binding: found
        case .justSpent, .spent, .unknown: nil
        }
    }

    /// Ends the session of a token of either kind, if there is one (RFC 7009 section 2.2).
    /// - Parameter clients: The clients whose sessions the caller may end; nil for all.
    /// - Throws: `temporarily_unavailable`.
    package func revoke(_ token: Secret, clients: Set<String>? = nil, requestID: String) async throws(SignInError) {
        guard let found = try await holder(of: token), clients?.contains(found.session.clientID) ?? true else { return }
        let event = event(.sessionRevoked, found.user.id, by: .client(found.session.clientID), requestID) {
            $0.add("session_id", found.session.id)
        }
        _ = try await revoke(found.session.id, of: found.user.id, in: nil, recording: event)
    }

    /// The session of a token, including a refresh token that was exchanged: its holder wants the session to end.
    private func holder(of token: Secret) async throws(SignInError) -> SessionAndUser? {
        if let found = try await authenticate(token) { return found }
        switch try await refreshTokenState(token) {
        case .live(let found), .justSpent(let found, _), .spent(let found): return found
        case .unknown: return nil
        }
    }

    package func refreshTokenState(_ token: Secret) async throws(SignInError) -> RefreshTokenState {
        guard let token = PresentedRefreshToken(token) else { return .unknown }
        let now = clock.now()
        return try await mappingStoreErrors(await store.refreshToken(token.hashes, at: now))
    }
}

/// The tokens of a signed-in app, each with 240 random bits, of which the store has only the hashes.
package struct SessionTokens: Sendable, Hashable {
    /// 48 characters of base64url, in front of which may be a key (`SessionTokenFormat`); or of another form
    /// (``Sessions/given(_:)``).
    package internal(set) var token: Secret
    /// 48 characters of base64url, and 92 after the first exchange; see `PresentedRefreshToken`.
    package let refreshToken: Secret
    /// Seconds until ``token`` expires.
    package let expiresIn: Int64
    /// Seconds until ``refreshToken`` expires.
    package let refreshExpiresIn: Int64
    /// The thumbprint of the key that they are bound to.
    package var key: String? { SessionTokenFormat.key(of: refreshToken.exposed) }

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
    /// For a new user.
    package let publicID: String

    init(
        clientID: String, device: String?, lifetimes: SignInConfiguration.Lifetimes, isAudited: Bool, now: Timestamp,
        random: RandomSource
    ) {
        // One call of the random source for all four.
        let count = SessionTokenFormat.randomBytes
        let bytes = random.bytes(2 * count + 32)
        publicID = Base64URL.encode(bytes.suffix(16))
        let time = SessionTokenFormat.time(at: now.secondsSinceEpoch, fraction: WallClock.systemFraction())
        let token = Base64URL.encode(time + bytes.prefix(count))
        let refreshToken = Base64URL.encode(time + bytes.dropFirst(count).prefix(count))
        let ends = lifetimes.ends(ofSessionMadeAt: now, at: now)
        tokens = SessionTokens(
            token: Secret(token), refreshToken: Secret(refreshToken),
            expiresIn: ends.access.seconds(since: now),
            refreshExpiresIn: ends.refresh.seconds(since: now))
        record = NewSession(
            id: Base64URL.encode(bytes.dropFirst(2 * count).prefix(16)), tokenHash: TokenHash(ofSessionToken: token),
            refreshTokenHash: TokenHash(ofSessionToken: refreshToken), clientID: clientID, createdAt: now,
            expiresAt: ends.access, refreshExpiresAt: ends.refresh, device: device)
        record.isAudited = isAudited
    }

    mutating func keep(_ hint: IDTokenHint) { record.idToken = SealedIDToken(hint, openedBy: tokens) }
}

/// The tokens that replace a refresh token: HKDF-SHA-256 (RFC 5869) of that token and a random salt.
///
/// So an exchange can be repeated although the store has only hashes of tokens: until the next exchange, the successor
/// is computed again from the presented token and the stored salt. Neither is enough alone: the store has no token, and
/// the holder of a used token has no salt. The next exchange replaces the salt. Nothing is kept in memory, so that it
/// works after a restart, too.
struct SuccessorTokens {
    let token: String
    let refreshToken: String

    /// A new salt for a rotation: a time of issue (`SessionTokenFormat`) and 32 random bytes.
    static func salt(at now: Timestamp, _ random: RandomSource) -> [UInt8] {
        SessionTokenFormat.time(at: now.secondsSinceEpoch, fraction: WallClock.systemFraction()) + random.bytes(32)
    }

    /// - Parameters:
    ///   - salt: Of the rotation. One of 32 bytes is of an earlier version, whose tokens have no time.
    ///   - boundKey: The thumbprint of the key that they are bound to.
    init(of shown: PresentedRefreshToken, salt: [UInt8], boundTo boundKey: String? = nil) {
        let time = salt.dropLast(32)
        let count = time.isEmpty ? 32 : SessionTokenFormat.randomBytes
        let key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Array(shown.text.utf8)), salt: salt,
            info: Array("latchkey tokens after a refresh".utf8), outputByteCount: 64)
        let bytes = key.withUnsafeBytes { Array($0) }
        let front = boundKey.map { $0 + "~" } ?? ""
        token = front + Base64URL.encode(time + bytes.prefix(count))
        refreshToken = front + shown.family + "." + Base64URL.encode(time + bytes.suffix(count))
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
    /// The thumbprint of the key that it is bound to.
    let key: String?
    /// The first half of the next token.
    let family: String

    /// Nil if the text cannot be a refresh token.
    init?(_ token: Secret) {
        text = token.exposed
        key = SessionTokenFormat.key(of: text)
        let parts = text.utf8.dropFirst(key == nil ? 0 : SessionTokenFormat.untimedCharacters + 1)
            .split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
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
        where own[client.id.text] == nil {
            guard client.rules.sessions != .init() || client.rules.accessToken.form == .jwt else { continue }
            own[client.id.text] = lifetimes.changed(by: client.rules)
        }
        self.own = own
    }

    func of(_ clientID: String) -> SignInConfiguration.Lifetimes {
        own.isEmpty ? general : own[clientID] ?? general
    }
}

extension SignInConfiguration.Lifetimes {
    fileprivate func changed(by rules: SignInConfiguration.ClientRules) -> SignInConfiguration.Lifetimes {
        let own = rules.sessions
        return altered(self) {
            $0.access = own.access ?? rules.accessToken.usualLifetime(access)
            $0.refresh = own.refresh ?? refresh
            $0.idle = own.idle ?? idle
            $0.absolute = own.absolute ?? absolute
        }
    }

    /// When tokens issued now expire: after their own lifetime, the idle time or the absolute lifetime, whichever comes
    /// first.
    func ends(ofSessionMadeAt creation: Timestamp, at now: Timestamp) -> (access: Timestamp, refresh: Timestamp) {
        let limit = min(creation.advanced(bySeconds: absolute), now.advanced(bySeconds: idle))
        return (min(now.advanced(bySeconds: access), limit), min(now.advanced(bySeconds: refresh), limit))
    }
}
