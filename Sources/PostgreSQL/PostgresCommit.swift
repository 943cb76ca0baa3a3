import Storage
import StorageModel

/// Writes the work of many callers in one transaction, and resumes them when it is committed.
///
/// Other connections and processes write at the same time. What keeps the rules nevertheless is in ``WriteLock``. A
/// transaction that was rolled back because of another one is retried a bounded number of times.
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
    /// cause fails. Those that wait for the lock of another transaction come last, and share the time for that, so that
    /// they do not hold up the next batch for long.
    static func run(_ batch: [any DatabaseWork], on connection: PostgresConnection) {
        let time = connection.configuration.statementTimeout.milliseconds
        let held = run(batch, lockTimeout: time / 10, on: connection)
        for work in held {
            _ = run([work], lockTimeout: max(50, 2 * time / 5 / Int64(held.count)), isLast: true, on: connection)
        }
    }

    /// - Parameters:
    ///   - lockTimeout: For how many milliseconds a statement waits for a lock.
    ///   - isLast: Whether one that waited so long fails.
    /// - Returns: The works that another transaction's locks hold up, and whose callers still wait.
    private static func run(
        _ batch: [any DatabaseWork], lockTimeout: Int64, isLast: Bool = false, on connection: PostgresConnection
    ) -> [any DatabaseWork] {
        var policy = RetryPolicy(isAlone: batch.count == 1)
        while true {
            switch attempt(batch, lockTimeout, sharing: !policy.wasConflict, on: connection) {
            case .stored:
                for work in batch { work.succeed() }
                return []
            case .notBegun(let error), .unknown(let error):
                for work in batch { work.fail(error) }
                return []
            case .undone(let error):
                if policy.permits(another: error) { continue }
                let failure = error as? PostgresError
                if batch.count == 1, !isLast, failure?.isLockTimeout == true { return batch }
                guard batch.count > 1, failure?.isSilence != true else {
                    for work in batch { work.fail(StorageError(error)) }
                    return []
                }
                return batch.flatMap { run([$0], lockTimeout: 50, on: connection) }
            }
        }
    }

    /// - Parameter sharing: Whether sign-ins share statements.
    private static func attempt(
        _ batch: [any DatabaseWork], _ lockTimeout: Int64, sharing: Bool, on connection: PostgresConnection
    ) -> Outcome {
        do throws(PostgresError) {
            try connection.connect()
        } catch {
            return .notBegun(StorageError(error))
        }
        do {
            try connection.begin()
            try connection.perform("SET LOCAL lock_timeout = \(lockTimeout)", PostgresParameters())
            let signIns = batch.compactMap { $0.shared as? BatchedSignIn }
            // The transaction may run again.
            for signIn in signIns { signIn.output = nil }
            // The statement of sign-ins takes their locks in the same order.
            if batch.contains(where: { !(sharing && $0.shared is BatchedSignIn) && !$0.locks.isEmpty }) {
                try connection.lock(batch.flatMap(\.locks))
            }
            if sharing { try SignInBatch.run(signIns, on: connection) }
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
        /// Whether a row existed already or no more. Then sign-ins run by themselves: their own statements find what
        /// another transaction has stored.
        private(set) var wasConflict = false

        init(isAlone: Bool) { self.isAlone = isAlone }

        mutating func permits(another error: any Error) -> Bool {
            guard let error = error as? PostgresError else { return false }
            if error.isLoss {
                losses += 1
                return losses == 1
            }
            if error.isConstraint {
                defer { wasConflict = true }
                return !wasConflict
            }
            guard isAlone, error.isCollision else { return false }
            collisions += 1
            return collisions <= 10
        }
    }
}
