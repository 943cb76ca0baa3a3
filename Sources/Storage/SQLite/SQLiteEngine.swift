import StorageModel

/// A database in a file: one connection writes, and a few read, each on a thread of its own.
struct SQLiteEngine: StoreEngine {
    let writes: WorkQueue
    let reads: WorkQueue
    private let connections: SQLiteConnections
    private let threads: [SQLiteThread]

    /// Opens the database, makes it if it is missing, and migrates its tables. Blocks.
    init(
        _ configuration: SQLiteConfiguration, _ hooks: StoreHooks,
        delayingBy timer: any CommitTimer = SystemCommitTimer()
    ) throws(StorageError) {
        connections = try SQLiteConnections(configuration)
        let settlement = connections.logSettlement
        let checkpointer = WALCheckpointer()
        checkpointer.observe(connections.writer)
        let writer = try SQLiteThread(named: "sqlite-writer", connections.writer) { batch, connection in
            GroupCommit.run(batch, on: connection, unless: settlement.obstacle(connection))
            checkpointer.checkpointIfDue(connection)
        }
        let readers = try connections.readers.map { reader throws(StorageError) in
            try SQLiteThread(named: "sqlite-reader", reader, run: Self.read)
        }
        threads = [writer] + readers
        writes = WorkQueue(
            .write, executors: [writer], maximumBatch: configuration.maximumBatch,
            maximumWaiting: configuration.maximumWaiting, maximumWait: configuration.maximumWait, hooks,
            delayingBy: timer)
        reads = WorkQueue(
            .read, executors: readers, maximumBatch: 16, maximumWaiting: configuration.maximumWaiting,
            maximumWait: configuration.maximumWait, hooks)
    }

    private static func read(_ batch: [any DatabaseWork], on connection: SQLiteConnection) {
        for work in batch {
            do {
                try work.run(on: .sqlite(connection))
                work.succeed()
            } catch {
                work.fail(StorageError(error))
            }
        }
    }

    var problemAtStart: StorageError? { connections.logSettlement.problemAtStart }

    /// One server uses a file at a time.
    var isShared: Bool { false }

    /// SQLite does not report changes by other processes.
    func watch(_ onChange: @escaping @Sendable (StoreChange) -> Void) {}

    func close() throws(StorageError) {
        for thread in threads { thread.end() }
        do {
            try connections.close()
        } catch {
            throw StorageError(error)
        }
    }
}
