import CLatchkeySQLite
import Dispatch
import Synchronization

/// Moves the write-ahead log into the database file from time to time, while commits go on.
///
/// A move writes pages all over the file and syncs it. SQLite's own checkpoint does that inside a commit, whose callers
/// wait for it. Here a connection of its own does it on another thread. Commits append to the log meanwhile, so it
/// repeats until little is left. The writing connection moves the rest between two commits: the log begins anew only
/// when all of it was moved.
///
/// A move on the other thread begins only while the log has pages that were not moved. So the log cannot begin anew
/// under it, which is when versions of SQLite damage the database (``SQLiteLibrary/hasWALResetFault``).
///
/// `@unchecked`: only the queue uses the connection.
final class WALCheckpointer: @unchecked Sendable {
    /// The log is moved at this many pages. 4,000 pages of 4 KiB are 16 MB, and fit the first block of the log's index.
    private static let threshold = 4_000
    /// The most pages that the writing connection moves, unless commits append more during each of the moves before.
    private static let rest = 300
    /// The most moves on the other thread before the writing connection moves the rest.
    private static let maximumMoves = 3

    private struct State {
        var pages = 0
        /// The length of the log when the last move began.
        var triedAt = 0
        /// How many moves on the other thread have begun since the writing connection moved the rest.
        var moves = 0
        var isMoving = false
        var isAbandoned = false

        mutating func note(_ pages: Int) {
            self.pages = pages
            // The log has restarted.
            if pages < triedAt { (triedAt, moves) = (0, 0) }
        }

        mutating func next() -> Step {
            let new = pages - triedAt
            guard !isMoving, !isAbandoned, moves > 0 || new >= threshold else { return .nothing }
            triedAt = pages
            if moves == 0, pages >= 4 * threshold { return .restart }
            guard new > rest, moves < maximumMoves else {
                moves = 0
                return .moveRest
            }
            moves += 1
            isMoving = true
            return .move
        }
    }

    private enum Step {
        case nothing
        /// On the other thread.
        case move
        case moveRest
        /// A log of four times the threshold shows that readers keep it from restarting.
        case restart
    }

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "latchkey.store.checkpoints", qos: .utility)
    /// Opened for the first move.
    private var connection: SQLiteConnection?
    private let sync: @Sendable (SQLiteConnection) -> CInt

    /// - Parameter sync: Syncs the database file of a connection, and returns SQLite's result.
    init(syncingBy sync: @escaping @Sendable (SQLiteConnection) -> CInt = { csqlite_sync_database($0.handle) }) {
        self.sync = sync
    }

    /// Observes the length of the connection's log; this turns SQLite's own checkpoints off.
    func observe(_ db: SQLiteConnection) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        sqlite3_wal_hook(
            db.handle,
            { context, _, _, pages in
                guard let context else { return SQLITE_OK }
                let checkpointer = Unmanaged<WALCheckpointer>.fromOpaque(context).takeUnretainedValue()
                checkpointer.state.withLock { $0.note(Int(pages)) }
                return SQLITE_OK
            }, context)
    }

    /// Moves the log if it has grown by the threshold since the last move. Call it between two commits of the observed
    /// connection.
    ///
    /// It waits for the rest at most, and if readers keep the log from restarting, up to 100 ms for them. Pages that
    /// cannot be moved now stay in the log, where they are as safe.
    func checkpointIfDue(_ db: SQLiteConnection) {
        switch state.withLock({ $0.next() }) {
        case .nothing: break
        case .move:
            let path = String(cString: sqlite3_db_filename(db.handle, "main"))
            queue.async { self.move(path) }
        case .moveRest: try? db.checkpoint(SQLITE_CHECKPOINT_PASSIVE, busyMilliseconds: 0)
        case .restart: try? db.checkpoint(SQLITE_CHECKPOINT_RESTART, busyMilliseconds: 100)
        }
    }

    private func move(_ path: String) {
        var result = SQLITE_OK
        do {
            let db = try connection ?? SQLiteConnection(path, settings: ["PRAGMA synchronous = FULL"])
            connection = db
            try db.checkpoint(SQLITE_CHECKPOINT_PASSIVE, busyMilliseconds: 0)
            // SQLite syncs the file only after the last page of the log.
            result = sync(db)
        } catch {}
        state.withLock { state in
            state.isMoving = false
            // SQLite takes the pages for moved, and no later sync writes what this one did not. So they stay in the
            // log, which the next start moves from its beginning.
            if result != SQLITE_OK { state.isAbandoned = true }
        }
    }

    /// Returns when no move runs on the other thread.
    func wait() { queue.sync {} }

    /// Ends before the connection that it observes is closed.
    func close(before db: SQLiteConnection) throws(SQLiteError) {
        wait()
        try connection?.close()
        connection = nil
        if state.withLock(\.isAbandoned) { csqlite_keep_log_at_close(db.handle) }
    }
}
