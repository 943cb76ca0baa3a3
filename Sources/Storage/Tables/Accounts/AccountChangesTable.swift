package import Primitives
package import StorageModel

/// The table `account_changes`: when the change allowance of each user is whole again, in milliseconds.
enum AccountChangesTable {
    // One row for each user at most, of those who changed something in the last minutes.
    static let schema = """
        CREATE TABLE account_changes (
            user_id INTEGER PRIMARY KEY NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            whole_at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX account_changes_by_end ON account_changes (whole_at);
        """
}

extension SQLStore {
    package func countChange(
        of user: UserID, within allowance: SharedAllowance, at now: Timestamp
    ) async throws(StorageError) -> Int64? {
        try await writes.submit { db in
            let wholeAt = try db.first("SELECT whole_at FROM account_changes WHERE user_id = ?", user) { $0.number(0) }
            return try allowance.count(after: wholeAt, at: now) { wholeAt in
                // A user who was erased meanwhile gets no row.
                try db.perform(
                    """
                    INSERT INTO account_changes (user_id, whole_at) SELECT id, ?2 FROM users WHERE id = ?1 \
                    ON CONFLICT (user_id) DO UPDATE SET whole_at = excluded.whole_at
                    """, user, wholeAt)
            }
        }
    }
}
