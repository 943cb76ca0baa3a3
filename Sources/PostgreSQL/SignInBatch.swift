import Primitives
import Storage
import StorageModel

/// Sign-ins of one transaction that share two statements. The first looks up their users and locks them. The second
/// stores new users, their identities, sessions and the records for repeated sign-ins, and is sent with the commit.
enum SignInBatch {
    /// Runs the sign-ins that it can decide by what the first statement finds. The others get no output, and run with
    /// statements of their own: the repetition of another one of them, a further one of a new user, one whose identity
    /// has just got another user, and one whose refusal must be recorded.
    ///
    /// A new identity, or the record of a sign-in, that another transaction stores first makes the transaction fail.
    static func run(_ signIns: [BatchedSignIn], on connection: PostgresConnection) throws {
        let db = SQLSession.postgres(connection)
        var keys: Set<[UInt8]> = []
        var batch = signIns.filter { signIn in
            signIn.input.idempotency.map { keys.insert($0.key).inserted } ?? true
        }
        guard !batch.isEmpty else { return }
        // In one order, so that transactions that store the same identities do not wait for each other.
        batch.sort { $0.input.identity.isBefore($1.input.identity) }
        var accepted: [Accepted] = []
        for (place, holder) in try holders(of: batch.map(\.input.identity), in: db).enumerated() {
            let signIn = batch[place]
            switch holder {
            case nil: continue
            case .user(let user, let endings):
                accepted.append(Accepted(signIn: signIn, user: user, endings: endings, isNew: false))
            case .unknown(let number):
                if place > 0, batch[place - 1].input.identity == signIn.input.identity { continue }
                if let user = signIn.input.newcomer(number) {
                    accepted.append(Accepted(signIn: signIn, user: user, endings: 0, isNew: true))
                } else {
                    signIn.output = .some(nil)
                }
            }
        }
        // Sessions of the user were ended since the provider's response.
        for refused in accepted where refused.isOvertaken { refused.signIn.output = .some(nil) }
        accepted.removeAll(where: \.isOvertaken)
        guard !accepted.isEmpty else { return }
        try store(accepted, in: db)
        // Of users who sign in several times.
        var current: [UserID: TrackedUser] = [:]
        for signIn in accepted { try complete(signIn, &current, in: db) }
    }

    /// A sign-in that gets its session.
    private struct Accepted {
        let signIn: BatchedSignIn
        let user: TrackedUser
        /// How often sessions of the user were ended.
        let endings: Int64
        let isNew: Bool

        var record: SignInRecord { signIn.input }

        /// Whether the user has more than a public id.
        var hasProfile: Bool {
            !user.user.profile.present.isEmpty || user.user.assertions != nil || !user.origins.isEmpty
        }

        var isOvertaken: Bool { record.idempotency?.endings.map { $0 != endings } ?? false }
    }

    /// Stores what else belongs to a sign-in whose session is stored.
    private static func complete(
        _ accepted: Accepted, _ current: inout [UserID: TrackedUser], in db: SQLSession
    ) throws {
        let record = accepted.record
        let id = accepted.user.user.id
        var user = current[id] ?? accepted.user
        let isChanged = try !accepted.isNew && UsersTable.update(&user, by: record, in: db)
        current[id] = user
        try SessionsTable.storeIDToken(of: record.session, in: db)
        try SQLStore.storeTokens(of: record, for: id, in: db)
        var signedIn = SignedInUser(user: user.user, isNew: accepted.isNew, isChanged: isChanged)
        if record.idempotency != nil {
            signedIn.given = GivenSession(id: record.session.id, user: id, endings: accepted.endings)
        }
        accepted.signIn.output = signedIn
    }

    // MARK: The look-up

    private enum Holder {
        case user(TrackedUser, endings: Int64)
        /// The identity has no user. With the number for a new one.
        case unknown(UserID)
    }

    /// Looks the holders of identities up and locks them. Nil for an identity that the account was moved away from,
    /// and for one that got another user meanwhile.
    private static func holders(of identities: [Identity], in db: SQLSession) throws -> [Holder?] {
        var query = try CachedStatement(db, lookUp)
        query.bindRows(identities) { $0.bind(to: &$1) }
        var holders = [Holder?](repeating: nil, count: identities.count)
        while try query.next() {
            // WITH ORDINALITY counts from 1.
            let place = Int(query.number(0)) - 1
            if query.isNull(1) {
                holders[place] = .unknown(query.user(2))
            } else if !query.isNull(3), case .user(let user, let endings) = try UsersTable.holder(in: query, from: 3) {
                holders[place] = .user(user, endings: endings)
            }
        }
        return holders
    }

    // The identity of a user is looked up for each row by itself, so that the plan uses the index, whatever the tables
    // had when it was made. One array is read in a subquery: with its length, PostgreSQL would plan each time.
    //
    // Users are locked in the order of their numbers, as everywhere. An identity that got another user meanwhile is not
    // in `locked`.
    private static let lookUp: SQL = """
        SELECT place, found.user_id, CASE WHEN found.user_id IS NULL THEN \
        nextval((SELECT pg_get_serial_sequence('users', 'id')::regclass)) END, locked.* \
        FROM (SELECT place, input.issuer, input.subject, user_id \
        FROM unnest((SELECT ?), ?) WITH ORDINALITY AS input (issuer, subject, place) LEFT JOIN LATERAL (\
        SELECT user_id FROM identities \
        WHERE identities.issuer = input.issuer AND identities.subject = input.subject OFFSET 0) AS identity ON true \
        ORDER BY user_id) AS found LEFT JOIN LATERAL (\
        SELECT \(UsersTable.columns), identities.moved_by, \(UsersTable.signInColumns) \
        FROM identities JOIN users ON users.id = identities.user_id AND users.id = found.user_id \
        WHERE found.user_id IS NOT NULL \
        AND identities.issuer = found.issuer AND identities.subject = found.subject \
        FOR NO KEY UPDATE OF users, identities) AS locked ON true
        """

    // MARK: What is stored

    /// Stores users, identities, sessions, retries' records, and audit events.
    private static func store(_ accepted: [Accepted], in db: SQLSession) throws {
        let hasProfiles = accepted.contains { $0.isNew && $0.hasProfile }
        let areAudited = accepted.contains { $0.record.session.isAudited }
        let insert =
            areAudited
            ? (hasProfiles ? insertAuditedWithProfiles : insertAudited)
            : hasProfiles ? insertWithProfiles : insert
        var statement = try CachedStatement(db, insert)
        statement.bindRows(accepted) { accepted, statement in
            let (record, user) = (accepted.record, accepted.user.user)
            let (session, retry, origin) = (record.session, record.idempotency, OriginHash.of(record.identity))
            statement.bind(
                record.identity, user.id, session.tokenHash, session.refreshTokenHash, session.id, session.clientID,
                session.createdAt, session.expiresAt, session.refreshExpiresAt, session.device,
                origin, record.providerSession, retry?.key, accepted.endings, retry?.endsAt,
                accepted.isNew ? user.publicID : nil)
            if areAudited {
                let details = SessionsTable.auditDetails(
                    of: session, by: record.identity, origin, isNewUser: accepted.isNew)
                statement.bind(record.requestID, details?.json)
            }
            if hasProfiles {
                statement.bind(user.profile, AssertionColumns(values: user.assertions), accepted.user.origins)
            }
        }
        try statement.perform()
    }

    private static let insert = insertion()
    /// Few sign-ins make a user with a profile, and each column costs, also without a value.
    private static let insertWithProfiles = insertion(profile)
    private static let insertAudited = insertion(areAudited: true)
    private static let insertAuditedWithProfiles = insertion(profile, areAudited: true)
    private static let profile = UserAttribute.columns + ProviderAssertions.columns + AttributeOrigins.columns

    /// - Parameters:
    ///   - profile: The columns of new users.
    ///   - areAudited: Whether some of the sessions have an audit event.
    private static func insertion(_ profile: [String] = [], areAudited: Bool = false) -> SQL {
        let session = [
            "user_id", "token_hash", "refresh_hash", "session_id", "client_id", "created_at", "expires_at",
            "refresh_expires_at", "device", "identity_hash", "provider_session_hash",
        ]
        let input = ["issuer", "subject"] + session + ["fingerprint", "sessions_ended", "retry_ends_at", "public_id"]
        let columns = input + (areAudited ? ["request_id", "details"] : []) + profile
        let marks = ["(SELECT ?)"] + columns.dropFirst().map { _ in "?" }
        func list(_ columns: [String]) -> String { columns.joined(separator: ", ") }
        let user = list(["public_id", "created_at"] + profile)
        let audited =
            areAudited
            ? """
            audited AS (INSERT INTO audit_events (time, kind, user_id, actor, request_id, details) \
            SELECT created_at, '\(AuditEvent.Kind.sessionCreated)', user_id, '\(AuditEvent.Actor.user)', request_id, \
            details FROM input WHERE details IS NOT NULL)
            """ : nil
        return SQL(
            """
            WITH input AS MATERIALIZED (\
            SELECT * FROM unnest(\(list(marks))) AS input (\(list(columns)))), \
            new_users AS (INSERT INTO users (id, \(user)) SELECT user_id, \(user) \
            FROM input WHERE public_id IS NOT NULL), \
            new_identities AS (INSERT INTO identities (issuer, subject, user_id, created_at) \
            SELECT issuer, subject, user_id, created_at FROM input WHERE public_id IS NOT NULL), \
            \(audited.map { "\($0), " } ?? "")given AS (\(RecentSignInsTable.insert) \
            SELECT fingerprint, user_id, session_id, sessions_ended, retry_ends_at \
            FROM input WHERE fingerprint IS NOT NULL) \
            INSERT INTO sessions (\(list(session).replacing("session_id", with: "id"))) \
            SELECT \(list(session)) FROM input
            """)
    }
}

extension SignInRecord {
    /// The user that it makes, if its identity is unknown; nil if that must register.
    fileprivate func newcomer(_ id: UserID) -> TrackedUser? {
        guard case .welcome(let publicID) = newcomers else { return nil }
        let profile = profile ?? Profile()
        return TrackedUser(
            new: User(id: id, publicID: publicID, profile: profile, createdAt: session.createdAt),
            asserted: profile, verified, claims: claims?(publicID, nil), by: identity.issuer, at: session.createdAt)
    }
}

extension Identity {
    fileprivate func isBefore(_ other: Identity) -> Bool { (issuer, subject) < (other.issuer, other.subject) }
}
