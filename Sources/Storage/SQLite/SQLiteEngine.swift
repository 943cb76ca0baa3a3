import GRDB
import StorageModel

/// A database in a file beside the process: one connection writes, and a few read.
struct SQLiteEngine: StoreEngine {
    let writes: WorkQueue
    let reads: WorkQueue
    private let connections: SQLiteConnections

    /// Opens the database, makes it if it is not there, and brings its tables up to date. Blocks while it does.
    init(_ configuration: SQLiteConfiguration, _ hooks: StoreHooks) throws(StorageError) {
        connections = try SQLiteConnections(configuration)
        writes = WorkQueue(
            .write, executors: [SQLiteWriter(connections.writer)], maximumBatch: configuration.maximumBatch,
            maximumWaiting: configuration.maximumWaiting, hooks)
        reads = WorkQueue(
            .read, executors: connections.readers.map(SQLiteReader.init), maximumBatch: 16,
            maximumWaiting: configuration.maximumWaiting, hooks)
    }

    /// A file is one server's at a time.
    var isShared: Bool { false }

    /// Nobody tells of what another process does to the file.
    func watch(_ onChange: @escaping @Sendable (StoreChange) -> Void) {}

    /// The readers first: the last connection to close must be one that can move the log.
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

    init(_ queue: DatabaseQueue) {
        self.queue = queue
    }

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
