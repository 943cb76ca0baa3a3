package import StorageModel

/// A database in a file: one connection writes, and a few read, each on its own worker.
struct SQLiteEngine: StoreEngine {
    let writes: WorkQueue
    let reads: WorkQueue
    private let connections: SQLiteConnections
    // The writing connection calls it.
    private let checkpointer = WALCheckpointer()

    /// Opens the database, makes it if it is missing, and migrates its tables. Blocks.
    init(
        _ configuration: SQLiteConfiguration, _ hooks: StoreHooks,
        delayingBy timer: any CommitTimer = SystemCommitTimer()
    ) throws(StorageError) {
        connections = try SQLiteConnections(configuration)
        writes = WorkQueue(
            .write, maximumBatch: configuration.maximumBatch, maximumWaiting: configuration.maximumWaiting,
            maximumWait: configuration.maximumWait, hooks, delayingBy: timer)
        reads = WorkQueue(
            .read, maximumBatch: 16, maximumWaiting: configuration.maximumWaiting,
            maximumWait: configuration.maximumWait, hooks)
        checkpointer.observe(connections.writer)
        writes.addWorker("sqlite-writer") { [connections, checkpointer] batch in
            let writer = connections.writer
            GroupCommit.run(batch, on: writer, unless: connections.walRecovery.writeBlocker(writer))
            if !connections.leavesLogToServer { checkpointer.checkpointIfDue(writer) }
        }
        for reader in connections.readers {
            reads.addWorker("sqlite-reader") { batch in batch.complete { try $0.run(on: reader.session) } }
        }
    }

    var problemAtStart: StorageError? { connections.walRecovery.problemAtStart }

    /// One server uses a file at a time.
    var isShared: Bool { false }

    /// SQLite does not report changes by other processes.
    func watch(_ onChange: @escaping @Sendable (StoreChange) -> Void) {}

    func close() throws(StorageError) {
        do {
            try connections.close()
        } catch {
            throw StorageError(error)
        }
    }
}

/// The location and the settings of an SQLite database.
package struct SQLiteConfiguration: Sendable, Hashable {
    /// The database file. Its directory must exist; a missing file is made with mode 0600.
    package var path: String
    package var synchronous: Synchronous
    /// How long to wait for another process that has the database locked.
    package var busyTimeout: Duration
    /// The page cache of the writing connection, in KiB. Reading connections have a quarter of it: pages they miss
    /// are in the system's memory.
    package var pageCacheKiB: Int
    /// The most writes that share one commit.
    package var maximumBatch: Int
    /// The most calls that may wait, for writes and for reads each; a call beyond them is refused as `overloaded`.
    package var maximumWaiting: Int
    /// The longest time that a call waits for a connection; then it is refused as `overloaded`.
    package var maximumWait: Duration
    package var featureTables: [FeatureTable] = []
    /// Whether a command opens it, which leaves the write-ahead log to a server that has the database open.
    package var isForCommand = false

    package init(
        path: String, synchronous: Synchronous = .full, busyTimeout: Duration = .seconds(5),
        pageCacheKiB: Int = 2_000, maximumBatch: Int = 256, maximumWaiting: Int = 4_096,
        maximumWait: Duration = .seconds(5)
    ) {
        self.path = path
        self.synchronous = synchronous
        self.busyTimeout = busyTimeout
        self.pageCacheKiB = pageCacheKiB
        self.maximumBatch = maximumBatch
        self.maximumWaiting = maximumWaiting
        self.maximumWait = maximumWait
    }
}
