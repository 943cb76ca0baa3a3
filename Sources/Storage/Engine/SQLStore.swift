import Dispatch
package import Primitives
package import StorageModel

/// The store in a database.
///
/// Writes of concurrent callers share a commit; reads use other connections and see every write that returned
/// before they began. No call blocks the cooperative threads.
///
/// ```swift
/// let store = try SQLStore(configuration: SQLiteConfiguration(path: "latchkey.db"))
/// let signedIn = try await store.signIn(record)
/// try await store.close()
/// ```
public final class SQLStore: Sendable {
    private let engine: any StoreEngine
    /// Runs what changes rows.
    public let writes: WorkQueue
    /// Runs what only reads rows; it sees every write that returned before it began.
    public let reads: WorkQueue
    package let isShared: Bool
    private let closing = DispatchQueue(label: "latchkey.store.closing")

    /// - Parameter isShared: Nil for what the engine says.
    package init(_ engine: any StoreEngine, isShared: Bool? = nil) {
        self.engine = engine
        self.isShared = isShared ?? engine.isShared
        writes = engine.writes
        reads = engine.reads
    }

    deinit {
        reads.end()
        writes.end()
    }

    /// Opens an SQLite database, makes it if it is missing, and migrates its tables. Blocks.
    /// - Throws: `unavailable` if the file cannot be read and written or its directory is missing; `corrupt` if it is
    ///   not a database, another program's, or of a version that this one cannot migrate, and then it is not changed;
    ///   `full`.
    /// - Parameter observer: Receives every call as it ends.
    package convenience init(configuration: SQLiteConfiguration, observer: StoreObserver? = nil) throws(StorageError) {
        self.init(try SQLiteEngine(configuration, StoreHooks(observer: observer)))
    }

    /// Opens an SQLite database for a test that intercepts its calls.
    /// - Parameter timer: Delays commits; nil for the system's.
    package convenience init(
        configuration: SQLiteConfiguration, isShared: Bool, delayingBy timer: (any CommitTimer)? = nil,
        interceptor: @escaping StoreInterceptor
    ) throws(StorageError) {
        let hooks = StoreHooks(interceptor: interceptor)
        self.init(
            try SQLiteEngine(configuration, hooks, delayingBy: timer ?? SystemCommitTimer()), isShared: isShared)
    }

    /// Why the log that an earlier process left was not moved into an SQLite database at the start; nil if it was. With
    /// `full`, writes are refused until it is moved. With `unavailable`, another process reads it, and writes go on.
    package var problemAtStart: StorageError? { engine.problemAtStart }

    /// Calls `onChange` when any process changes a user or session, until the store is closed. SQLite never does. Call
    /// it once.
    package func watch(_ onChange: @escaping @Sendable (StoreChange) -> Void) { engine.watch(onChange) }

    /// Refuses further calls with `closed`, completes the running ones, and closes the database; SQLite's write-ahead
    /// log is moved into the file first. Closing again does nothing.
    /// - Throws: If the database cannot be closed; completed writes are stored nevertheless.
    package func close() async throws(StorageError) {
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

extension SQLStore: Store {
    /// Reads through a reading connection, then again with the write lock held. Writes nothing, so that a check costs
    /// no flush.
    package func check() async throws(StorageError) {
        let look: @Sendable (SQLSession) throws -> Void = { db in
            _ = try db.exists("SELECT 1 FROM users LIMIT 1")
        }
        try await reads.submit(look)
        try await writes.submit(look)
    }

    package func purgeExpired(at now: Timestamp, limit: Int) async throws(StorageError) -> Int {
        var removed = 0
        for kind in Expired.all {
            removed += try await inSteps(limit: limit) { step, db in try kind.remove(at: now, limit: step, in: db) }
        }
        try await giveSpaceBack()
        return removed
    }

    /// Shortens the file of an SQLite database that is largely empty, in steps of a few milliseconds. PostgreSQL does
    /// so by itself.
    private func giveSpaceBack() async throws(StorageError) {
        for _ in 0..<64 {
            let isDone = try await writes.submit { db in
                guard case .sqlite(let connection) = db.engine else { return true }
                return try !connection.shorten(in: db)
            }
            if isDone { return }
        }
    }

    /// Removes rows in steps of a few milliseconds, so that sign-ins run between them. Returns how many were removed.
    func inSteps(
        limit: Int, _ remove: @escaping @Sendable (_ limit: Int, SQLSession) throws -> Int
    ) async throws(StorageError) -> Int {
        var removed = 0
        while removed < limit {
            let step = min(128, limit - removed)
            let count = try await writes.submit { db in try remove(step, db) }
            removed += count
            if count < step { break }
        }
        return removed
    }
}

/// The database of a store: the queues that write and read, and its end.
package protocol StoreEngine: Sendable {
    /// Runs writes, each batch in one transaction.
    var writes: WorkQueue { get }
    /// Runs reads, which see every write that returned before they began.
    var reads: WorkQueue { get }
    /// Whether several processes use the same database.
    var isShared: Bool { get }
    /// What does not work since the start, although the store was opened; nil if all does.
    var problemAtStart: StorageError? { get }
    /// Calls `onChange` when any process changes a user or session, until the store is closed. SQLite never does.
    func watch(_ onChange: @escaping @Sendable (StoreChange) -> Void)
    /// Closes the connections, after both queues were drained. Blocks.
    func close() throws(StorageError)
}
