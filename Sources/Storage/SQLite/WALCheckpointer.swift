import CLatchkeySQLite

/// Moves the write-ahead log into the database file from time to time, after callers were resumed.
///
/// SQLite's own checkpoint runs inside a commit, so that one batch of callers would wait for two more flushes.
///
/// `@unchecked`: only the writing connection's thread touches the counters.
final class WALCheckpointer: @unchecked Sendable {
    /// The log is moved at this many pages. 4,000 pages of 4 KiB are 16 MB, and fit the first block of the log's index.
    private static let threshold = 4_000
    private var pages = 0
    private var triedAt = 0

    /// Observes the length of the connection's log; this turns SQLite's own checkpoints off.
    func observe(_ db: SQLiteConnection) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        sqlite3_wal_hook(
            db.handle,
            { context, _, _, pages in
                guard let context else { return SQLITE_OK }
                Unmanaged<WALCheckpointer>.fromOpaque(context).takeUnretainedValue().note(Int(pages))
                return SQLITE_OK
            }, context)
    }

    private func note(_ pages: Int) {
        self.pages = pages
        // The log has restarted.
        if pages < triedAt { triedAt = 0 }
    }

    /// Moves the log if it has grown by the threshold since the last try.
    ///
    /// Normally this does not wait. A log of four times the threshold shows that readers keep it from restarting: then
    /// it waits up to 100 ms for the current readers.
    func checkpointIfDue(_ db: SQLiteConnection) {
        guard pages - triedAt >= Self.threshold else { return }
        triedAt = pages
        // Pages that cannot be moved now stay in the log, where they are as safe.
        guard pages >= 4 * Self.threshold else {
            try? db.checkpoint(SQLITE_CHECKPOINT_PASSIVE, busyMilliseconds: 0)
            return
        }
        try? db.checkpoint(SQLITE_CHECKPOINT_RESTART, busyMilliseconds: 100)
    }
}
