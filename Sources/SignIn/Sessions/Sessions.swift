package import Primitives
package import StorageModel
import Synchronization

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

/// Refresh tokens as proof of a session, and the end of a session by any of its tokens.
extension Sessions {
    /// The session of a refresh token that was not exchanged yet; nil for any other.
    /// - Throws: `temporarily_unavailable`.
    package func authenticate(refreshToken: Secret) async throws(SignInError) -> SessionAndUser? {
        guard case .live(let found) = try await refreshTokenState(refreshToken) else { return nil }
        return found
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

/// The sessions that were read or created recently, so that most requests of a signed-in app need no database.
///
/// The token's hash selects one of sixteen parts, each with its own mutex, which is never held while the store is
/// read. Concurrent misses each read the store: a read is one indexed look-up, and cheaper than making the requests
/// wait for each other. Unknown tokens are not cached.
///
/// A session with its user takes about 600 bytes. Memory is taken as sessions come, up to `capacity`; then the oldest
/// ones give way. New sessions, which may never be used, take a sixteenth of it at most: a flood of sign-ins neither
/// fills the memory nor displaces the sessions in use.
///
/// An entry is used for five seconds. A revocation by another process can stay unnoticed for that long, unless the
/// store announces it (``Sessions/storeDidChange(_:)``). A revocation by this process takes effect at once: a read
/// under way cannot put the session back (see ``Ticket``).
package final class SessionCache: Sendable {
    /// How long an entry is used, in seconds.
    package static let freshness: Int64 = 5

    /// The state of the cache before a read of the store. What was read is cached only if nothing was removed since.
    package struct Ticket: Sendable {
        fileprivate let removals: UInt64
        /// When the read began.
        let time: Timestamp
    }

    package enum Look: Sendable {
        case hit(SessionAndUser)
        case miss(Ticket)
    }

    /// An object, so that a look-up and the cache copy one reference.
    private final class Entry: Sendable {
        let found: SessionAndUser
        let generation: UInt32
        let readAt: Timestamp

        init(_ found: SessionAndUser, generation: UInt32, readAt: Timestamp) {
            (self.found, self.generation, self.readAt) = (found, generation, readAt)
        }
    }

    private struct State {
        /// By the number of bytes that they take.
        var entries: BoundedCache<TokenHash, Entry>
        var hits: UInt64 = 0
        var misses: UInt64 = 0
    }

    private final class Part: Sendable {
        let state: Mutex<State>

        init(bytes: Int) {
            // The lifetime includes its last second.
            state = Mutex(State(entries: BoundedCache(capacity: bytes, lifetime: SessionCache.freshness - 1)))
        }
    }

    private static let partCount = 16
    private static let generationCount = 4096
    /// Of an entry without its texts: its object, the user's attributes, and its place in the cache.
    private static let fixedBytes = 384
    /// Of a text besides its characters.
    private static let textBytes = 32

    private let parts: [Part]
    /// Counts all removals. Read and written in the same order by all threads, as are the generations.
    private let removals = Atomic<UInt64>(0)
    /// By the user's number modulo their count: how often such a user was removed. An entry has the number that it was
    /// put in with, and counts only while that is still the present one. Another user's removal may invalidate an entry
    /// in vain, which costs one read.
    private nonisolated(unsafe) let generations: UnsafeMutablePointer<Atomic<UInt32>>

    /// - Parameter capacity: The most bytes of all sessions.
    package init(capacity: Int = 64 << 20) {
        parts = (0..<Self.partCount).map { _ in Part(bytes: capacity / Self.partCount) }
        generations = .allocate(capacity: Self.generationCount)
        for index in 0..<Self.generationCount { (generations + index).initialize(to: Atomic(0)) }
    }

    deinit {
        generations.deinitialize(count: Self.generationCount)
        generations.deallocate()
    }

    package func look(_ token: TokenHash, at now: Timestamp) -> Look {
        let entry: Entry? = part(of: token).state.withLock { state in
            // A clock that was set back makes every entry unusable.
            if let entry = state.entries.value(for: token, at: now), entry.readAt <= now,
                now < entry.found.session.expiresAt, entry.generation == generation(of: entry.found.user.id)
            {
                state.hits &+= 1
                return entry
            }
            state.misses &+= 1
            return nil
        }
        if let entry { return .hit(entry.found) }
        return .miss(ticket(at: now))
    }

    /// The number of lookups that hit and that missed.
    package var looks: (hits: UInt64, misses: UInt64) {
        parts.reduce((0, 0)) { sum, part in
            part.state.withLock { (sum.0 &+ $0.hits, sum.1 &+ $0.misses) }
        }
    }

    /// About how many bytes all sessions take.
    package var bytes: Int { parts.reduce(0) { sum, part in sum + part.state.withLock { $0.entries.weight } } }

    /// Taken before a read of the store whose result will be cached.
    package func ticket(at now: Timestamp) -> Ticket {
        Ticket(removals: removals.load(ordering: .sequentiallyConsistent), time: now)
    }

    /// - Parameter isNew: Whether the session was created now, rather than used.
    package func put(_ found: SessionAndUser, for token: TokenHash, _ ticket: Ticket, isNew: Bool = false) {
        let bytes = Self.bytes(of: found)
        part(of: token).state.withLock { state in
            // A profile that is out of the ordinary must not push out all others.
            guard bytes <= state.entries.capacity / 4 else { return }
            if isNew {
                state.entries.removeExpired(at: ticket.time)
                guard state.entries.weight < state.entries.capacity / 16 else { return }
            }
            // The generation first: a removal counts itself before it changes the generation, so that one that is not
            // seen in the count makes this entry invalid.
            let generation = generation(of: found.user.id)
            guard removals.load(ordering: .sequentiallyConsistent) == ticket.removals else { return }
            let entry = Entry(found, generation: generation, readAt: ticket.time)
            state.entries.put(entry, for: token, weighing: bytes, at: ticket.time)
        }
    }

    private static func bytes(of found: SessionAndUser) -> Int {
        let (session, user, assertions) = (found.session, found.user, found.user.assertions)
        let texts =
            [session.id, session.clientID, user.publicID] + UserAttribute.allCases.map { user.profile[$0] }
            + [assertions?.email?.issuer, assertions?.phoneNumber?.issuer, assertions?.claims]
        return texts.reduce(fixedBytes) { $0 + ($1.map { textBytes + $0.utf8.count } ?? 0) }
    }

    /// Removes everything, since anything may have changed.
    package func removeAll() {
        // Before the entries: what is put in later than this sees it.
        removals.add(1, ordering: .sequentiallyConsistent)
        for part in parts { part.state.withLock { $0.entries.removeAll() } }
    }

    /// Removes a user and all of the user's sessions, under whatever tokens.
    package func remove(_ user: UserID) {
        removals.add(1, ordering: .sequentiallyConsistent)
        generations[index(of: user)].wrappingAdd(1, ordering: .sequentiallyConsistent)
    }

    private func part(of token: TokenHash) -> Part { parts[Int(token.number >> 60)] }

    private func generation(of user: UserID) -> UInt32 {
        generations[index(of: user)].load(ordering: .sequentiallyConsistent)
    }

    private func index(of user: UserID) -> Int {
        Int(UInt64(bitPattern: user.number) % UInt64(Self.generationCount))
    }
}
