import CLatchkeySQLite

/// Moves the write-ahead log into the database file from time to time, after callers were resumed.
///
/// SQLite's own checkpoint runs inside a commit, so that one batch of callers would wait for two more flushes.
///
/// `@unchecked`: only the writing connection's thread touches the counters.
final class WALCheckpointer: @unchecked Sendable {
    /// The log is moved at this many pages. Commits wait for a move: longer for more pages, and more often for fewer.
    private static let threshold = 1_000
    /// A log of so many pages, 64 MB, shows that readers keep it from restarting.
    private static let longLog = 16_000
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
    /// Normally this waits for no reader. If the log is long, it waits up to 100 ms for the current ones, and seldom.
    func checkpointIfDue(_ db: SQLiteConnection) {
        let isLong = pages >= Self.longLog
        guard pages - triedAt >= (isLong ? Self.longLog / 4 : Self.threshold) else { return }
        triedAt = pages
        // Pages that cannot be moved now stay in the log, where they are as safe.
        try? db.checkpoint(
            isLong ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE, busyMilliseconds: isLong ? 100 : 0)
    }
}
