import GRDB
import StorageModel

/// A database in a file: one connection writes, and a few read.
struct SQLiteEngine: StoreEngine {
    let writes: WorkQueue
    let reads: WorkQueue
    private let connections: SQLiteConnections

    /// Opens the database, makes it if it is missing, and migrates its tables. Blocks.
    init(_ configuration: SQLiteConfiguration, _ hooks: StoreHooks) throws(StorageError) {
        connections = try SQLiteConnections(configuration)
        writes = WorkQueue(
            .write, executors: [SQLiteWriter(connections.writer)], maximumBatch: configuration.maximumBatch,
            maximumWaiting: configuration.maximumWaiting, hooks)
        reads = WorkQueue(
            .read, executors: connections.readers.map(SQLiteReader.init), maximumBatch: 16,
            maximumWaiting: configuration.maximumWaiting, hooks)
    }

    /// One server uses a file at a time.
    var isShared: Bool { false }

    /// SQLite does not report changes by other processes.
    func watch(_ onChange: @escaping @Sendable (StoreChange) -> Void) {}

    /// Closes the readers first: the last connection to close must be able to move the log.
    func close() throws(StorageError) {
        do {
            for reader in connections.readers { try reader.close() }
            try connections.writer.close()
        } catch {
            throw StorageError(error)
        }
    }
}

/// The connection that writes.
private final class SQLiteWriter: ConnectionExecutor {
    private let queue: DatabaseQueue
    private let checkpointer = WALCheckpointer()

    init(_ queue: DatabaseQueue) {
        self.queue = queue
        queue.unsafeRead { [checkpointer] db in checkpointer.observe(db) }
    }

    func enqueue(_ body: @escaping @Sendable (_ run: ([any DatabaseWork]) -> Void) -> Void) {
        queue.asyncWriteWithoutTransaction { [checkpointer] db in
            body { batch in
                GroupCommit.run(batch, on: db)
                checkpointer.checkpointIfDue(db)
            }
        }
    }
}

/// A connection that reads.
private final class SQLiteReader: ConnectionExecutor {
    private let queue: DatabaseQueue

    init(_ queue: DatabaseQueue) { self.queue = queue }

    func enqueue(_ body: @escaping @Sendable (_ run: ([any DatabaseWork]) -> Void) -> Void) {
        queue.asyncWriteWithoutTransaction { db in
            body { batch in
                for work in batch {
                    do {
                        try work.run(on: .sqlite(db))
                        work.succeed()
                    } catch {
                        work.fail(StorageError(error))
                    }
                }
            }
        }
    }
}
