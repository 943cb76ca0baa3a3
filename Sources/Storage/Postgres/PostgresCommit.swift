import Glibc
import StorageModel

/// Writes the work of many callers in one serializable transaction, and answers them when it is committed.
///
/// Other connections and other processes write meanwhile. PostgreSQL lets transactions happen only as if one came after
/// the other, and undoes those that cannot; so all that was written for SQLite's one writer holds here, too. What was
/// undone is done again, a bounded number of times.
enum PostgresCommit {
    private enum Outcome {
        case stored
        /// There is no connection, or no transaction can be begun: other work would fare no better.
        case notBegun(StorageError)
        /// Nothing of it was stored.
        case undone(any Error)
        /// The connection was lost on the way to or from the commit.
        case unknown(StorageError)
    }

    /// Runs a batch and answers every caller in it, none before the commit.
    ///
    /// If it comes to nothing for a reason that one of its works may be to blame for, each is done again in a transaction
    /// of its own: so one that cannot be stored fails alone.
    static func run(_ batch: [any DatabaseWork], on connection: PostgresConnection) {
        var patience = Patience(isAlone: batch.count == 1)
        while true {
            switch attempt(batch, on: connection) {
            case .stored:
                for work in batch { work.succeed() }
                return
            case .notBegun(let error), .unknown(let error):
                for work in batch { work.fail(error) }
                return
            case .undone(let error):
                if patience.permits(another: error) { continue }
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
        do throws(PostgresError) {
            try connection.script("BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE")
        } catch {
            // A server that has become a standby takes no writes: another connection may lead to the one that does.
            connection.close()
            return error.isLoss ? .undone(error) : .notBegun(StorageError(error))
        }
        do {
            for work in batch { try work.run(on: .postgres(connection)) }
        } catch {
            // Where that fails the connection is closed, and the server undoes it by itself.
            try? connection.script("ROLLBACK")
            return .undone(error)
        }
        return commit(on: connection)
    }

    private static func commit(on connection: PostgresConnection) -> Outcome {
        do throws(PostgresError) {
            guard try connection.commit() else {
                return .undone(StorageError(.unavailable, reason: "the PostgreSQL server undid a transaction"))
            }
            return .stored
        } catch {
            guard error.endsConnection else { return .undone(error) }
            return .unknown(
                StorageError(
                    .unavailable,
                    reason: "whether a transaction was stored cannot be told, since its commit was not answered: "
                        + error.reason))
        }
    }

    /// How often the same is done again.
    private struct Patience {
        let isAlone: Bool
        private var collisions = 0
        private var losses = 0
        private var constraints = 0

        init(isAlone: Bool) {
            self.isAlone = isAlone
        }

        mutating func permits(another error: any Error) -> Bool {
            guard let error = error as? PostgresError else { return false }
            if error.isCollision {
                collisions += 1
                guard collisions <= (isAlone ? 12 : 3) else { return false }
                // Those who collided do not start again together.
                usleep(UInt32.random(in: 0...(500 << min(collisions, 6))))
                return true
            }
            if error.isLoss {
                losses += 1
                return losses == 1
            }
            // What another transaction has just stored is seen the next time, and then it is no failure.
            guard isAlone, error.isConstraint else { return false }
            constraints += 1
            return constraints == 1
        }
    }
}
