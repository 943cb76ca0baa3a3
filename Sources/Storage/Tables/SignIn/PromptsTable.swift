package import Primitives
package import StorageModel

/// The table `prompts`: when an allowance is whole again, in milliseconds, by ``AllowanceUse/key``. It has the
/// allowances of prompts by backchannel authentication, of phone verifications, and of changes of accounts.
///
/// It counts what was sent, so a cancelled or removed backchannel authentication still counts.
package enum PromptsTable {
    // Rows only for users who were prompted in the last minutes or hours.
    static let schema = """
        CREATE TABLE prompts (
            user_hash BLOB PRIMARY KEY NOT NULL,
            whole_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX prompts_by_end ON prompts (whole_at)
        """

    /// What a write locks that counts uses: their rows may not exist yet.
    package static let locks = [WriteLock.rule("prompts")]

    /// Counts one use of each allowance, unless one of them is used up. For writes with the ``locks``.
    /// - Returns: The place of the allowance that is used up, and the seconds to wait; then nothing is counted. Nil if
    ///   all fit.
    package static func count(
        _ uses: [AllowanceUse], at now: Timestamp, in db: SQLSession
    ) throws -> (place: Int, secondsToWait: Int64)? {
        var admitted: [(key: TokenHash, wholeAt: Int64)] = []
        for (place, use) in uses.enumerated() {
            // A use may be taken back meanwhile.
            switch try verdict(of: use, at: now, db.locking(wholeAt), in: db) {
            // Refused by one of them, it counts for none.
            case .refused(let seconds, let corrected):
                if let corrected { try put(corrected, use.key, in: db) }
                return (place, seconds)
            case .admitted(let wholeAt): admitted.append((use.key, wholeAt))
            }
        }
        for use in admitted { try put(use.wholeAt, use.key, in: db) }
        return nil
    }

    /// Takes back one use of an allowance.
    package static func takeBack(_ use: AllowanceUse, in db: SQLSession) throws {
        // A time in the past is as good as no row.
        try db.perform(
            "UPDATE prompts SET whole_at = whole_at - ? WHERE user_hash = ?", use.allowance.interval, use.key)
    }

    fileprivate static func verdict(
        of use: AllowanceUse, at now: Timestamp, _ query: SQL = wholeAt, in db: SQLSession
    ) throws -> SharedAllowance.Verdict {
        use.allowance.verdict(after: try db.first(query, use.key) { $0.number(0) }, at: now)
    }

    private static let wholeAt: SQL = "SELECT whole_at FROM prompts WHERE user_hash = ?"

    private static func put(_ wholeAt: Int64, _ key: TokenHash, in db: SQLSession) throws {
        try db.perform(
            """
            INSERT INTO prompts (user_hash, whole_at) VALUES (?, ?) \
            ON CONFLICT (user_hash) DO UPDATE SET whole_at = excluded.whole_at
            """, key, wholeAt)
    }
}

extension SQLStore {
    package func count(
        _ uses: [AllowanceUse], at now: Timestamp
    ) async throws(StorageError) -> Int64? {
        try await writes.submit(locking: PromptsTable.locks) { db in
            try PromptsTable.count(uses, at: now, in: db)?.secondsToWait
        }
    }

    package func wait(
        for uses: [AllowanceUse], at now: Timestamp
    ) async throws(StorageError) -> Int64? {
        try await reads.submit { db in
            for use in uses {
                if case .refused(let seconds, _) = try PromptsTable.verdict(of: use, at: now, in: db) { return seconds }
            }
            return nil
        }
    }
}
