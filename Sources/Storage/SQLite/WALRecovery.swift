import CLatchkeySQLite
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
final class WALRecovery: @unchecked Sendable {
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
    init(_ db: SQLiteConnection) throws {
        let end = ContinuousClock.now + .milliseconds(Int64(db.busyMilliseconds))
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

    /// Of a log that a running server appends to.
    init() { (state, problemAtStart) = (.done, nil) }

    /// Why nothing may be written; nil if writes may go on. Call it before each transaction, not within one.
    func writeBlocker(_ db: SQLiteConnection) -> StorageError? {
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

    private static func settle(_ db: SQLiteConnection) throws -> State {
        do {
            // Long enough for reads of milliseconds. Meanwhile no process writes.
            try db.checkpoint(SQLITE_CHECKPOINT_TRUNCATE, busyMilliseconds: 20)
            return .done
        } catch {
            if [SQLITE_BUSY, SQLITE_LOCKED].contains(error.primaryResult) { return .awaitsReaders }
            let refusal = StorageError(error, "the log of an earlier process cannot be moved into the database")
            guard refusal.code == .full else { throw refusal }
            return .failed(refusal)
        }
    }
}
