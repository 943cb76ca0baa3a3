package import Primitives
package import StorageModel

/// The sessions of signed-in users: authentication, sign-out, and erasing the account.
package struct Sessions: Sendable {
    let store: any SessionStore & RefreshTokenStore & UserStore & IdentityStore & AllowanceStore
    package let cache: SessionCache
    let lastSeen: LastSeenTracker
    let idempotency: Idempotency
    let lifetimes: SessionLifetimes
    let registration: RegistrationRules
    /// The clients whose sessions may have an ID token for logout.
    let clientsWithIDTokens: Set<String>
    /// Whether the audit log records each session.
    let areAudited: Bool
    let clock: WallClock
    let random: RandomSource
    let counts = Counts(SessionStatistics())

    /// The session of a token and its user; nil if the token is unknown, revoked or expired.
    ///
    /// Usually from memory. A revocation by another process on the same store takes effect at once if the store
    /// announces it, and otherwise within five seconds.
    /// - Throws: `temporarily_unavailable` if the store is unavailable; that does not mean "signed out".
    package func authenticate(_ token: Secret) async throws(SignInError) -> SessionAndUser? {
        switch token.exposed.withBytes(look) {
        case .known(let found): return found
        case .stored(let hash, let ticket): return try await read(hash, ticket)
        }
    }

    /// As ``authenticate(_:)``; at once for a session in memory.
    package func lookUp(_ token: Secret) -> ValueOrTask<SessionAndUser?> { token.exposed.withBytes(lookUp) }

    /// As ``lookUp(_:)-(Secret)``, for the UTF-8 bytes of a token.
    package func lookUp(_ token: UnsafeBufferPointer<UInt8>) -> ValueOrTask<SessionAndUser?> {
        switch look(token) {
        case .known(let found): .value(found)
        case .stored(let hash, let ticket): .task { try await read(hash, ticket) }
        }
    }

    private enum Look {
        case known(SessionAndUser?)
        /// Only the store knows.
        case stored(TokenHash, SessionCache.Ticket)
    }

    private func look(_ token: UnsafeBufferPointer<UInt8>) -> Look {
        guard SessionTokenFormat.isLength(token.count) else { return .known(nil) }
        // Looked up by its hash, so that the time taken reveals nothing about existing tokens.
        let hash = TokenHash(ofSessionToken: token)
        switch cache.look(hash, at: clock.now()) {
        case .hit(let found): return .known(found)
        case .miss(let ticket): return .stored(hash, ticket)
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
    package func signOut(_ token: Secret) async throws(SignInError) {
        guard let found = try await authenticate(token) else { throw .sessionUnknown }
        try await signOut(found)
    }

    /// Ends a session that was looked up before.
    ///
    /// By its id, and not by the token that it was found with: the cache may have found it with a token that refreshes
    /// have replaced since. Its holder wants the session to end, and an app takes any response for the end. If the
    /// token was copied, the session must end all the more: a spent refresh token ends it, too.
    /// - Throws: `invalid_token` if the session has ended meanwhile; `temporarily_unavailable`.
    package func signOut(_ holder: SessionAndUser) async throws(SignInError) {
        // Also if the store fails, because the session may have been revoked before the failure. For all of the user's
        // sessions, because this one may also be cached under its token before the last refresh.
        defer { forget(holder.user.id) }
        let revocation = try await mappingStoreErrors(
            await store.revokeSession(id: holder.session.id, of: holder.user.id, in: nil, recording: nil))
        guard revocation == .revoked else { throw .sessionUnknown }
        counts.note { $0.signedOut += 1 }
    }

    /// Erases the user who holds a session, with identities and all sessions.
    /// - Throws: `invalid_token` if the session was revoked meanwhile; `temporarily_unavailable`.
    package func eraseUser(_ holder: SessionAndUser, requestID: String) async throws(SignInError) {
        let user = holder.user.id
        let event = event(.userErased, user, by: .user, requestID) { _ in }
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

    /// Caches a session that was just stored.
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
}
