import StorageModel

/// Writes the work of many callers in one transaction, and resumes them when it is on disk.
///
/// The cost of a commit is the flush to disk and the pages written twice, not the rows: sixteen sign-ins in one commit
/// cost little more than one. The work that arrived during the last commit is the next batch; ``CommitDelay`` says when
/// work waits for more.
enum GroupCommit {
    private enum Failure {
        /// The transaction could not begin: other work would fail, too.
        case notBegun(StorageError)
        /// It was rolled back.
        case undone(StorageError)
    }

    /// Runs a batch and resumes every caller in it, none before the commit.
    ///
    /// - Parameter writeBlocker: Why nothing may be written. Works that only read succeed nevertheless.
    ///
    /// If a work fails, nothing of the batch was stored, and each work is retried in its own transaction, so that
    /// only the cause fails.
    static func run(
        _ batch: [any DatabaseWork], on connection: SQLiteConnection, unless writeBlocker: StorageError? = nil
    ) {
        guard let failure = attempt(batch, on: connection, unless: writeBlocker) else {
            for work in batch { work.succeed() }
            return
        }
        switch failure {
        case .undone where batch.count > 1: runOneByOne(batch, on: connection, unless: writeBlocker)
        case .undone(let error), .notBegun(let error):
            for work in batch { work.fail(error) }
        }
    }

    private static func runOneByOne(
        _ batch: [any DatabaseWork], on connection: SQLiteConnection, unless writeBlocker: StorageError?
    ) {
        for (place, work) in batch.enumerated() {
            switch attempt([work], on: connection, unless: writeBlocker) {
            case nil: work.succeed()
            case .undone(let error): work.fail(error)
            case .notBegun(let error):
                for work in batch[place...] { work.fail(error) }
                return
            }
        }
    }

    private static func attempt(
        _ batch: [any DatabaseWork], on connection: SQLiteConnection, unless writeBlocker: StorageError?
    ) -> Failure? {
        let db = SQLSession.sqlite(connection)
        do {
            // A failed rollback may have left a transaction open.
            if connection.isInTransaction { try CachedStatement(db, rollback).run() }
            // IMMEDIATE takes the write lock at once: a transaction that reads first could lose it to another process
            // later, when the busy timeout no longer helps.
            try CachedStatement(db, begin).run()
        } catch {
            return .notBegun(StorageError(error))
        }
        let former = connection.totalChanges
        do {
            for work in batch { try work.run(on: db) }
            if let writeBlocker, connection.totalChanges != former { throw writeBlocker }
            try CachedStatement(db, commit).run()
            return nil
        } catch {
            // After some failures, such as a full disk, SQLite has rolled back by itself.
            if connection.isInTransaction { try? CachedStatement(db, rollback).run() }
            return .undone(StorageError(error))
        }
    }

    private static let begin = SQL.numbered("BEGIN IMMEDIATE")
    private static let commit = SQL.numbered("COMMIT")
    private static let rollback = SQL.numbered("ROLLBACK")
}
