package import Primitives
package import Storage
package import StorageModel

/// A database on a PostgreSQL server, shared by any number of processes: half of the connections write, half read.
struct PostgresEngine: StoreEngine {
    let writes: WorkQueue
    let reads: WorkQueue
    private let connections: [PostgresConnection]
    /// Nil if there is only a pooler: other processes' changes show when cached sessions are read again.
    private let listener: PostgresListener?

    /// Connects and migrates the tables. Blocks.
    init(
        _ configuration: PostgresConfiguration, _ hooks: StoreHooks,
        delayingBy makeTimer: () -> any CommitTimer = { SystemCommitTimer() }
    ) throws(StorageError) {
        let gate = ReconnectGate()
        try PostgresSchema.bringUpToDate(configuration)
        let size = min(max(configuration.poolSize, 2), 256)
        let forCalls = configuration.forCalls
        connections = (0..<size).map { _ in PostgresConnection(forCalls, gate: gate) }
        listener = configuration.isPooled ? nil : PostgresListener(configuration)
        writes = WorkQueue(
            .write, maximumBatch: configuration.maximumBatch, maximumWaiting: configuration.maximumWaiting,
            maximumWait: configuration.maximumWait, hooks, delayingBy: makeTimer())
        reads = WorkQueue(
            .read, maximumBatch: configuration.maximumBatch, maximumUnshared: 8,
            maximumWaiting: configuration.maximumWaiting, maximumWait: configuration.maximumWait, hooks,
            delayingBy: makeTimer())
        for connection in connections[..<(size / 2)] {
            writes.addWorker("postgres-writer") { PostgresCommit.run($0, on: connection) }
        }
        for connection in connections[(size / 2)...] {
            reads.addWorker("postgres-reader") { PostgresRead.run($0, on: connection) }
        }
    }

    var isShared: Bool { true }

    var problemAtStart: StorageError? { nil }

    func watch(_ onChange: @escaping @Sendable (StoreChange) -> Void) { listener?.start(onChange) }

    func close() throws(StorageError) {
        listener?.stop()
        for connection in connections { connection.close() }
    }
}

/// Reads outside transactions, as on SQLite: each statement sees what was committed before it.
enum PostgresRead {
    /// Runs a batch and resumes every caller in it. Those who look for earlier sign-ins share a statement.
    static func run(_ batch: [any DatabaseWork], on connection: PostgresConnection) {
        let recalls = batch.compactMap { $0.shared as? BatchedRecall }
        var failure: (any Error)?
        do {
            try retried(on: connection) { try recall(recalls, in: $0) }
        } catch {
            failure = error
        }
        batch.complete { work in
            if let failure, work.shared != nil { throw failure }
            try retried(on: connection, work.run)
        }
    }

    private static func recall(_ recalls: [BatchedRecall], in db: SQLSession) throws {
        guard !recalls.isEmpty else { return }
        var query = try CachedStatement(db, recall)
        query.bindRows(recalls) { $1.bind($0.input.key, $0.input.now) }
        for recall in recalls { recall.output = .some(nil) }
        while try query.next() { recalls[Int(query.number(5)) - 1].output = try RecentSignIn(query) }
    }

    // Each row by itself and by its key alone, so that the plan uses the primary key, whatever the table had when it
    // was made. One array is read in a subquery: with its length, PostgreSQL would plan each time.
    static let recall: SQL = """
        SELECT found.*, place FROM unnest((SELECT ?), ?) WITH ORDINALITY AS input (key, now, place), \
        LATERAL (\(RecentSignInsTable.select) WHERE fingerprint = input.key OFFSET 0) AS found \
        WHERE found.expires_at > input.now
        """

    /// The loss of an idle connection shows only when it is used: the read is retried on a new one. It is also retried
    /// if the server has cancelled it because of a deadlock, as with a newer version that migrates the tables.
    private static func retried(on connection: PostgresConnection, _ body: (SQLSession) throws -> Void) throws {
        var (losses, collisions) = (0, 0)
        while true {
            do {
                try connection.connect()
                try body(.postgres(connection))
                return try connection.synchronize()
            } catch let error as PostgresError where error.isLoss && losses < 1 {
                losses += 1
            } catch let error as PostgresError where error.isCollision && collisions < 3 {
                collisions += 1
            }
        }
    }
}

/// Which PostgreSQL database to use, and how.
package struct PostgresConfiguration: Sendable {
    /// The URL in libpq's form: `postgres://user:password@host:port/database?sslmode=verify-full`. It may contain a
    /// password.
    package var url: Secret
    /// The URL of a pooler in transaction mode, which may run each transaction on another of its connections to the
    /// server. The calls of a store use it. Nil if there is none, and ``url`` if there is no other way to the server.
    package var poolerURL: Secret?
    /// The most connections, 2 to 256: half of them write, half read. They are opened when needed.
    package var poolSize = 8
    /// The time limit of one statement. The server cancels it then; if the server does not respond, the connection is
    /// closed.
    package var statementTimeout = Duration.seconds(5)
    /// The time limit of one attempt to connect.
    package var connectTimeout = Duration.seconds(5)
    /// The most writes that share one commit, and look-ups that share a statement.
    package var maximumBatch = 32
    /// The most calls that may wait, for writes and for reads each; a call beyond them is refused as `overloaded`.
    package var maximumWaiting = 4_096
    /// The longest time that a call waits for a connection; then it is refused as `overloaded`.
    package var maximumWait = Duration.seconds(5)
    package var featureTables: [FeatureTable] = []
    /// Gets each statement before it is sent, and returns what is sent in its place: tests stop a transaction between
    /// two statements with it, which are then not sent together.
    var interceptor: (@Sendable (String) -> String)?

    /// Whether ``url`` is the pooler's: nothing that a connection sets or prepares lasts longer than a transaction.
    var isPooled: Bool { url == poolerURL }

    /// With the URL for the calls of a store.
    var forCalls: PostgresConfiguration {
        var configuration = self
        configuration.url = poolerURL ?? url
        return configuration
    }
}

extension PostgresConfiguration: DatabaseLocation {
    /// - Throws: `unavailable` if the server cannot be reached or refuses the user; `corrupt` if the database is
    ///   another program's, or of a version that this one cannot migrate, and then it is not changed.
    package func open(observer: StoreObserver?) throws(StorageError) -> SQLStore {
        SQLStore(try PostgresEngine(self, StoreHooks(observer: observer)))
    }

    package func read<Value>(_ body: ([Migration], SQLSession) throws -> Value) throws(StorageError) -> Value? {
        try PostgresSchema.withConnection(self) { connection in
            try body(PostgresSchema.missing(connection), .postgres(connection))
        }
    }

    package func alone<Value>(
        as name: String, _ tables: [TableShape], _ body: (SQLSession) throws -> Value
    ) throws -> Value {
        try PostgresSchema.bringUpToDate(self)
        var outcome: Result<Value, UnknownOutcome>?
        try PostgresSchema.withConnection(self) { connection in
            guard try PostgresPresence.takeAlone(on: connection) else { throw StorageError.isOpen(name) }
            // All reads must be of one moment, and the other database may take long.
            try connection.script(
                "BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE; SET LOCAL idle_in_transaction_session_timeout = 0")
            // Before the first read, which starts the snapshot.
            try connection.script("LOCK TABLE \(tables.map(\.name).joined(separator: ", ")) IN EXCLUSIVE MODE")
            let value = try body(.postgres(connection))
            do {
                guard try connection.commit() else {
                    throw StorageError(.unavailable, reason: "the PostgreSQL server rolled the transaction back")
                }
                outcome = .success(value)
            } catch let error as PostgresError where error.mayBeCommitted {
                outcome = .failure(UnknownOutcome(reason: error.reason))
            }
        }
        guard let outcome else { throw StorageError(.unavailable, reason: "nothing was done") }
        return try outcome.get()
    }

    package func isSame(as other: any DatabaseLocation) -> Bool { (other as? PostgresConfiguration)?.url == url }

    package func freeBytes() -> UInt64? { nil }
}
