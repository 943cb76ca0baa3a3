import Primitives
import Storage
import StorageModel

/// Sign-ins of one transaction that share one statement.
enum SignInBatch {
    /// Runs the sign-ins that it can decide by what the statement finds, and leaves the others to their works: the
    /// repetition of another one of them, one that another one has overtaken, and one whose refusal must be recorded.
    static func run(_ signIns: [BatchedSignIn], on connection: PostgresConnection) throws {
        let db = SQLSession.postgres(connection)
        var keys: Set<[UInt8]> = []
        var batch = signIns.filter { signIn in
            // The transaction may run again.
            signIn.output = nil
            return signIn.input.idempotency.map { keys.insert($0.key).inserted } ?? true
        }
        // In one order, so that transactions that store the same identities do not wait for each other.
        batch.sort { $0.input.identity.isBefore($1.input.identity) }
        guard !batch.isEmpty else { return }
        // Of users who sign in several times.
        var current: [UserID: TrackedUser] = [:]
        for (place, holder) in try holders(of: batch.map(\.input), in: db) {
            let signIn = batch[place]
            switch holder {
            case .undecided, .overtaken: break
            case .refused: signIn.output = .some(nil)
            case .user(let user, let endings):
                signIn.output = try complete(
                    signIn.input, current[user.user.id] ?? user, endings, isNew: false, &current, in: db)
            case .newcomer(let user):
                signIn.output = try complete(signIn.input, user, 0, isNew: true, &current, in: db)
            }
        }
    }

    /// Stores what else belongs to a sign-in whose session is stored.
    private static func complete(
        _ record: SignInRecord, _ found: TrackedUser, _ endings: Int64, isNew: Bool,
        _ current: inout [UserID: TrackedUser], in db: SQLSession
    ) throws -> SignedInUser {
        var user = found
        let isChanged = try !isNew && UsersTable.update(&user, by: record, in: db)
        let id = user.user.id
        current[id] = user
        try SessionsTable.recordInsertion(
            of: record.session, for: id, by: record.identity, isNewUser: isNew, requestID: record.requestID, in: db)
        try SQLStore.storeTokens(of: record, for: id, in: db)
        var signedIn = SignedInUser(user: user.user, isNew: isNew, isChanged: isChanged)
        if record.idempotency != nil {
            signedIn.given = GivenSession(id: record.session.id, user: id, endings: endings)
        }
        return signedIn
    }

    // MARK: The statement

    private enum Holder {
        case user(TrackedUser, endings: Int64)
        case newcomer(TrackedUser)
        /// A new user without an identity, because another transaction or sign-in has just stored it.
        case overtaken(UserID)
        /// There is none, and the identity must register; or the record of a retry refuses the sign-in.
        case refused
        /// There is one, and nothing is stored.
        case undecided
    }

    /// Looks the holders of identities up and locks them, or makes users, and stores sessions and retries' records.
    /// - Parameter records: With different keys of retries.
    private static func holders(
        of records: [SignInRecord], in db: SQLSession
    ) throws -> [(place: Int, holder: Holder)] {
        let newcomers = records.map(\.newcomer)
        var query = try CachedStatement(db, statement)
        query.bindRows(zip(records, newcomers)) { row, query in
            let (record, newcomer) = row
            let (session, retry) = (record.session, record.idempotency)
            query.bind(
                record.identity, newcomer?.user.publicID, newcomer?.user.profile ?? Profile(),
                AssertionColumns(values: newcomer?.user.assertions), newcomer?.origins ?? AttributeOrigins(),
                session.tokenHash, session.refreshTokenHash, session.id, session.clientID, session.createdAt,
                session.expiresAt, session.refreshExpiresAt, session.device, OriginHash.of(record.identity),
                record.providerSession, retry?.key, retry?.endsAt, retry?.endings)
        }
        var found: [(place: Int, holder: Holder)] = []
        while try query.next() {
            // WITH ORDINALITY counts from 1.
            let place = Int(query.number(0)) - 1
            found.append((place, try holder(in: query, newcomers[place])))
        }
        for case (_, .overtaken(let user)) in found { try db.perform("DELETE FROM users WHERE id = ?", user) }
        return found
    }

    private static func holder(in row: borrowing CachedStatement, _ newcomer: TrackedUser?) throws -> Holder {
        let (isStored, isFound, isKnown) = (!row.isNull(1), !row.isNull(2), !row.isNull(4))
        if let id = row.optionalNumber(3).map({ UserID($0) }), let newcomer {
            return isStored ? .newcomer(newcomer.with(id: id)) : .overtaken(id)
        }
        guard isFound else { return .refused }
        guard isKnown, case .user(let user, let endings) = try UsersTable.holder(in: row, from: 4) else {
            return .undecided
        }
        return isStored ? .user(user, endings: endings) : .refused
    }

    // The identity of a user is looked up for each row by itself, so that the plan uses the index, whatever the tables
    // had when it was made. One array is read in a subquery: with its length, PostgreSQL would plan each time.
    //
    // Users are locked in the order of their numbers, as everywhere, and before others are made. An identity that got
    // another user meanwhile is not in `known`.
    //
    // If another transaction or row stores an identity first, it gets no session here: nothing fails.
    private static let statement: SQL = {
        let profile = ["public_id"] + UserAttribute.columns + ProviderAssertions.columns + AttributeOrigins.columns
        let session = [
            "token_hash", "refresh_hash", "session_id", "client_id", "created_at", "expires_at", "refresh_expires_at",
            "device", "identity_hash", "provider_session_hash",
        ]
        let input = ["issuer", "subject"] + profile + session + ["fingerprint", "retry_ends_at", "endings"]
        let marks = ["(SELECT ?)"] + input.dropFirst().map { _ in "?" }
        func list(_ columns: [String]) -> String { columns.joined(separator: ", ") }
        return SQL(
            """
            WITH input AS (SELECT * FROM unnest(\(list(marks))) WITH ORDINALITY AS input (\(list(input)), place)), \
            found AS (SELECT place, input.issuer, input.subject, user_id FROM input, LATERAL (\
            SELECT user_id FROM identities \
            WHERE identities.issuer = input.issuer AND identities.subject = input.subject OFFSET 0) AS identity \
            ORDER BY user_id), \
            known AS (SELECT found.place, locked.* FROM found, LATERAL (\
            SELECT \(UsersTable.columns), identities.moved_by, \(UsersTable.signInColumns) \
            FROM identities JOIN users ON users.id = identities.user_id AND users.id = found.user_id \
            WHERE identities.issuer = found.issuer AND identities.subject = found.subject \
            FOR NO KEY UPDATE OF users, identities) AS locked), \
            new_users AS (INSERT INTO users (\(list(profile)), created_at) SELECT \(list(profile)), created_at \
            FROM input WHERE public_id IS NOT NULL \
            AND place NOT IN (SELECT place FROM known UNION ALL SELECT place FROM found) RETURNING id, public_id), \
            new_identities AS (INSERT INTO identities (issuer, subject, user_id, created_at) \
            SELECT issuer, subject, id, created_at FROM new_users JOIN input USING (public_id) ORDER BY place \
            ON CONFLICT DO NOTHING RETURNING user_id), \
            holders AS (SELECT place, id, sessions_ended FROM known WHERE moved_by IS NULL UNION ALL \
            SELECT place, id, 0 FROM new_users JOIN input USING (public_id) \
            WHERE id IN (SELECT user_id FROM new_identities)), \
            given AS (\(RecentSignInsTable.insert) \
            SELECT fingerprint, id, session_id, sessions_ended, retry_ends_at FROM holders JOIN input USING (place) \
            WHERE fingerprint IS NOT NULL AND sessions_ended = COALESCE(endings, sessions_ended) \
            \(RecentSignInsTable.replace) RETURNING fingerprint), \
            stored AS (SELECT place, id FROM holders JOIN input USING (place) \
            WHERE fingerprint IS NULL OR fingerprint IN (SELECT fingerprint FROM given)), \
            new_sessions AS (INSERT INTO sessions (user_id, \(list(session).replacing("session_id", with: "id"))) \
            SELECT stored.id, \(list(session)) FROM stored JOIN input USING (place)) \
            SELECT input.place, stored.id, found.user_id, new_users.id, \(UsersTable.columns), users.moved_by, \
            \(UsersTable.signInColumns) FROM input LEFT JOIN found USING (place) \
            LEFT JOIN known AS users USING (place) LEFT JOIN stored USING (place) \
            LEFT JOIN new_users ON new_users.public_id = input.public_id ORDER BY input.place
            """)
    }()
}

extension SignInRecord {
    /// The user that it makes, if its identity is unknown. With no number yet.
    fileprivate var newcomer: TrackedUser? {
        guard case .welcome(let publicID) = newcomers else { return nil }
        let profile = profile ?? Profile()
        return TrackedUser(
            new: User(id: UserID(0), publicID: publicID, profile: profile, createdAt: session.createdAt),
            asserted: profile, verified, claims: claims?(publicID, nil), by: identity.issuer, at: session.createdAt)
    }
}

extension Identity {
    fileprivate func isBefore(_ other: Identity) -> Bool { (issuer, subject) < (other.issuer, other.subject) }
}

extension TrackedUser {
    fileprivate func with(id: UserID) -> TrackedUser {
        TrackedUser(
            User(
                id: id, publicID: user.publicID, profile: user.profile, assertions: user.assertions,
                createdAt: user.createdAt), origins)
    }
}
