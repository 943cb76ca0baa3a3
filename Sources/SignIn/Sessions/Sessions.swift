public import Primitives
public import StorageModel

/// The sessions of signed-in users: who holds a token, signing out, erasing the account.
public struct Sessions: Sendable {
    let store: any SessionStore & RefreshTokenStore & UserStore & IdentityStore
    let cache: SessionCache
    let lastSeen: LastSeenTracker
    let idempotency: Idempotency
    let lifetimes: SessionLifetimes
    let registration: RegistrationRules
    let clock: WallClock
    let random: RandomSource
    let counts = SessionCounts()

    /// The session of a token and its user; nil if the token is unknown, revoked or expired.
    ///
    /// Mostly answered from memory. A revocation by another process on the same store is noticed at once where the store
    /// tells of it, and else within five seconds.
    /// - Throws: `temporarily_unavailable` if the store cannot tell; that is not "signed out".
    public func authenticate(_ token: Secret) async throws(SignInError) -> SessionAndUser? {
        guard token.exposed.utf8.count == SessionTokens.characters else { return nil }
        // Looked up by its hash: how long a look takes tells nothing of the tokens there are.
        let hash = TokenHash(sha256Of: token.exposed)
        let now = clock.now()
        switch cache.look(hash, at: now) {
        case .hit(let found): return found
        case .miss(let ticket):
            let found = try await stored(await store.session(hash, at: now))
            guard let found else { return nil }
            cache.put(found, for: hash, ticket)
            lastSeen.record(found.session, at: now)
            return found
        }
    }

    /// Ends the session of a token.
    /// - Throws: `invalid_token` if there is no such session; `temporarily_unavailable`.
    public func signOut(_ token: Secret) async throws(SignInError) {
        guard let found = try await authenticate(token) else { throw .sessionUnknown }
        try await signOut(token, of: found)
    }

    /// Ends the session of a token that was looked up before.
    /// - Throws: `temporarily_unavailable`.
    public func signOut(_ token: Secret, of holder: SessionAndUser) async throws(SignInError) {
        let hash = TokenHash(sha256Of: token.exposed)
        // Also when the store fails, because it may have revoked the session before it did. And all of the user's: the
        // session may be at hand under the token of before its last refresh, too.
        defer { forget(holder.user.id) }
        let isRevoked = try await stored(await store.revokeSession(hash))
        if isRevoked { counts.signedOut.count() }
    }

    /// Erases the user who holds a session, with identities and all sessions.
    /// - Throws: `temporarily_unavailable`.
    public func eraseUser(_ holder: SessionAndUser, requestID: String) async throws(SignInError) {
        let user = holder.user.id
        let event = event(.userErased, user, by: .user, requestID) { _ in }
        defer { cache.remove(user) }
        _ = try await stored(await store.deleteUser(user, recording: event))
    }

    /// Takes in what the store tells of: what is at hand of it is read again.
    public func hear(_ change: StoreChange) {
        switch change {
        case .user(let user): cache.remove(user)
        case .anything: cache.removeAll()
        }
    }

    /// Forgets what is at hand of a user one of whose sessions has ended: other sessions are read again, and no sign-in of
    /// before gives one more by being sent again. Whoever ended a session meant whoever else may hold that request, too.
    func forget(_ user: UserID) {
        cache.remove(user)
        idempotency.endRetries(of: user)
    }

    /// Makes a session that is not stored yet.
    func issue(for clientID: String, on device: String? = nil) -> IssuedSession {
        IssuedSession(
            clientID: clientID, device: device, lifetimes: lifetimes.of(clientID), now: clock.now(), random: random)
    }

    /// Makes and stores one more session of a user, besides one that the same sign-in gave before.
    ///
    /// The store has the last word: another process, or an operator, may have ended that one or another of the user's.
    /// - Throws: `invalid_grant` if there is no such user any more, or a session of theirs was ended since;
    ///   `temporarily_unavailable`.
    func start(
        besides earlier: GivenSession, clientID: String, on device: String? = nil
    ) async throws(SignInError) -> SessionTokens {
        let issued = issue(for: clientID, on: device)
        let ticket = cache.ticket(at: clock.now())
        let addition = try await stored(await store.addSession(issued.record, besides: earlier))
        switch addition {
        case .added(let user):
            remember(issued, of: user, ticket)
            return issued.tokens
        case .earlierEnded: throw .signedOutSince
        case .unknownUser: throw .userErased
        }
    }

    /// Keeps a session that was just refreshed at hand for the first use of its new token.
    func remember(
        _ found: SessionAndUser, expiringAt end: Timestamp, under token: TokenHash, _ ticket: SessionCache.Ticket
    ) {
        let session = Session(
            id: found.session.id, userID: found.user.id, clientID: found.session.clientID,
            createdAt: found.session.createdAt, expiresAt: end)
        cache.put(SessionAndUser(session: session, user: found.user), for: token, ticket)
    }

    /// Keeps a session that was just stored at hand for its first use.
    func remember(_ issued: IssuedSession, of user: User, _ ticket: SessionCache.Ticket) {
        counts.started.count()
        cache.put(issued.session(of: user), for: issued.record.tokenHash, ticket)
    }
}
