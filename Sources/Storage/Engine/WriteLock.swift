public import StorageModel

/// What a write locks before its first statement, in a database that several connections write to.
///
/// Such a database runs writes at the isolation level READ COMMITTED: each statement sees what was committed before it,
/// and what it saw may change before the write commits. A unique index, or the condition of an UPDATE, DELETE or INSERT
/// keeps most rules nevertheless. A write that decides by what it has read needs a lock, which every other write that
/// may change the answer takes, too. It waits for those that have the lock, and its first statement sees their effect.
///
/// SQLite has one writer at a time, and needs none of this.
public enum WriteLock: Sendable {
    /// A rule that no row stands for, by a name that has no other use, such as `api keys`.
    case rule(String)
    /// The row of a user. What ends sessions of a user or changes the user's identities has it, and so does a sign-in.
    case user(UserID)
    /// The row of the user of an identity, if there is one. The identity may get another user before the lock is given.
    case holder(issuer: String, subject: String)
    /// The rule that one user has a number that a network proved, and the rows of the users who have it as verified.
    case phoneNumber(String)

    package static func holder(of identity: Identity) -> WriteLock {
        .holder(issuer: identity.issuer, subject: identity.subject)
    }
}

extension SQLSession {
    /// Takes locks that could not be named before the write began, until the transaction ends.
    package func lock(_ locks: [WriteLock]) throws {
        guard case .postgres(let connection) = engine else { return }
        try connection.lock(locks)
    }

    /// A query that locks the rows it finds until the transaction ends, so that what it finds stays true. A row that
    /// was changed meanwhile is left out, if it does not fit any more.
    /// - Parameter tables: Whose rows; nil for all.
    package func locking(_ query: SQL, _ tables: StaticString? = nil) -> SQL {
        guard isPostgres else { return query }
        return SQL("\(query.text) FOR NO KEY UPDATE\(tables.map { " OF \($0)" } ?? "")")
    }
}
