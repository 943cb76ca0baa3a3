import Glibc
import Storage
import StorageModel

/// Writes the work of many callers in one serializable transaction, and resumes them when it is committed.
///
/// Other connections and processes write at the same time. PostgreSQL commits serializable transactions only if their
/// effect is as of one after the other, and rolls the rest back; so code written for SQLite's single writer is
/// correct here, too. A transaction that was rolled back is retried a bounded number of times.
enum PostgresCommit {
    private enum Outcome {
        case stored
        /// There is no connection, or no transaction can begin: other work would fail, too.
        case notBegun(StorageError)
        /// Nothing of it was stored.
        case undone(any Error)
        /// The commit was sent, and its outcome is not known.
        case unknown(StorageError)
    }

    /// Runs a batch and resumes every caller in it, none before the commit.
    ///
    /// If it fails and one work may be the cause, each work is retried in its own transaction, so that only the
    /// cause fails.
    ///
    /// Works that write the same row, such as the sign-outs of one user, collide again and again: each commit undoes
    /// all the others that run. So a work that has collided by itself takes a lock for its retries. Those that have
    /// collided take turns then, and one of them competes only with works that have not collided yet. The lock is not
    /// needed for correctness: if somebody else does not give it back, works go on without it.
    static func run(_ batch: [any DatabaseWork], on connection: PostgresConnection) {
        var holdsRetryLock = false
        defer { if holdsRetryLock { connection.endTurn() } }
        var patience = RetryPolicy(isAlone: batch.count == 1)
        while true {
            switch attempt(batch, on: connection) {
            case .stored:
                for work in batch { work.succeed() }
                return
            case .notBegun(let error), .unknown(let error):
                for work in batch { work.fail(error) }
                return
            case .undone(let error):
                if patience.permits(another: error) {
                    if patience.asksForRetryLock, !holdsRetryLock { holdsRetryLock = connection.acquireRetryLock() }
                    patience.pause(holdsRetryLock: holdsRetryLock)
                    continue
                }
                guard batch.count > 1, (error as? PostgresError)?.isSilence != true else {
                    for work in batch { work.fail(StorageError(error)) }
                    return
                }
                for work in batch { run([work], on: connection) }
                return
            }
        }
    }

    private static func attempt(_ batch: [any DatabaseWork], on connection: PostgresConnection) -> Outcome {
        do throws(PostgresError) {
            try connection.connect()
        } catch {
            return .notBegun(StorageError(error))
        }
        do {
            try connection.begin()
            for work in batch { try work.run(on: .postgres(connection)) }
            guard try connection.commit() else {
                return .undone(StorageError(.unavailable, reason: "the PostgreSQL server rolled a transaction back"))
            }
            return .stored
        } catch {
            return outcome(of: error, on: connection)
        }
    }

    private static func outcome(of failure: any Error, on connection: PostgresConnection) -> Outcome {
        if let error = failure as? PostgresError {
            if error.mayBeCommitted {
                return .unknown(
                    StorageError(
                        .unavailable,
                        reason: "it is unknown whether a transaction was stored, because its commit was not confirmed: "
                            + error.reason))
            }
            if error.isOfBegin {
                // A server that has become a standby refuses writes: a new connection may reach the primary.
                connection.close()
                return error.isLoss ? .undone(error) : .notBegun(StorageError(error))
            }
        }
        connection.rollBack()
        return .undone(failure)
    }

    /// How often a transaction is retried.
    private struct RetryPolicy {
        let isAlone: Bool
        private var collisions = 0
        private var losses = 0
        private var constraints = 0

        init(isAlone: Bool) { self.isAlone = isAlone }

        /// Whether it has collided so often that retries take turns. It asks now and then, because each time it may
        /// wait in vain.
        var asksForRetryLock: Bool { isAlone && collisions % 24 == 2 }

        /// Waits after a collision. Transactions that collided do not restart together, and one that has its turn
        /// restarts at once.
        func pause(holdsRetryLock: Bool) {
            guard collisions > 0, !holdsRetryLock else { return }
            usleep(UInt32.random(in: 0...(500 << min(collisions, 6))))
        }

        mutating func permits(another error: any Error) -> Bool {
            guard let error = error as? PostgresError else { return false }
            if error.isCollision {
                collisions += 1
                return collisions <= (isAlone ? 100 : 3)
            }
            if error.isLoss {
                losses += 1
                return losses == 1
            }
            // A retry sees what the other transaction stored, and then does not fail.
            guard isAlone, error.isConstraint else { return false }
            constraints += 1
            return constraints == 1
        }
    }
}

extension PostgresConnection {
    // The letters of "turntake". All processes on one database share the lock.
    private static let turn = "8391739299399297893"

    /// Waits for a session's lock for at most a second, because its holder may hang or be an administrator. False if
    /// the server does not give the lock.
    fileprivate func acquireRetryLock() -> Bool {
        do throws(PostgresError) {
            // For these two statements only, which the server runs as one transaction. The lock outlives it.
            try perform("SELECT set_config('lock_timeout', '1s', true)", PostgresParameters())
            _ = try run("SELECT pg_advisory_lock(\(Self.turn))")
            return true
        } catch {
            // Of any other failure it is not known whether it came before the lock. Without its connection there is
            // none.
            if !error.isLockTimeout { close() }
            return false
        }
    }

    /// Gives the lock back. A connection that breaks has none.
    fileprivate func endTurn() {
        guard descriptor != nil else { return }
        do throws(PostgresError) {
            _ = try run("SELECT pg_advisory_unlock(\(Self.turn))")
        } catch {
            close()
        }
    }
}
