public import StorageModel

/// Where the SQLite database is and how it is kept.
public struct SQLiteConfiguration: Sendable, Hashable {
    /// The database file. Its directory must exist; the file is made, for its owner's eyes only, if it does not.
    public var path: String
    public var synchronous: Synchronous
    /// Connections that read, 1 to 16: each may keep a quarter of `pageCacheKiB` of memory.
    public var readerCount: Int
    /// How long to wait for another process that has the database locked.
    public var busyTimeout: Duration
    /// Pages that the connection that writes keeps in memory, in KiB. Those that read keep less: they mostly find
    /// sessions, whose places are as random as their tokens, and what they miss is in the system's memory.
    public var pageCacheKiB: Int
    /// The most writes that share one commit.
    public var maximumBatch: Int
    /// The most calls that may wait, for writes and for reads each; a call beyond them is refused as `overloaded`.
    public var maximumWaiting: Int

    public init(
        path: String, synchronous: Synchronous = .full, readerCount: Int = 2, busyTimeout: Duration = .seconds(5),
        pageCacheKiB: Int = 2_000, maximumBatch: Int = 256, maximumWaiting: Int = 4_096
    ) {
        self.path = path
        self.synchronous = synchronous
        self.readerCount = readerCount
        self.busyTimeout = busyTimeout
        self.pageCacheKiB = pageCacheKiB
        self.maximumBatch = maximumBatch
        self.maximumWaiting = maximumWaiting
    }
}
