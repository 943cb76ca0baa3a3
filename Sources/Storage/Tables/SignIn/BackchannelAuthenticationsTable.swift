package import Primitives
package import StorageModel

/// The table `async_sign_ins`.
enum BackchannelAuthenticationsTable {
    typealias Record = BackchannelAuthenticationRecord

    /// Counts the prompt of a request, if no limit of other pending records is reached.
    fileprivate static func admit(
        _ record: Record, for prompt: BackchannelPrompt, limits: BackchannelAuthenticationLimits, at now: Timestamp,
        in db: SQLSession
    ) throws -> BackchannelAuthenticationAdmission {
        let others = "phase = 'waiting' AND expires_at > ? AND handle_hash <> ?"
        let atCarrier = "provider = ? AND network = ?"
        let (provider, network) = (record.terms.provider, record.terms.network)
        if try exceeds(
            limits.pendingPerCaller, "\(atCarrier) AND share = ? AND \(others)", provider, network, prompt.caller,
            now, record.handle, in: db)
        {
            return .tooManyPendingOfCaller
        }
        if try exceeds(
            limits.pendingPerUser, "user_hash = ? AND \(others)", prompt.user, now, record.handle, in: db)
        {
            return .tooManyPendingForUser
        }
        if try exceeds(
            limits.pendingPerUserAndCaller, "user_hash = ? AND share = ? AND \(others)", prompt.user, prompt.caller,
            now, record.handle, in: db)
        {
            return .tooManyPendingForUserOfCaller
        }
        if try exceeds(
            limits.pendingPerCarrier, "\(atCarrier) AND \(others)", provider, network, now, record.handle, in: db)
        {
            return .tooManyPendingAtProvider
        }
        // Last, because only what is admitted counts.
        return try PromptsTable.count(prompt, at: now, in: db)
    }

    /// The caller for which the prompt of a request counts.
    fileprivate static func promptCaller(of handle: TokenHash, in db: SQLSession) throws -> TokenHash? {
        try db.first("SELECT share FROM async_sign_ins WHERE handle_hash = ?", handle) { $0.optionalHash(0) } ?? nil
    }

    /// Counts no further than the limit.
    fileprivate static func exceeds<each Value: SQLValue>(
        _ limit: Int, _ condition: String, _ values: repeat each Value, in db: SQLSession
    ) throws -> Bool {
        let rows = "SELECT 1 FROM async_sign_ins WHERE \(condition) LIMIT ?"
        return try db.number("SELECT count(*) FROM (\(rows)) AS found", repeat each values, Int64(limit)) >= limit
    }

    /// Replaces all that may change of a record, if it has not changed since it was read.
    fileprivate static func replace(_ record: Record, in db: SQLSession) throws -> Bool {
        try db.run(update, State(record: record), record.handle, record.revision) > 0
    }

    /// The columns that change.
    fileprivate struct State: SQLValue {
        let record: Record

        func bind(to statement: inout CachedStatement) {
            statement.bind(
                record.phase.rawValue, record.attempt, record.notification, record.carrierRequest, record.failure,
                record.identity?.issuer, record.identity?.subject, record.profile, record.expiresAt, record.removedAt,
                PortedIdentity.text(of: record.portedFrom), record.verified, record.claims,
                record.polling?.mode.rawValue, record.polling?.sealedRequest, record.polling?.interval,
                record.polling?.nextAt, record.polling?.busyUntil, record.polling.map { $0.isNotified ? Int64(1) : 0 })
        }
    }

    fileprivate static func record(
        _ column: StaticString, _ hash: TokenHash, at now: Timestamp, in db: SQLSession
    ) throws -> Record? {
        try db.first("\(select) WHERE \(column) = ? AND removed_at > ?", hash, now) { row in
            var terms = Record.Terms(
                provider: try row.text(2), clientID: try row.text(3), network: try row.text(4),
                redirectURI: try row.text(5), scope: try row.text(6), loginHint: Secret(try row.text(7)),
                correlationID: try row.text(12))
            terms.acrValues = row.optionalText(8)
            terms.context = row.optionalText(9)
            terms.prompt = row.optionalText(10)
            terms.options = row.optionalText(11)
            var record = Record(
                handle: try row.hash(0), caller: try row.hash(1), terms: terms, notification: try row.hash(15),
                expiresAt: row.time(27), removedAt: row.time(28))
            guard let phase = Record.Phase(rawValue: try row.text(13)) else {
                throw StorageError(.corrupt, reason: "a backchannel authentication has an unknown phase")
            }
            record.phase = phase
            record.attempt = row.number(14)
            record.carrierRequest = row.optionalHash(16)
            record.failure = row.optionalText(17)
            if !row.isNull(18), !row.isNull(19) { record.identity = try row.identity(from: 18) }
            record.profile = row.profile(from: 20)
            record.portedFrom = try PortedIdentity.all(in: row.optionalText(29))
            record.verified = row.verifiedFlags(from: 30)
            record.claims = row.optionalText(32)
            record.polling = try polling(row, from: 33)
            record.revision = row.number(39)
            return record
        }
    }

    /// The columns from `poll_mode` on, the first of which is `first`; nil without a mode.
    private static func polling(_ row: borrowing CachedStatement, from first: CInt) throws -> TokenPolling? {
        guard let text = row.optionalText(first) else { return nil }
        guard let mode = TokenPolling.Mode(rawValue: text) else {
            throw StorageError(.corrupt, reason: "a backchannel authentication has an unknown mode of polling")
        }
        var polling = TokenPolling(mode: mode, interval: row.number(first + 2), nextAt: row.time(first + 3))
        polling.sealedRequest = row.isNull(first + 1) ? nil : row.blob(first + 1)
        polling.busyUntil = row.optionalTime(first + 4)
        polling.isNotified = row.number(first + 5) != 0
        return polling
    }

    private static let state =
        ["phase", "attempt", "notification_hash", "carrier_request_hash", "failure", "issuer", "subject"]
        + UserAttribute.columns + ["expires_at", "removed_at", "ported_from"] + VerifiedFlags.columns
        + ["provider_claims", "poll_mode", "provider_request", "poll_interval", "next_poll_at", "polling_until"]
        + ["is_notified"]
    private static let columns =
        [
            "handle_hash", "caller", "provider", "client_id", "network", "redirect_uri", "scope", "login_hint",
            "acr_values", "context", "prompt", "options", "correlation_id",
        ] + state

    fileprivate static let insert = SQL.numbered(
        """
        INSERT INTO async_sign_ins (\(columns.joined(separator: ", ")), user_hash, share, revision) \
        VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")), ?, ?, 0)
        """)
    private static let update = SQL.numbered(
        """
        UPDATE async_sign_ins SET \(state.map { "\($0) = ?" }.joined(separator: ", ")), revision = revision + 1 \
        WHERE handle_hash = ? AND revision = ?
        """)
    private static let select = "SELECT \(columns.joined(separator: ", ")), revision FROM async_sign_ins"
    // Rows from before ended sessions were counted have no count; for these the session itself tells.
    fileprivate static let selectEndedSession = SQL.numbered(
        """
        SELECT 1 FROM async_sign_ins AS sign_in JOIN identities USING (issuer, subject) \
        JOIN users ON users.id = identities.user_id WHERE handle_hash = ? AND session_id IS NOT NULL \
        AND (users.sessions_ended <> sign_in.sessions_ended OR NOT EXISTS (SELECT 1 FROM sessions \
        WHERE sessions.user_id = identities.user_id AND sessions.id = sign_in.session_id))
        """)

    /// The session that the first poll gave.
    fileprivate static let selectFirstSession = SQL.numbered(
        "SELECT session_id FROM async_sign_ins WHERE handle_hash = ? AND session_id IS NOT NULL")

    // Looked up by the client's handle, or by the token of the provider's notification. Rows live for minutes.
    //
    // session_id: NULL until the first response. user_hash, share: the prompt's user and caller.
    //
    // poll_mode to is_notified: NULL where the tokens come with the provider's notification. provider_request is
    // worthless without the handle.
    static let schema = """
        CREATE TABLE async_sign_ins (
            handle_hash BLOB PRIMARY KEY NOT NULL,
            caller BLOB NOT NULL,
            provider TEXT NOT NULL,
            client_id TEXT NOT NULL,
            network TEXT NOT NULL,
            redirect_uri TEXT NOT NULL,
            scope TEXT NOT NULL,
            login_hint TEXT NOT NULL,
            acr_values TEXT,
            context TEXT,
            prompt TEXT,
            options TEXT,
            correlation_id TEXT NOT NULL,
            phase TEXT NOT NULL,
            attempt INTEGER NOT NULL,
            notification_hash BLOB NOT NULL UNIQUE,
            carrier_request_hash BLOB,
            failure TEXT,
            issuer TEXT,
            subject TEXT,
            username TEXT,
            name TEXT,
            given_name TEXT,
            family_name TEXT,
            email TEXT,
            phone_number TEXT,
            postal_code TEXT,
            expires_at INTEGER NOT NULL,
            removed_at INTEGER NOT NULL,
            revision INTEGER NOT NULL,
            ported_from TEXT,
            session_id TEXT,
            sessions_ended INTEGER,
            email_verified INTEGER,
            phone_number_verified INTEGER,
            provider_claims TEXT,
            user_hash BLOB,
            share BLOB,
            poll_mode TEXT,
            provider_request BLOB,
            poll_interval INTEGER,
            next_poll_at INTEGER,
            polling_until INTEGER,
            is_notified INTEGER
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX async_sign_ins_by_caller ON async_sign_ins (caller, removed_at);
        CREATE INDEX async_sign_ins_by_removal ON async_sign_ins (removed_at);
        CREATE INDEX async_sign_ins_by_carrier ON async_sign_ins (provider, network, expires_at)
        WHERE phase = 'waiting';
        CREATE INDEX async_sign_ins_by_user ON async_sign_ins (user_hash) WHERE phase = 'waiting';
        CREATE INDEX async_sign_ins_by_share ON async_sign_ins (provider, network, share) WHERE phase = 'waiting';
        """
}

extension SQLStore {
    package func addBackchannelAuthentication(
        _ record: BackchannelAuthenticationRecord, for prompt: BackchannelPrompt,
        limits: BackchannelAuthenticationLimits, at now: Timestamp
    ) async throws(StorageError) -> BackchannelAuthenticationAdmission {
        try await writes.submit { db in
            typealias Table = BackchannelAuthenticationsTable
            guard try !Table.exceeds(limits.perCaller, "caller = ? AND removed_at > ?", record.caller, now, in: db)
            else { return .tooManyOfCaller }
            let admission = try Table.admit(record, for: prompt, limits: limits, at: now, in: db)
            guard admission == .admitted else { return admission }
            let terms = record.terms
            try db.perform(
                Table.insert, record.handle, record.caller, terms.provider, terms.clientID, terms.network,
                terms.redirectURI, terms.scope, terms.loginHint.exposed, terms.acrValues, terms.context, terms.prompt,
                terms.options, terms.correlationID, Table.State(record: record), prompt.user, prompt.caller)
            return .admitted
        }
    }

    package func admitBackchannelRequest(
        of record: BackchannelAuthenticationRecord, for prompt: BackchannelPrompt,
        limits: BackchannelAuthenticationLimits, at now: Timestamp
    ) async throws(StorageError) -> BackchannelAuthenticationAdmission {
        try await writes.submit { db in
            try BackchannelAuthenticationsTable.admit(record, for: prompt, limits: limits, at: now, in: db)
        }
    }

    package func backchannelAuthentication(handle: TokenHash, at now: Timestamp) async throws(StorageError)
        -> BackchannelAuthenticationRecord?
    {
        try await reads.submit { db in
            try BackchannelAuthenticationsTable.record("handle_hash", handle, at: now, in: db)
        }
    }

    package func backchannelAuthentication(notification: TokenHash, at now: Timestamp) async throws(StorageError)
        -> BackchannelAuthenticationRecord?
    {
        try await reads.submit { db in
            try BackchannelAuthenticationsTable.record("notification_hash", notification, at: now, in: db)
        }
    }

    package func replaceBackchannelAuthentication(_ record: BackchannelAuthenticationRecord) async throws(StorageError)
        -> Bool
    {
        try await writes.submit { db in try BackchannelAuthenticationsTable.replace(record, in: db) }
    }

    package func endBackchannelAuthentication(
        _ record: BackchannelAuthenticationRecord, with signIn: SignInRecord, givingBackTo allowance: SharedAllowance?
    ) async throws(StorageError) -> BackchannelAuthenticationEnding {
        try await writes.submit { db in
            guard try BackchannelAuthenticationsTable.replace(record, in: db) else { return .changed }
            if let allowance, let caller = try BackchannelAuthenticationsTable.promptCaller(of: record.handle, in: db) {
                try PromptsTable.takeBack(BackchannelPrompt.key(ofCaller: caller), from: allowance, in: db)
            }
            let holder = try UsersTable.holder(of: signIn.identity, in: db)
            guard var (signedIn, _) = try Self.user(for: signIn, holder, in: db) else { return .unknownUser }
            let registers = signedIn.isNew
            guard try !db.exists(BackchannelAuthenticationsTable.selectEndedSession, record.handle) else {
                return .sessionEnded
            }
            if let first = try db.first(
                BackchannelAuthenticationsTable.selectFirstSession, record.handle, read: { try $0.text(0) })
            {
                signedIn.isNew = try SessionsTable.isFirst(first, of: signedIn.user.id, in: db)
            }
            try SessionsTable.insert(
                signIn.session, for: signedIn.user.id, by: signIn.identity, signIn.providerSession,
                isNewUser: registers, requestID: signIn.requestID, in: db)
            if let tokens = signIn.tokens {
                try ProviderTokensTable.put(
                    tokens, of: signIn.identity, signedIn.user.id, at: signIn.session.createdAt, in: db)
            }
            // The session of the first response.
            try db.perform(
                """
                UPDATE async_sign_ins SET session_id = ?, \
                sessions_ended = (SELECT sessions_ended FROM users WHERE id = ?) \
                WHERE handle_hash = ? AND session_id IS NULL
                """, signIn.session.id, signedIn.user.id, record.handle)
            return .signedIn(signedIn)
        }
    }
}

/// Former identities in a database column: a JSON array, in their order; NULL if there are none.
extension PortedIdentity {
    fileprivate static func text(of identities: [PortedIdentity]) -> String? {
        guard !identities.isEmpty else { return nil }
        let objects: [JSONValue] = identities.map { ported in
            [
                "issuer": .string(ported.identity.issuer), "subject": .string(ported.identity.subject),
                "issued_at": .integer(ported.issuedAt.secondsSinceEpoch),
                "token": .string(Base64URL.encode(ported.token.bytes)),
            ]
        }
        return JSONValue.array(objects).text
    }

    /// - Throws: `corrupt` for a text that ``text(of:)`` did not write.
    fileprivate static func all(in text: String?) throws -> [PortedIdentity] {
        guard let text else { return [] }
        guard let values = (try? JSONValue(parsing: Array(text.utf8)))?.array else { throw unreadable }
        return try values.map { value in
            guard let issuer = value.object?["issuer"]?.string, let subject = value.object?["subject"]?.string,
                let issuedAt = value.object?["issued_at"]?.integer,
                let token = value.object?["token"]?.string.flatMap({ Base64URL.decode($0) }).flatMap({ TokenHash($0) })
            else { throw unreadable }
            return PortedIdentity(
                identity: Identity(issuer: issuer, subject: subject),
                issuedAt: Timestamp(secondsSinceEpoch: issuedAt), token: token)
        }
    }

    private static let unreadable = StorageError(
        .corrupt, reason: "the former identities of a backchannel authentication are unreadable")
}
