import Primitives
package import StorageModel

/// The table `prompts`: when an allowance of prompts is whole again, in milliseconds. That of a user is stored under
/// the hash of the user, a caller's half of it under ``BackchannelPrompt/userAndCaller``, and that of a caller for all
/// users under ``BackchannelPrompt/key(ofCaller:)``.
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

    /// Counts a prompt for its user and its caller, unless one of the allowances is used up.
    static func count(
        _ prompt: BackchannelPrompt, at now: Timestamp, in db: SQLSession
    ) throws -> BackchannelAuthenticationAdmission {
        let allowances = allowances(of: prompt)
        let refused = try count(allowances.map { ($0.key, $0.allowance) }, at: now, in: db)
        return refused.map { allowances[$0.place].refusal($0.secondsToWait) } ?? .admitted
    }

    private typealias Refusal = (_ secondsToWait: Int64) -> BackchannelAuthenticationAdmission

    /// In which allowances a prompt counts, and what it is refused with if one is used up.
    private static func allowances(
        of prompt: BackchannelPrompt
    ) -> [(key: TokenHash, allowance: SharedAllowance, refusal: Refusal)] {
        var found: [(key: TokenHash, allowance: SharedAllowance, refusal: Refusal)] = []
        if let allowance = prompt.allowance {
            found += [
                (prompt.userAndCaller, allowance.half, { .promptedTooOftenByCaller(secondsToWait: $0) }),
                (prompt.user, allowance, { .promptedTooOften(secondsToWait: $0) }),
            ]
        }
        if let allowance = prompt.callerAllowance {
            let key = BackchannelPrompt.key(ofCaller: prompt.caller)
            found.append((key, allowance, { .tooManyPromptsOfCaller(secondsToWait: $0) }))
        }
        return found
    }

    /// Counts one use of each allowance, unless one of them is used up.
    /// - Returns: The seconds to wait, and then nothing is counted; nil if it fits.
    static func count(_ uses: [AllowanceUse], at now: Timestamp, in db: SQLSession) throws -> Int64? {
        try count(uses.map { ($0.key, $0.allowance) }, at: now, in: db)?.secondsToWait
    }

    /// - Returns: Which allowance is used up; nil if none is.
    private static func count(
        _ uses: [(key: TokenHash, allowance: SharedAllowance)], at now: Timestamp, in db: SQLSession
    ) throws -> (place: Int, secondsToWait: Int64)? {
        var admitted: [(key: TokenHash, wholeAt: Int64)] = []
        for (place, use) in uses.enumerated() {
            switch try verdict(of: use.allowance, use.key, at: now, in: db) {
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

    /// What ``count(_:at:in:)`` would return; nothing is written.
    static func wait(for uses: [AllowanceUse], at now: Timestamp, in db: SQLSession) throws -> Int64? {
        for use in uses {
            if case .refused(let seconds, _) = try verdict(of: use.allowance, use.key, at: now, in: db) {
                return seconds
            }
        }
        return nil
    }

    fileprivate static func takeBack(_ prompt: BackchannelPrompt, in db: SQLSession) throws {
        for (key, allowance, _) in allowances(of: prompt) { try takeBack(key, from: allowance, in: db) }
    }

    /// Takes back one use of an allowance.
    static func takeBack(_ key: TokenHash, from allowance: SharedAllowance, in db: SQLSession) throws {
        // A time in the past is as good as no row.
        try db.perform("UPDATE prompts SET whole_at = whole_at - ? WHERE user_hash = ?", allowance.interval, key)
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
