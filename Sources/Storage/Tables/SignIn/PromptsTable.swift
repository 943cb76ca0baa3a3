import Primitives
import StorageModel

/// The table `prompts`: when the allowance of requests that ask one user is whole again, in milliseconds.
///
/// It counts what was sent, so a cancelled or removed backchannel authentication still counts.
enum PromptsTable {
    // One row for each user who was asked in the last minutes or hours, under a keyed hash.
    static let schema = """
        CREATE TABLE prompts (
            user_hash BLOB PRIMARY KEY NOT NULL,
            whole_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX prompts_by_end ON prompts (whole_at)
        """

    /// Counts a request.
    /// - Returns: The seconds to wait if the user was asked too often, and then it is not counted; nil if it fits.
    static func count(_ prompt: BackchannelPrompt, at now: Timestamp, in db: SQLSession) throws -> Int64? {
        guard let allowance = prompt.allowance else { return nil }
        let wholeAt = try db.first("SELECT whole_at FROM prompts WHERE user_hash = ?", prompt.user) { $0.number(0) }
        return try allowance.count(after: wholeAt, at: now) { wholeAt in
            try db.perform(
                """
                INSERT INTO prompts (user_hash, whole_at) VALUES (?, ?) \
                ON CONFLICT (user_hash) DO UPDATE SET whole_at = excluded.whole_at
                """, prompt.user, wholeAt)
        }
    }
}
