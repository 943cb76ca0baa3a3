package import StorageModel

/// The location and the settings of an SQLite database.
package struct SQLiteConfiguration: Sendable, Hashable {
    /// The database file. Its directory must exist; a missing file is made with mode 0600.
    package var path: String
    package var synchronous: Synchronous
    /// The number of reading connections, 1 to 16; each may use a quarter of `pageCacheKiB` of memory.
    package var readerCount: Int
    /// How long to wait for another process that has the database locked.
    package var busyTimeout: Duration
    /// The page cache of the writing connection, in KiB. Reading connections have less: pages they miss
    /// are in the system's memory.
    package var pageCacheKiB: Int
    /// The most writes that share one commit.
    package var maximumBatch: Int
    /// The most calls that may wait, for writes and for reads each; a call beyond them is refused as `overloaded`.
    package var maximumWaiting: Int
    /// The longest time that a call waits for a connection; then it is refused as `overloaded`.
    package var maximumWait: Duration

    package init(
        path: String, synchronous: Synchronous = .full, readerCount: Int = 2, busyTimeout: Duration = .seconds(5),
        pageCacheKiB: Int = 2_000, maximumBatch: Int = 256, maximumWaiting: Int = 4_096,
        maximumWait: Duration = .seconds(5)
    ) {
        self.path = path
        self.synchronous = synchronous
        self.readerCount = readerCount
        self.busyTimeout = busyTimeout
        self.pageCacheKiB = pageCacheKiB
        self.maximumBatch = maximumBatch
        self.maximumWaiting = maximumWaiting
        self.maximumWait = maximumWait
    }
}
