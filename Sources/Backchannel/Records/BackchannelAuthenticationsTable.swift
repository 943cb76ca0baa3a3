import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel

/// A prompt: the question on a user's phone that an authentication request to a provider causes. It counts when the
/// request is sent, and is taken back if the provider refuses the request.
struct BackchannelPrompt: Sendable, Hashable {
    /// A keyed hash of the user (`LoginHint`).
    let user: TokenHash
    let quota: PromptQuota

    /// In which allowances it counts, and what it is refused with if one is used up.
    var allowances: [(use: AllowanceUse, refusal: (Int64) -> PromptRefusal)] {
        var found: [(use: AllowanceUse, refusal: (Int64) -> PromptRefusal)] = []
        if let allowance = quota.perUser {
            found += [
                (AllowanceUse(key: userAndCaller, allowance.half), PromptRefusal.promptedTooOften),
                (AllowanceUse(key: user, allowance), PromptRefusal.promptedTooOften),
            ]
        }
        if let allowance = quota.perCaller {
            let use = AllowanceUse(key: Self.key(ofCaller: quota.caller), allowance)
            found.append((use, PromptRefusal.tooManyPromptsOfCaller))
        }
        return found
    }

    /// Under which the caller's part of the allowance is counted.
    private var userAndCaller: TokenHash {
        TokenHash(sha256Of: "prompts of \(Base64URL.encode(quota.caller.bytes)) for \(Base64URL.encode(user.bytes))")
    }

    /// Under which the prompts of a caller are counted for all users together.
    static func key(ofCaller caller: TokenHash) -> TokenHash {
        TokenHash(sha256Of: "prompts of \(Base64URL.encode(caller.bytes))")
    }
}

/// Whose prompts the requests of a call count as, and how many there may be over time.
struct PromptQuota: Sendable, Hashable {
    /// The caller for which they count: an API key, or an address where there is none.
    let caller: TokenHash
    /// How many prompts one user may get, of all callers; nil for any number. One caller may use half of it.
    var perUser: SharedAllowance?
    /// How many prompts the caller may cause at providers other than carriers, for all users together, besides those
    /// that led to a sign-in; nil for any number. Only the provider knows which hints name the same user, so that many
    /// spellings of one hint would give a user many prompts.
    var perCaller: SharedAllowance?
}

/// What became of a request for a prompt.
enum PromptOutcome: String, Sendable, CaseIterable {
    /// The provider prompts the user.
    case accepted
    case refused
    /// It was not sent, or its response cannot be used.
    case failed
    /// It was not sent: the user has enough pending requests, or was prompted too often.
    case userLimit = "user_limit"
    /// It was not sent: the caller has too many requests under way, or had too many prompts in vain.
    case callerLimit = "caller_limit"
    /// It was not sent: the provider has too many pending requests.
    case carrierLimit = "carrier_limit"
}

/// Why a request may not be sent to a provider, for the client and for the metric. Only one that is sent is counted.
struct PromptRefusal: Sendable, Hashable {
    let error: SignInError
    let outcome: PromptOutcome

    private init(_ problem: String, _ seconds: Int64, _ outcome: PromptOutcome) {
        error = SignInError(.rateLimited, .serverError, problem, retryAfter: seconds)
        self.outcome = outcome
    }

    static let tooManyOfCaller = Self(
        "This caller has too many backchannel authentications under way. Wait until some have ended.", 60, .callerLimit)

    static let tooManyPendingOfCaller = Self(
        "This caller has too many pending requests at this provider. Wait until some are answered or expire.", 30,
        .callerLimit)

    /// Of all callers, or of this one, which has a part of those that may be pending for the user.
    static let tooManyPendingForUser = Self(
        "This user has several pending requests already. Wait until one is answered or expires.", 30, .userLimit)

    static let tooManyPendingAtProvider = Self(
        "Too many users of this provider have a pending request. Wait until some are answered or expire.", 30,
        .carrierLimit)

    /// All callers together, or this one, had the user prompted as often as they may.
    static func promptedTooOften(secondsToWait seconds: Int64) -> Self {
        Self(
            "This user was prompted too often, cancelled requests included. Wait \(seconds) s, and ask only when the "
                + "user expects it.", seconds, .userLimit)
    }

    /// The caller had users prompted as often as one caller may who did not sign in.
    static func tooManyPromptsOfCaller(secondsToWait seconds: Int64) -> Self {
        Self(
            "This caller had too many users prompted who did not sign in. Wait \(seconds) s, and ask users only when "
                + "they expect it.", seconds, .callerLimit)
    }
}

/// The table `backchannel_authentications`: columns for what is searched, counted and compared, and one for the rest.
private enum BackchannelAuthenticationsTable {
    typealias Record = BackchannelAuthenticationRecord

    /// Counts the prompt of a request, if no limit of other pending records is reached.
    static func refusal(
        of record: Record, for prompt: BackchannelPrompt, limits: BackchannelSettings, at now: Timestamp,
        in db: SQLSession
    ) throws -> PromptRefusal? {
        let others = "phase = 'pending' AND expires_at > ? AND handle_hash <> ?"
        let atCarrier = "provider = ? AND network = ?"
        let (provider, network) = (record.terms.provider, record.terms.networkText)
        let (user, caller, handle) = (prompt.user, prompt.quota.caller, record.handle)
        guard
            try !exceeds(
                limits.pendingPerCaller, "\(atCarrier) AND share = ? AND \(others)", provider, network, caller, now,
                handle, in: db)
        else { return .tooManyPendingOfCaller }
        guard
            try !exceeds(limits.pendingPerUser, "user_hash = ? AND \(others)", user, now, handle, in: db),
            try !exceeds(
                limits.pendingPerUserAndCaller, "user_hash = ? AND share = ? AND \(others)", user, caller, now, handle,
                in: db)
        else { return .tooManyPendingForUser }
        guard
            try !exceeds(
                limits.pendingPerCarrier, "\(atCarrier) AND \(others)", provider, network, now, handle, in: db)
        else { return .tooManyPendingAtProvider }
        // Last, because only what is admitted counts.
        let allowances = prompt.allowances
        let refused = try PromptsTable.count(allowances.map(\.use), at: now, in: db)
        return refused.map { allowances[$0.place].refusal($0.secondsToWait) }
    }

    /// Counts no further than the limit.
    static func exceeds<each Value: SQLValue>(
        _ limit: Int, _ condition: String, _ values: repeat each Value, in db: SQLSession
    ) throws -> Bool {
        let rows = "SELECT 1 FROM backchannel_authentications WHERE \(condition) LIMIT ?"
        return try db.number("SELECT count(*) FROM (\(rows)) AS found", repeat each values, Int64(limit)) >= limit
    }

    /// Replaces all that may change of a record, if it has not changed since it was read.
    static func replace(_ record: Record, in db: SQLSession) throws -> Bool {
        try db.run(
            """
            UPDATE backchannel_authentications SET phase = ?, notification_hash = ?, expires_at = ?, removed_at = ?, \
            content = ?, revision = revision + 1 WHERE handle_hash = ? AND revision = ?
            """, record.phase.rawValue, record.notification, record.expiresAt, record.removedAt, record.content,
            record.handle, record.revision) > 0
    }

    static func record(
        _ column: StaticString, _ hash: TokenHash, at now: Timestamp, in db: SQLSession
    ) throws -> Record? {
        try db.first(
            """
            SELECT handle_hash, caller, provider, network, phase, notification_hash, expires_at, removed_at, revision, \
            content FROM backchannel_authentications WHERE \(column) = ? AND removed_at > ?
            """, hash, now
        ) { row in
            guard let record = try Record(row) else {
                throw StorageError(.corrupt, reason: "a backchannel authentication is unreadable")
            }
            return record
        }
    }
}

extension BackchannelAuthenticationRecord.Terms {
    fileprivate var networkText: String { network?.text ?? "" }
}

extension SQLStore {
    /// Stores a new backchannel authentication and counts the prompt of its first request, unless a limit is reached.
    func addBackchannelAuthentication(
        _ record: BackchannelAuthenticationRecord, for prompt: BackchannelPrompt,
        limits: BackchannelSettings, at now: Timestamp
    ) async throws(StorageError) -> PromptRefusal? {
        try await writes.submit(locking: PromptsTable.locks) { db in
            typealias Table = BackchannelAuthenticationsTable
            guard try !Table.exceeds(limits.perCaller, "caller = ? AND removed_at > ?", record.caller, now, in: db)
            else { return .tooManyOfCaller }
            let refusal = try Table.refusal(of: record, for: prompt, limits: limits, at: now, in: db)
            guard refusal == nil else { return refusal }
            try db.perform(
                """
                INSERT INTO backchannel_authentications (handle_hash, caller, provider, network, user_hash, share, \
                phase, notification_hash, expires_at, removed_at, content, revision) \
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)
                """, record.handle, record.caller, record.terms.provider, record.terms.networkText, prompt.user,
                prompt.quota.caller, record.phase.rawValue, record.notification, record.expiresAt, record.removedAt,
                record.content)
            return nil
        }
    }

    /// Counts the prompt of a further request of a stored backchannel authentication, unless a limit is reached. The
    /// record itself does not change.
    func admitBackchannelRequest(
        of record: BackchannelAuthenticationRecord, for prompt: BackchannelPrompt,
        limits: BackchannelSettings, at now: Timestamp
    ) async throws(StorageError) -> PromptRefusal? {
        try await writes.submit(locking: PromptsTable.locks) { db in
            try BackchannelAuthenticationsTable.refusal(of: record, for: prompt, limits: limits, at: now, in: db)
        }
    }

    /// Counts a prompt no longer: the user did not see it.
    func takeBack(_ prompt: BackchannelPrompt) async throws(StorageError) {
        try await writes.submit { db in
            for (use, _) in prompt.allowances { try PromptsTable.takeBack(use, in: db) }
        }
    }

    /// The record of a handle; nil if unknown or removed at `now`.
    func backchannelAuthentication(handle: TokenHash, at now: Timestamp) async throws(StorageError)
        -> BackchannelAuthenticationRecord?
    {
        try await reads.submit { db in
            try BackchannelAuthenticationsTable.record("handle_hash", handle, at: now, in: db)
        }
    }

    /// The record whose latest attempt has this notification token; nil if unknown or removed at `now`.
    func backchannelAuthentication(notification: TokenHash, at now: Timestamp) async throws(StorageError)
        -> BackchannelAuthenticationRecord?
    {
        try await reads.submit { db in
            try BackchannelAuthenticationsTable.record("notification_hash", notification, at: now, in: db)
        }
    }

    /// Replaces a record and increments its revision. False, and nothing is written, if it changed since it was read.
    func replaceBackchannelAuthentication(_ record: BackchannelAuthenticationRecord) async throws(StorageError)
        -> Bool
    {
        try await writes.submit { db in try BackchannelAuthenticationsTable.replace(record, in: db) }
    }

    /// Replaces a record and signs its user in, in one transaction.
    /// - Parameter allowance: The ``PromptQuota/perCaller`` in which the prompt counts no longer, because
    ///   the user approved it; nil to leave it.
    func endBackchannelAuthentication(
        _ record: BackchannelAuthenticationRecord, with signIn: SignInRecord, givingBackTo allowance: SharedAllowance?
    ) async throws(StorageError) -> BackchannelAuthenticationEnding {
        try await writes.submit(locking: signIn.locks) { db in
            guard try BackchannelAuthenticationsTable.replace(record, in: db) else { return .changed }
            if let allowance,
                let caller = try db.first(
                    "SELECT share FROM backchannel_authentications WHERE handle_hash = ?", record.handle,
                    read: { try $0.hash(0) })
            {
                try PromptsTable.takeBack(
                    AllowanceUse(key: BackchannelPrompt.key(ofCaller: caller), allowance), in: db)
            }
            guard let (user, endings) = try Self.user(for: signIn, in: db) else { return .unknownUser }
            // The session of the first response, and how many sessions of the user had been ended then.
            let first = try db.first(
                """
                SELECT session_id, sessions_ended FROM backchannel_authentications \
                WHERE handle_hash = ? AND session_id IS NOT NULL
                """, record.handle
            ) { (session: try $0.text(0), endings: $0.number(1)) }
            var signedIn = user
            if let first {
                guard first.endings == endings, try SessionsTable.holds(first.session, of: user.user.id, in: db) else {
                    return .sessionEnded
                }
                signedIn.isNew = try SessionsTable.isFirst(first.session, of: user.user.id, in: db)
            }
            try Self.addSession(of: signIn, for: user, in: db)
            try db.perform(
                """
                UPDATE backchannel_authentications SET session_id = ?, sessions_ended = ? \
                WHERE handle_hash = ? AND session_id IS NULL
                """, signIn.session.id, endings, record.handle)
            return .signedIn(signedIn)
        }
    }
}
