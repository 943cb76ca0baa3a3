import GRDB
import GRDBSQLite
import StorageModel

/// Moves the write-ahead log into the database file from time to time, after callers have been answered.
///
/// SQLite by itself does it inside a commit, so that one batch of callers would wait for two further flushes.
///
/// `@unchecked`: everything in it is touched only on the writing connection's queue.
final class WALCheckpointer: @unchecked Sendable {
    /// A log of this many pages is moved. 4,000 pages of 4 KiB are 16 MB, and stay within the first block of the log's
    /// index.
    private let threshold: Int
    private var pages = 0
    private var triedAt = 0

    init(threshold: Int = 4_000) {
        self.threshold = threshold
    }

    /// Has the connection tell of its log's length; SQLite's own checkpoints end with it.
    func observe(_ db: Database) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        sqlite3_wal_hook(
            db.sqliteConnection,
            { context, _, _, pages in
                guard let context else { return SQLITE_OK }
                Unmanaged<WALCheckpointer>.fromOpaque(context).takeUnretainedValue().note(Int(pages))
                return SQLITE_OK
            }, context)
    }

    private func note(_ pages: Int) {
        self.pages = pages
        // The log has begun anew.
        if pages < triedAt { triedAt = 0 }
    }

    /// Moves the log if it has grown by the threshold since the last try.
    ///
    /// This normally waits for nobody. A log four times the threshold is one that readers never let begin anew: then it
    /// waits a moment for those who read now.
    func checkpointIfDue(_ db: Database) {
        guard pages - triedAt >= threshold else { return }
        triedAt = pages
        // What cannot be moved now stays in the log, where it is just as safe.
        guard pages >= 4 * threshold else {
            _ = try? db.checkpoint(.passive)
            return
        }
        sqlite3_busy_timeout(db.sqliteConnection, 100)
        _ = try? db.checkpoint(.restart)
        sqlite3_busy_timeout(db.sqliteConnection, busyTimeoutMilliseconds(db))
    }

    private func busyTimeoutMilliseconds(_ db: Database) -> CInt {
        guard case .timeout(let seconds) = db.configuration.busyMode else { return 0 }
        return CInt(clamping: Int64(exactly: (seconds * 1_000).rounded()) ?? 0)
    }
}
