public import Primitives
public import StorageModel

/// The table `account_changes`: of each user who changed something a moment ago, until when that counts.
enum AccountChangesTable {
    /// Counts a change.
    /// - Returns: For how many seconds to wait, and then nothing was counted; nil if there is room for it.
    static func count(
        _ user: UserID, within allowance: ChangeAllowance, at now: Timestamp, in db: SQLSession
    ) throws -> Int64? {
        switch allowance.verdict(after: try wholeAt(user, in: db), at: now) {
        case .refused(let seconds, let corrected):
            if let corrected { try keep(corrected, of: user, in: db) }
            return seconds
        case .admitted(let wholeAt):
            try keep(wholeAt, of: user, in: db)
            return nil
        }
    }

    private static func keep(_ wholeAt: Int64, of user: UserID, in db: SQLSession) throws {
        var statement = try CachedStatement(db, put)
        statement.bind(user.number)
        statement.bind(wholeAt)
        try statement.run()
    }

    private static func wholeAt(_ user: UserID, in db: SQLSession) throws -> Int64? {
        var query = try CachedStatement(db, "SELECT whole_at FROM account_changes WHERE user_id = ?")
        query.bind(user.number)
        return try query.next() ? query.number(0) : nil
    }

    // A user who was erased meanwhile gets no row.
    private static let put = """
        INSERT INTO account_changes (user_id, whole_at) SELECT id, ?2 FROM users WHERE id = ?1 \
        ON CONFLICT (user_id) DO UPDATE SET whole_at = excluded.whole_at
        """

    // One row for each user at most, of those who changed something in the last minutes; in milliseconds.
    static let schema = """
        CREATE TABLE account_changes (
            user_id INTEGER PRIMARY KEY NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            whole_at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX account_changes_by_end ON account_changes (whole_at);
        """
}

extension SQLStore {
    public func countChange(
        of user: UserID, within allowance: ChangeAllowance, at now: Timestamp
    ) async throws(StorageError) -> Int64? {
        try await writes.submit { db in try AccountChangesTable.count(user, within: allowance, at: now, in: db) }
    }
}
