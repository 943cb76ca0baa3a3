import CLatchkeySQLite
import Dispatch
import StorageModel
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

    /// What is known of the log.
    struct State {
        var pages = 0
        /// How many pages the other thread has moved. If all were, the log may begin anew at any moment.
        var moved = 0
        /// How often the log has begun anew.
        var restarts = 0
        /// The length of the log when the last move began.
        var triedAt = 0
        /// How many moves on the other thread have begun since the writing connection moved the rest.
        var moves = 0
        var isMoving = false
        var isAbandoned = false

        mutating func note(_ pages: Int) {
            if pages < self.pages {
                restarts += 1
                (moved, triedAt, moves) = (0, 0, 0)
            }
            self.pages = pages
        }

        mutating func next() -> Step {
            let new = pages - triedAt
            guard !isMoving, !isAbandoned, pages > moved, moves > 0 || new >= threshold else { return .nothing }
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

        /// - Parameters:
        ///   - count: How many pages of the log are moved.
        ///   - restarts: How often the log had begun anew when the move began.
        mutating func end(moving count: Int, since restarts: Int) {
            isMoving = false
            if self.restarts == restarts { moved = max(moved, count) }
        }
    }

    enum Step {
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
        case .moveRest: _ = try? db.checkpoint(SQLITE_CHECKPOINT_PASSIVE, busyMilliseconds: 0)
        case .restart: _ = try? db.checkpoint(SQLITE_CHECKPOINT_RESTART, busyMilliseconds: 100)
        }
    }

    private func move(_ path: String) {
        let restarts = state.withLock(\.restarts)
        var result = SQLITE_OK
        var moved = 0
        do {
            let db = try connection ?? SQLiteConnection(path, settings: ["PRAGMA synchronous = FULL"])
            connection = db
            moved = try db.checkpoint(SQLITE_CHECKPOINT_PASSIVE, busyMilliseconds: 0)
            // SQLite syncs the file only after the last page of the log.
            result = sync(db)
        } catch {}
        state.withLock { state in
            state.end(moving: moved, since: restarts)
            // SQLite takes the pages for moved, and no later sync writes what this one did not. So they stay in the
            // log, which the next start moves from its beginning.
            if result != SQLITE_OK { state.isAbandoned = true }
        }
    }

    /// That the log is not moved any more; nil if it is.
    var problem: StorageError? {
        state.withLock(\.isAbandoned)
            ? StorageError(.full, reason: "a sync of the database file failed while the log was moved into it") : nil
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
