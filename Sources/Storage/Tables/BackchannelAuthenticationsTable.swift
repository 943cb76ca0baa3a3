import Primitives
import StorageModel

/// The table `async_sign_ins`.
enum BackchannelAuthenticationsTable {
    /// Adds a record unless there are too many already.
    static func insert(
        _ record: BackchannelAuthenticationRecord, limits: BackchannelAuthenticationLimits, at now: Timestamp,
        in db: SQLSession
    ) throws -> BackchannelAuthenticationAdmission {
        guard try count(ofCaller: record.caller, limit: limits.perCaller, at: now, in: db) < limits.perCaller else {
            return .tooManyOfCaller
        }
        let waiting = try count(waitingFor: record.terms, limit: limits.waitingPerLoginHint, at: now, in: db)
        guard waiting < limits.waitingPerLoginHint else { return .tooManyForLoginHint }
        let atCarrier = try count(waitingAt: record.terms, limit: limits.waitingPerCarrier, at: now, in: db)
        guard atCarrier < limits.waitingPerCarrier else { return .tooManyAtCarrier }
        var statement = try CachedStatement(db, insert)
        statement.bind(record.handle)
        statement.bind(record.caller)
        bind(record.terms, to: &statement)
        bindState(of: record, to: &statement)
        try statement.run()
        return .added
    }

    static func record(handle: TokenHash, at now: Timestamp, in db: SQLSession) throws
        -> BackchannelAuthenticationRecord?
    {
        try record("handle_hash", handle, at: now, in: db)
    }

    static func record(notification: TokenHash, at now: Timestamp, in db: SQLSession) throws
        -> BackchannelAuthenticationRecord?
    {
        try record("notification_hash", notification, at: now, in: db)
    }

    /// Writes all that may change of a record, if nobody else did since it was read.
    static func replace(_ record: BackchannelAuthenticationRecord, in db: SQLSession) throws -> Bool {
        var statement = try CachedStatement(db, update)
        bindState(of: record, to: &statement)
        statement.bind(record.handle)
        statement.bind(record.revision)
        try statement.run()
        return db.changesCount > 0
    }

    /// Notes the session that the first answer gave a user.
    static func noteSession(
        _ id: String, of record: BackchannelAuthenticationRecord, _ user: UserID, in db: SQLSession
    ) throws {
        var statement = try CachedStatement(db, noteSession)
        statement.bind(id)
        statement.bind(user.number)
        statement.bind(record.handle)
        try statement.run()
    }

    /// Whether an answer before this one gave a session, and that or another one of the user's was ended since.
    static func hasEndedSession(_ record: BackchannelAuthenticationRecord, in db: SQLSession) throws -> Bool {
        var query = try CachedStatement(db, selectEndedSession)
        query.bind(record.handle)
        return try query.next()
    }

    private static func count(
        ofCaller caller: TokenHash, limit: Int, at now: Timestamp, in db: SQLSession
    ) throws -> Int {
        var query = try CachedStatement(db, countOfCaller)
        query.bind(caller)
        query.bind(now.secondsSinceEpoch)
        query.bind(Int64(limit))
        return try query.next() ? Int(query.number(0)) : 0
    }

    private static func count(
        waitingFor terms: BackchannelAuthenticationRecord.Terms, limit: Int, at now: Timestamp, in db: SQLSession
    ) throws -> Int {
        var query = try CachedStatement(db, countOfLoginHint)
        query.bind(terms.loginHint.exposed)
        query.bind(terms.network)
        query.bind(now.secondsSinceEpoch)
        query.bind(Int64(limit))
        return try query.next() ? Int(query.number(0)) : 0
    }

    private static func count(
        waitingAt terms: BackchannelAuthenticationRecord.Terms, limit: Int, at now: Timestamp, in db: SQLSession
    ) throws -> Int {
        var query = try CachedStatement(db, countOfCarrier)
        query.bind(terms.provider)
        query.bind(terms.network)
        query.bind(now.secondsSinceEpoch)
        query.bind(Int64(limit))
        return try query.next() ? Int(query.number(0)) : 0
    }

    private static func bind(_ terms: BackchannelAuthenticationRecord.Terms, to statement: inout CachedStatement) {
        statement.bind(terms.provider)
        statement.bind(terms.clientID)
        statement.bind(terms.network)
        statement.bind(terms.redirectURI)
        statement.bind(terms.scope)
        statement.bind(terms.loginHint.exposed)
        statement.bind(terms.acrValues)
        statement.bind(terms.context)
        statement.bind(terms.prompt)
        statement.bind(terms.options)
        statement.bind(terms.correlationID)
    }

    private static func bindState(of record: BackchannelAuthenticationRecord, to statement: inout CachedStatement) {
        statement.bind(record.phase.rawValue)
        statement.bind(record.attempt)
        statement.bind(record.notification)
        statement.bind(record.carrierRequest)
        statement.bind(record.failure)
        statement.bind(record.identity?.issuer)
        statement.bind(record.identity?.subject)
        statement.bind(record.profile)
        statement.bind(record.expiresAt.secondsSinceEpoch)
        statement.bind(record.removedAt.secondsSinceEpoch)
        statement.bind(PortedIdentity.text(of: record.portedFrom))
    }

    private static func record(
        _ column: StaticString, _ hash: TokenHash, at now: Timestamp, in db: SQLSession
    ) throws -> BackchannelAuthenticationRecord? {
        var query = try CachedStatement(db, "\(select) WHERE \(column) = ? AND removed_at > ?")
        query.bind(hash)
        query.bind(now.secondsSinceEpoch)
        guard try query.next() else { return nil }
        var terms = BackchannelAuthenticationRecord.Terms(
            provider: try query.requiredText(2), clientID: try query.requiredText(3),
            network: try query.requiredText(4), redirectURI: try query.requiredText(5),
            scope: try query.requiredText(6), loginHint: Secret(try query.requiredText(7)),
            correlationID: try query.requiredText(12))
        terms.acrValues = query.text(8)
        terms.context = query.text(9)
        terms.prompt = query.text(10)
        terms.options = query.text(11)
        var record = BackchannelAuthenticationRecord(
            handle: try query.hash(0), caller: try query.hash(1), terms: terms,
            notification: try query.hash(15),
            expiresAt: Timestamp(secondsSinceEpoch: query.number(27)),
            removedAt: Timestamp(secondsSinceEpoch: query.number(28)))
        record.phase = try phase(try query.requiredText(13))
        record.attempt = query.number(14)
        record.carrierRequest = query.optionalHash(16)
        record.failure = query.text(17)
        if let issuer = query.text(18), let subject = query.text(19) {
            record.identity = Identity(issuer: issuer, subject: subject)
        }
        record.profile = query.profile(from: 20)
        record.portedFrom = try PortedIdentity.all(in: query.text(29))
        record.revision = query.number(30)
        return record
    }

    private static func phase(_ text: String) throws -> BackchannelAuthenticationRecord.Phase {
        guard let phase = BackchannelAuthenticationRecord.Phase(rawValue: text) else {
            throw StorageError(.corrupt, reason: "a server-initiated sign-in is in an unknown phase")
        }
        return phase
    }

    private static let state =
        ["phase", "attempt", "notification_hash", "carrier_request_hash", "failure", "issuer", "subject"]
        + UserAttribute.columns + ["expires_at", "removed_at", "ported_from"]
    private static let columns =
        [
            "handle_hash", "caller", "provider", "client_id", "network", "redirect_uri", "scope", "login_hint",
            "acr_values", "context", "prompt", "options", "correlation_id",
        ] + state

    private static let insert = """
        INSERT INTO async_sign_ins (\(columns.joined(separator: ", ")), revision) \
        VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")), 0)
        """
    private static let update = """
        UPDATE async_sign_ins SET \(state.map { "\($0) = ?" }.joined(separator: ", ")), revision = revision + 1 \
        WHERE handle_hash = ? AND revision = ?
        """
    private static let select = "SELECT \(columns.joined(separator: ", ")), revision FROM async_sign_ins"
    private static let noteSession = """
        UPDATE async_sign_ins SET session_id = ?, sessions_ended = (SELECT sessions_ended FROM users WHERE id = ?) \
        WHERE handle_hash = ? AND session_id IS NULL
        """
    // Of those that were answered before endings were counted, only the session itself tells.
    private static let selectEndedSession = """
        SELECT 1 FROM async_sign_ins AS sign_in JOIN identities USING (issuer, subject) \
        JOIN users ON users.id = identities.user_id WHERE handle_hash = ? AND session_id IS NOT NULL \
        AND (users.sessions_ended <> sign_in.sessions_ended OR NOT EXISTS (SELECT 1 FROM sessions \
        WHERE sessions.user_id = identities.user_id AND sessions.id = sign_in.session_id))
        """
    private static let countOfCaller = """
        SELECT count(*) FROM \
        (SELECT 1 FROM async_sign_ins WHERE caller = ? AND removed_at > ? LIMIT ?) AS found
        """
    private static let countOfLoginHint = """
        SELECT count(*) FROM (SELECT 1 FROM async_sign_ins \
        WHERE login_hint = ? AND network = ? AND phase = 'waiting' AND expires_at > ? LIMIT ?) AS found
        """

    private static let countOfCarrier = """
        SELECT count(*) FROM (SELECT 1 FROM async_sign_ins \
        WHERE provider = ? AND network = ? AND phase = 'waiting' AND expires_at > ? LIMIT ?) AS found
        """

    static let byCarrier = """
        CREATE INDEX async_sign_ins_by_carrier ON async_sign_ins (provider, network, expires_at)
        WHERE phase = 'waiting'
        """

    static let formerIdentities = "ALTER TABLE async_sign_ins ADD COLUMN ported_from TEXT"

    // Found by the client's handle, or by the token that the carrier's notification bears. Rows live for minutes.
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
            revision INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX async_sign_ins_by_caller ON async_sign_ins (caller, removed_at);
        CREATE INDEX async_sign_ins_by_login_hint ON async_sign_ins (login_hint, network);
        CREATE INDEX async_sign_ins_by_removal ON async_sign_ins (removed_at);
        """
}
