import Primitives
package import StorageModel

/// The table `prompts`: when an allowance of prompts is whole again, in milliseconds. That of a user is stored under
/// the hash of the user, and a caller's half of it under ``BackchannelPrompt/userAndCaller``.
///
/// The allowances of phone verifications are here, too, under the hashes of their users and numbers.
///
/// It counts what was sent, so a cancelled or removed backchannel authentication still counts.
enum PromptsTable {
    // Rows only for users who were prompted in the last minutes or hours.
    static let schema = """
        CREATE TABLE prompts (
            user_hash BLOB PRIMARY KEY NOT NULL,
            whole_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX prompts_by_end ON prompts (whole_at)
        """

    /// Counts a prompt for its user and its caller, unless one of the two allowances is used up.
    static func count(
        _ prompt: BackchannelPrompt, at now: Timestamp, in db: SQLSession
    ) throws -> BackchannelAuthenticationAdmission {
        guard let allowance = prompt.allowance else { return .admitted }
        let ofUser = try verdict(of: allowance, prompt.user, at: now, in: db)
        let ofCaller = try verdict(of: allowance.half, prompt.userAndCaller, at: now, in: db)
        // Refused by either, it counts for neither.
        if case .refused(let seconds, let corrected) = ofCaller {
            if let corrected { try put(corrected, prompt.userAndCaller, in: db) }
            return .promptedTooOftenByCaller(secondsToWait: seconds)
        }
        if case .refused(let seconds, let corrected) = ofUser {
            if let corrected { try put(corrected, prompt.user, in: db) }
            return .promptedTooOften(secondsToWait: seconds)
        }
        if case .admitted(let wholeAt) = ofUser { try put(wholeAt, prompt.user, in: db) }
        if case .admitted(let wholeAt) = ofCaller { try put(wholeAt, prompt.userAndCaller, in: db) }
        return .admitted
    }

    /// Counts one use of an allowance for each key, unless one of them is used up.
    /// - Returns: The seconds to wait, and then nothing is counted; nil if it fits.
    static func count(
        _ keys: [TokenHash], within allowance: SharedAllowance, at now: Timestamp, in db: SQLSession
    ) throws -> Int64? {
        var uses: [(key: TokenHash, wholeAt: Int64)] = []
        for key in keys {
            switch try verdict(of: allowance, key, at: now, in: db) {
            case .refused(let seconds, let corrected):
                if let corrected { try put(corrected, key, in: db) }
                return seconds
            case .admitted(let wholeAt): uses.append((key, wholeAt))
            }
        }
        for use in uses { try put(use.wholeAt, use.key, in: db) }
        return nil
    }

    fileprivate static func takeBack(_ prompt: BackchannelPrompt, in db: SQLSession) throws {
        guard let allowance = prompt.allowance else { return }
        // A time in the past is as good as no row.
        let sql: SQL = "UPDATE prompts SET whole_at = whole_at - ? WHERE user_hash = ?"
        try db.perform(sql, allowance.interval, prompt.user)
        try db.perform(sql, allowance.half.interval, prompt.userAndCaller)
    }

    private static func verdict(
        of allowance: SharedAllowance, _ key: TokenHash, at now: Timestamp, in db: SQLSession
    ) throws -> SharedAllowance.Verdict {
        allowance.verdict(
            after: try db.first("SELECT whole_at FROM prompts WHERE user_hash = ?", key) { $0.number(0) }, at: now)
    }

    private static func put(_ wholeAt: Int64, _ key: TokenHash, in db: SQLSession) throws {
        try db.perform(
            """
            INSERT INTO prompts (user_hash, whole_at) VALUES (?, ?) \
            ON CONFLICT (user_hash) DO UPDATE SET whole_at = excluded.whole_at
            """, key, wholeAt)
    }
}

extension SQLStore {
    package func takeBack(_ prompt: BackchannelPrompt) async throws(StorageError) {
        try await writes.submit { db in try PromptsTable.takeBack(prompt, in: db) }
    }
}
