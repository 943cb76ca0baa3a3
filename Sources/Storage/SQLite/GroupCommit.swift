import GRDB
import StorageModel

/// Writes the work of many callers in one transaction, and answers them when it is on disk.
///
/// The cost of a commit is the flush to disk and the pages written twice, not the rows: so sixteen sign-ins in one
/// commit cost little more than one. Nobody is kept waiting for company: the work that came while the last commit ran
/// makes the next batch.
enum GroupCommit {
    private enum Failure {
        /// The transaction could not begin: other work would fare no better.
        case notBegun(StorageError)
        /// It was rolled back.
        case undone(StorageError)
    }

    /// Runs a batch and answers every caller in it, none before the commit.
    ///
    /// If anything fails, nothing of the batch was stored, and each work is done again in a transaction of its own: so
    /// one that cannot be stored fails alone.
    static func run(_ batch: [any DatabaseWork], on db: Database) {
        guard let failure = attempt(batch, on: db) else {
            for work in batch { work.succeed() }
            return
        }
        switch failure {
        case .undone where batch.count > 1: runOneByOne(batch, on: db)
        case .undone(let error), .notBegun(let error):
            for work in batch { work.fail(error) }
        }
    }

    private static func runOneByOne(_ batch: [any DatabaseWork], on db: Database) {
        var obstacle: StorageError?
        for work in batch {
            if let obstacle {
                work.fail(obstacle)
                continue
            }
            switch attempt([work], on: db) {
            case nil: work.succeed()
            case .undone(let error): work.fail(error)
            case .notBegun(let error):
                work.fail(error)
                obstacle = error
            }
        }
    }

    private static func attempt(_ batch: [any DatabaseWork], on db: Database) -> Failure? {
        do {
            // A rollback that failed may have left a transaction open.
            if db.isInsideTransaction { try CachedStatement(.sqlite(db), "ROLLBACK").run() }
            // IMMEDIATE takes the write lock at once: a transaction that first reads could lose the race for it to
            // another process later, when waiting no longer helps.
            try CachedStatement(.sqlite(db), "BEGIN IMMEDIATE").run()
        } catch {
            return .notBegun(StorageError(error))
        }
        do {
            for work in batch { try work.run(on: .sqlite(db)) }
            try CachedStatement(.sqlite(db), "COMMIT").run()
            return nil
        } catch {
            // After some failures (a full disk among them) SQLite has rolled back by itself.
            if db.isInsideTransaction { try? CachedStatement(.sqlite(db), "ROLLBACK").run() }
            return .undone(StorageError(error))
        }
    }
}
