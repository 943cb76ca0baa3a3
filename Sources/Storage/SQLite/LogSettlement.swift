import GRDB
import GRDBSQLite
import Glibc
import StorageModel

/// The move of the log that an earlier process left into the database, before anything is appended to it.
///
/// Its last commits may be in the system's memory only: when a sync fails, Linux takes what it did not write for clean,
/// and no later sync writes it. The process that was told so writes these frames anew; the next process would append to
/// them. Here their pages are written to the database, and synced, and the log begins anew.
///
/// It is tried at the start, and if that fails, before each transaction, until it succeeds. Until then reads go on, and
/// nothing is written.
///
/// `@unchecked`: only the writing connection's thread uses it.
final class LogSettlement: @unchecked Sendable {
    private enum State {
        case done
        /// Another process reads the log, so that it cannot begin anew yet. Writes go on: otherwise a long read, such
        /// as a backup, would keep a server from its start.
        case awaitsReaders
        /// The disk refuses it, and so writes are refused.
        case failed(StorageError)
    }

    /// Between two tries while another process reads the log. Each costs two syncs.
    private static let pause = Duration.seconds(1)

    private var state: State
    private var lastTry = ContinuousClock.now
    /// What kept the log from being moved at the start; nil if it was moved.
    let problemAtStart: StorageError?

    /// Waits for other processes as long as the connection does, without a lock between the tries: their writes go on.
    /// - Throws: A failure that is not the disk's refusal to write, such as damage.
    init(_ db: Database) throws {
        let end = ContinuousClock.now + .milliseconds(Int64(db.configuration.busyMilliseconds))
        state = try Self.settle(db)
        while case .awaitsReaders = state, ContinuousClock.now < end {
            usleep(20_000)
            state = try Self.settle(db)
        }
        switch state {
        case .done: problemAtStart = nil
        case .awaitsReaders:
            problemAtStart = StorageError(.unavailable, reason: "another process reads the write-ahead log")
        case .failed(let error): problemAtStart = error
        }
    }

    /// Why nothing may be written; nil if writes may go on. Call it before each transaction, not within one.
    func obstacle(_ db: Database) -> StorageError? {
        switch state {
        case .done: return nil
        case .awaitsReaders where ContinuousClock.now - lastTry < Self.pause: return nil
        case .awaitsReaders, .failed: break
        }
        lastTry = .now
        do {
            state = try Self.settle(db)
        } catch {
            state = .failed(StorageError(error))
        }
        guard case .failed(let error) = state else { return nil }
        return error
    }

    private static func settle(_ db: Database) throws -> State {
        guard let handle = db.sqliteConnection else { return .done }
        // Long enough for reads of milliseconds. Meanwhile no process writes.
        sqlite3_busy_timeout(handle, 20)
        let result = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
        let message = String(cString: sqlite3_errmsg(handle))
        sqlite3_busy_timeout(handle, db.configuration.busyMilliseconds)
        switch result & 0xFF {
        case SQLITE_OK: return .done
        case SQLITE_BUSY, SQLITE_LOCKED: return .awaitsReaders
        default: break
        }
        let error = StorageError(
            DatabaseError(resultCode: ResultCode(rawValue: result), message: message),
            "the log of an earlier process cannot be moved into the database")
        guard error.code == .full else { throw error }
        return .failed(error)
    }
}

extension Configuration {
    /// The busy timeout, as SQLite takes it.
    var busyMilliseconds: CInt {
        guard case .timeout(let seconds) = busyMode else { return 0 }
        return CInt(clamping: Int64(exactly: (seconds * 1_000).rounded()) ?? 0)
    }
}
