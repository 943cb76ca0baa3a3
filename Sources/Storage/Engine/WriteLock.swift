public import StorageModel

/// What a write locks before its first statement, in a database that several connections write to.
///
/// Such a database runs writes at the isolation level READ COMMITTED: each statement sees what was committed before it,
/// and what it saw may change before the write commits. A unique index, or the condition of an UPDATE, DELETE or INSERT
/// keeps most rules nevertheless. A write that decides by what it has read needs a lock, which every other write that
/// may change the answer takes, too. It waits for those that have the lock, and its first statement sees their effect.
///
/// SQLite has one writer at a time, and needs none of this.
public enum WriteLock: Sendable, Hashable {
    /// A rule that no row stands for, by a name that has no other use, such as `api keys`.
    case rule(String)
    /// The row of a user. What ends sessions of a user or changes the user's identities has it, and so does a sign-in.
    case user(UserID)

    /// Takes locks until the transaction ends. In one order, so that transactions do not wait for each other's locks.
    package static func take(_ locks: some Sequence<WriteLock>, in db: SQLSession) throws {
        for lock in Set(locks).sorted(by: { $0.isBefore($1) }) { try lock.take(in: db) }
    }

    /// Takes a lock that could not be named before the write began.
    package func take(in db: SQLSession) throws {
        guard db.isPostgres else { return }
        switch self {
        // The schema, because a database may have the tables of several services.
        case .rule(let name):
            try db.perform("SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' ' || ?, 0))", name)
        case .user(let user): try db.perform("SELECT 1 FROM users WHERE id = ? FOR NO KEY UPDATE", user)
        }
    }

    private func isBefore(_ other: WriteLock) -> Bool {
        switch (self, other) {
        case (.rule(let first), .rule(let second)): first < second
        case (.rule, .user): true
        case (.user, .rule): false
        case (.user(let first), .user(let second)): first.number < second.number
        }
    }
}

extension SQLSession {
    /// A query that locks the rows it finds until the transaction ends, so that what it finds stays true. A row that
    /// was changed meanwhile is left out, if it does not fit any more.
    /// - Parameter tables: Whose rows; nil for all.
    package func locking(_ query: SQL, _ tables: StaticString? = nil) -> SQL {
        guard isPostgres else { return query }
        return SQL("\(query.text) FOR NO KEY UPDATE\(tables.map { " OF \($0)" } ?? "")")
    }
}
