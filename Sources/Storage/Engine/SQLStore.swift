import Dispatch
public import Primitives
public import StorageModel

/// What Latchkey remembers, in a database.
///
/// Writes of concurrent callers share a commit; reads go through connections of their own and see every write that was
/// answered before they began. No call blocks the cooperative threads.
///
/// ```swift
/// let store = try SQLStore(configuration: SQLiteConfiguration(path: "latchkey.db"))
/// let signedIn = try await store.signIn(record)
/// try await store.close()
/// ```
public final class SQLStore: Sendable {
    private let engine: any StoreEngine
    package let writes: WorkQueue
    let reads: WorkQueue
    public let isShared: Bool
    private let closing = DispatchQueue(label: "latchkey.store.closing")

    private init(_ engine: any StoreEngine, isShared: Bool? = nil) {
        self.engine = engine
        self.isShared = isShared ?? engine.isShared
        writes = engine.writes
        reads = engine.reads
    }

    /// Opens an SQLite database, makes it if it is not there, and brings its tables up to date. Blocks while it does.
    /// - Throws: `unavailable` if the file cannot be read and written or its directory is missing; `corrupt` if it is
    ///   not a database, another program's, or a newer version's, and then it is left as it was; `full`.
    /// - Parameter observer: Is told of every call.
    public convenience init(
        configuration: SQLiteConfiguration, observer: StoreObserver? = nil
    ) throws(StorageError) {
        self.init(try SQLiteEngine(configuration, StoreHooks(observer: observer)))
    }

    /// Opens an SQLite database for a test that intercepts its calls.
    package convenience init(
        configuration: SQLiteConfiguration, isShared: Bool, interceptor: @escaping StoreInterceptor
    ) throws(StorageError) {
        self.init(try SQLiteEngine(configuration, StoreHooks(interceptor: interceptor)), isShared: isShared)
    }

    /// Connects to a PostgreSQL server and brings the tables up to date. Blocks while it does.
    /// - Throws: `unavailable` if the server cannot be reached or does not take the user; `corrupt` if the database is
    ///   another program's, or a newer version's, and then it is left as it was.
    /// - Parameter observer: Is told of every call.
    public convenience init(
        configuration: PostgresConfiguration, observer: StoreObserver? = nil
    ) throws(StorageError) {
        self.init(try PostgresEngine(configuration, StoreHooks(observer: observer)))
    }

    /// Has changes of users and their sessions told of, until the store is closed: those of other processes, and of this
    /// one too. On SQLite none are. To be called once.
    public func watch(_ onChange: @escaping @Sendable (StoreChange) -> Void) { engine.watch(onChange) }

    /// Takes no more calls, finishes those under way, and closes the database; SQLite's write-ahead log is moved into the
    /// file first. Calls that come later throw `closed`. Closing again does nothing.
    /// - Throws: When the database cannot be closed; what was answered is stored nevertheless.
    public func close() async throws(StorageError) {
        await reads.drain()
        await writes.drain()
        let result: Result<Void, StorageError> = await withCheckedContinuation { continuation in
            closing.async { [engine] in
                continuation.resume(returning: Result { () throws(StorageError) in try engine.close() })
            }
        }
        try result.get()
    }
}

/// A store whose database is a file beside the process.
public typealias SQLiteStore = SQLStore

extension SQLStore: Store {
    public func signIn(_ signIn: SignInRecord) async throws(StorageError) -> SignedInUser? {
        try await writes.submit { db in
            guard var signedIn = try Self.user(for: signIn, in: db) else { return nil }
            if let record = signIn.idempotency {
                let given = try RecentSignInsTable.put(record, signedIn.user.id, session: signIn.session.id, in: db)
                guard let given else { return nil }
                signedIn.given = given
            }
            try SessionsTable.insert(
                signIn.session, for: signedIn.user.id, by: signIn.identity, signIn.providerSession, in: db)
            if let tokens = signIn.tokens {
                try ProviderTokensTable.put(
                    tokens, of: signIn.identity, signedIn.user.id, at: signIn.session.createdAt, in: db)
            }
            return signedIn
        }
    }

    static func user(for signIn: SignInRecord, in db: SQLSession) throws -> SignedInUser? {
        if let user = try UsersTable.user(signIn.identity, in: db) {
            guard let profile = signIn.profile else { return SignedInUser(user: user, isNew: false) }
            return SignedInUser(user: try UsersTable.fill(user, with: profile, in: db), isNew: false)
        }
        if let moved = try AccountMove.move(for: signIn, in: db), let user = try UsersTable.user(moved, in: db) {
            return SignedInUser(
                user: try UsersTable.fill(user, with: signIn.profile ?? Profile(), in: db), isNew: false, wasMoved: true
            )
        }
        if case .moved(let owner) = try IdentitiesTable.status(of: signIn.identity, in: db) {
            try AuditTable.insert(refusal(of: signIn, owner), in: db)
            return nil
        }
        guard case .welcome(let publicID) = signIn.newcomers else { return nil }
        let user = try UsersTable.insert(
            signIn.identity, publicID: publicID, profile: signIn.profile ?? Profile(), at: signIn.session.createdAt,
            in: db)
        return SignedInUser(user: user, isNew: true)
    }

    private static func refusal(of signIn: SignInRecord, _ owner: UserID) -> AuditEvent {
        AuditEvent(
            at: signIn.session.createdAt, .movedIdentityRefused, user: owner, by: .user, requestID: signIn.requestID,
            details: AuditDetails { json in
                json.add("issuer", signIn.identity.issuer)
                json.add("identity", signIn.identity.fingerprint)
            })
    }

    public func recentSignIn(_ key: [UInt8], at now: Timestamp) async throws(StorageError) -> RecentSignIn? {
        try await reads.submit { db in try RecentSignInsTable.signIn(key, at: now, in: db) }
    }

    public func addSession(
        _ session: NewSession, besides earlier: GivenSession
    ) async throws(StorageError) -> SessionAddition {
        try await writes.submit { db in
            guard let user = try UsersTable.user(earlier.user, in: db) else { return .unknownUser }
            guard try SessionsTable.stands(earlier, in: db) else { return .earlierEnded }
            try SessionsTable.insert(session, for: user.id, by: nil, in: db)
            try SessionsTable.copyOrigin(from: earlier.id, to: session.id, of: user.id, in: db)
            return .added(user)
        }
    }

    public func session(_ token: TokenHash, at now: Timestamp) async throws(StorageError) -> SessionAndUser? {
        try await reads.submit { db in try SessionsTable.session(token, at: now, in: db) }
    }

    public func revokeSession(_ token: TokenHash) async throws(StorageError) -> Bool {
        try await writes.submit { db in try SessionsTable.end(token, in: db) }
    }

    public func revokeSession(
        id: String, of user: UserID, recording event: AuditEvent
    ) async throws(StorageError) -> Bool {
        try await writes.submit { db in
            guard try SessionsTable.end(id: id, of: user, in: db) else { return false }
            try AuditTable.insert(event, in: db)
            return true
        }
    }

    public func refreshToken(
        _ token: RefreshTokenHashes, at now: Timestamp
    ) async throws(StorageError) -> RefreshTokenState {
        try await reads.submit { db in try RefreshTokensTable.state(of: token, at: now, in: db) }
    }

    public func rotate(_ rotation: RefreshTokenRotation) async throws(StorageError) -> Bool {
        try await writes.submit { db in try RefreshTokensTable.rotate(rotation, in: db) }
    }

    public func deleteUser(_ user: UserID, recording event: AuditEvent?) async throws(StorageError) -> Bool {
        try await writes.submit { db in
            guard try UsersTable.delete(user, in: db) else { return false }
            if let event { try AuditTable.insert(event, in: db) }
            return true
        }
    }

    public func addPendingRegistration(_ registration: PendingRegistration) async throws(StorageError) {
        try await writes.submit { db in try PendingRegistrationsTable.insert(registration, in: db) }
    }

    public func register(
        handle: TokenHash, profile: Profile, session: NewSession, publicID: String, tokens: WaitingProviderTokens?,
        at now: Timestamp
    ) async throws(StorageError) -> RegistrationResult {
        try await writes.submit { db in
            guard let pending = try PendingRegistrationsTable.registration(handle, at: now, in: db) else {
                return .unknownHandle
            }
            try PendingRegistrationsTable.delete(handle, in: db)
            let waiting = try tokens.flatMap {
                try OneTimeRecordsTable.take($0.handle, purpose: $0.purpose, at: now, in: db).flatMap($0.open)
            }
            // Also one that an account was moved away from is nobody's to register.
            guard try IdentitiesTable.status(of: pending.identity, in: db) == .unknown else {
                return .userAlreadyExists
            }
            let user = try UsersTable.insert(
                pending.identity, publicID: publicID, profile: profile, at: now, in: db)
            try SessionsTable.insert(
                session, for: user.id, by: pending.identity, pending.providerSession, in: db)
            if let waiting { try ProviderTokensTable.put(waiting, of: pending.identity, user.id, at: now, in: db) }
            return .registered(user)
        }
    }

    public func pendingRegistration(
        _ handle: TokenHash, at now: Timestamp
    ) async throws(StorageError) -> PendingRegistration? {
        try await reads.submit { db in try PendingRegistrationsTable.registration(handle, at: now, in: db) }
    }

    public func addIssuedNonce(_ nonce: IssuedNonceRecord) async throws(StorageError) {
        try await writes.submit { db in try IssuedNoncesTable.insert(nonce, in: db) }
    }

    public func takeIssuedNonce(nonce: TokenHash, provider: String, at now: Timestamp) async throws(StorageError)
        -> Bool
    {
        try await writes.submit { db in try IssuedNoncesTable.take(nonce: nonce, provider: provider, at: now, in: db) }
    }

    public func addOneTimeRecord(_ record: OneTimeRecord) async throws(StorageError) -> Bool {
        try await writes.submit { db in try OneTimeRecordsTable.insert(record, in: db) }
    }

    public func takeOneTimeRecord(
        _ handle: TokenHash, purpose: String, at now: Timestamp
    ) async throws(StorageError) -> [UInt8]? {
        try await writes.submit { db in try OneTimeRecordsTable.take(handle, purpose: purpose, at: now, in: db) }
    }

    /// Reads through a reading connection, and reads again with the write lock held. Nothing is written: it costs no
    /// flush, however often it is asked.
    public func check() async throws(StorageError) {
        let look: @Sendable (SQLSession) throws -> Void = { db in
            try CachedStatement(db, "SELECT 1 FROM users LIMIT 1").run()
        }
        try await reads.submit(look)
        try await writes.submit(look)
    }

    public func purgeExpired(at now: Timestamp, limit: Int) async throws(StorageError) -> Int {
        var removed = 0
        for kind in Expired.allCases {
            removed += try await purge(kind, at: now, limit: limit)
        }
        return removed
    }

    /// In steps of a few milliseconds each, so that sign-ins come between them.
    private func purge(_ kind: Expired, at now: Timestamp, limit: Int) async throws(StorageError) -> Int {
        var removed = 0
        while removed < limit {
            let step = min(128, limit - removed)
            let count = try await writes.submit { db in try kind.remove(at: now, limit: step, in: db) }
            removed += count
            if count < step { break }
        }
        return removed
    }
}
