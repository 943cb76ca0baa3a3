import Primitives
import StorageModel

/// A sign-in that shares its statements with the others of its transaction, on PostgreSQL.
///
/// `@unchecked`: only the worker of the connection uses it, until the caller is resumed.
package final class BatchedSignIn: @unchecked Sendable {
    let record: SignInRecord
    /// Nil until it has run; nil inside for a refused sign-in.
    private(set) fileprivate var result: SignedInUser??

    init(_ record: SignInRecord) { self.record = record }

    /// What ``run(_:in:)`` found.
    func signedIn() throws -> SignedInUser? {
        if let result { return result }
        throw StorageError(.unavailable, reason: "the sign-in was not run")
    }

    /// Runs the sign-ins of a transaction, all with one statement, but for those of the same identity: they follow one
    /// another.
    package static func run(_ signIns: [BatchedSignIn], in db: SQLSession) throws {
        var current: [UserID: TrackedUser] = [:]
        var rest = try signIns.filter { signIn in
            // The transaction may run again.
            signIn.result = nil
            guard let use = signIn.record.tokenUse, try !OneTimeRecordsTable.insert(use, in: db) else { return true }
            signIn.result = .some(nil)
            return false
        }
        while !rest.isEmpty {
            var (round, later): ([BatchedSignIn], [BatchedSignIn]) = ([], [])
            var (identities, keys): (Set<Identity>, Set<[UInt8]>) = ([], [])
            for signIn in rest {
                let (record, key) = (signIn.record, signIn.record.idempotency?.key)
                if identities.contains(record.identity) || key.map(keys.contains) == true {
                    later.append(signIn)
                } else {
                    identities.insert(record.identity)
                    if let key { keys.insert(key) }
                    round.append(signIn)
                }
            }
            // In one order, so that transactions do not wait for each other's locks.
            round.sort { $0.record.identity.isBefore($1.record.identity) }
            let moved = try round.map { try AccountMove.move(for: $0.record, in: db) }
            for outcome in try outcomes(of: round.map(\.record), in: db) {
                let signIn = round[outcome.place]
                switch outcome.holder {
                case .overtaken: later.append(signIn)
                case .refused: signIn.result = .some(try refuse(signIn.record, in: db))
                case .formerUser(let owner):
                    try AuditTable.insert(SQLStore.refusal(of: signIn.record, owner), in: db)
                    signIn.result = .some(try refuse(signIn.record, in: db))
                case .user(let found, let endings):
                    signIn.result = try signIn.complete(
                        current[found.user.id] ?? found, endings, isNew: false,
                        wasMoved: moved[outcome.place] == found.user.id, &current, in: db)
                case .newcomer(let user):
                    signIn.result = try signIn.complete(
                        user, 0, isNew: true, wasMoved: false, &current, in: db)
                }
            }
            rest = later
        }
    }

    private static func refuse(_ record: SignInRecord, in db: SQLSession) throws -> SignedInUser? {
        if let use = record.tokenUse { try OneTimeRecordsTable.delete(use.handle, in: db) }
        return nil
    }

    /// Stores what else belongs to a sign-in whose session is stored.
    private func complete(
        _ found: TrackedUser, _ endings: Int64, isNew: Bool, wasMoved: Bool, _ current: inout [UserID: TrackedUser],
        in db: SQLSession
    ) throws -> SignedInUser {
        var user = found
        let isChanged = isNew ? false : try UsersTable.update(&user, by: record, wasMoved: wasMoved, in: db)
        current[user.user.id] = user
        var signedIn = SignedInUser(user: user.user, isNew: isNew, wasMoved: wasMoved, isChanged: isChanged)
        if record.idempotency != nil {
            signedIn.given = GivenSession(id: record.session.id, user: user.user.id, endings: endings)
        }
        if let number = record.provenPhoneNumber {
            signedIn.formerHolders = try ReassignedNumber.endVerifications(
                of: number, nowOf: user.user.id, record.identity, at: record.session.createdAt,
                requestID: record.requestID, in: db)
        }
        try SessionsTable.recordInsertion(
            of: record.session, for: user.user.id, by: record.identity, isNewUser: isNew, requestID: record.requestID,
            in: db)
        try SQLStore.storeTokens(of: record, for: user.user.id, in: db)
        return signedIn
    }
}

// MARK: The statement

extension BatchedSignIn {
    private enum Holder {
        case user(TrackedUser, endings: Int64)
        case newcomer(TrackedUser)
        /// As ``UsersTable/Holder/formerUser(_:)``.
        case formerUser(UserID)
        /// An unknown identity that must register, or a retry after one of the user's sessions was ended.
        case refused
        /// Another transaction has just stored the identity: the next statement sees it.
        case overtaken
    }

    /// Looks the holders of identities up and locks them, or makes users, and stores sessions and retries' records.
    /// - Parameter records: Of different identities, and with different keys of retries.
    private static func outcomes(
        of records: [SignInRecord], in db: SQLSession
    ) throws -> [(place: Int, holder: Holder)] {
        let newcomers = records.map(\.newcomer)
        var query = try CachedStatement(db, statement)
        query.bindRows(records.indices) { place, query in
            let (record, newcomer) = (records[place], newcomers[place])
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
            found.append((place, try holder(in: query, records[place], newcomers[place])))
        }
        return found
    }

    private static func holder(
        in row: borrowing CachedStatement, _ record: SignInRecord, _ newcomer: TrackedUser?
    ) throws -> Holder {
        if let id = row.optionalNumber(1), let newcomer {
            let user = newcomer.user
            return .newcomer(
                TrackedUser(
                    User(
                        id: UserID(id), publicID: user.publicID, profile: user.profile, assertions: user.assertions,
                        createdAt: user.createdAt), newcomer.origins))
        }
        // Without a user, there is no id.
        guard !row.isNull(3) else { return newcomer == nil ? .refused : .overtaken }
        switch try UsersTable.holder(in: row, from: 3) {
        case .user(let user, let endings): return row.isNull(2) ? .refused : .user(user, endings: endings)
        case .formerUser(let owner): return .formerUser(owner)
        case .unknown: return .refused
        }
    }

    // The identity of a user is looked up for each row by itself, so that the plan uses the index, whatever the tables
    // had when it was made. One array is read in a subquery: with its length, PostgreSQL would plan each time.
    //
    // If another transaction stores an identity first, its user and session are not stored here: nothing fails.
    private static let statement: SQL = {
        let profile = ["public_id"] + UserAttribute.columns + ProviderAssertions.columns + AttributeOrigins.columns
        let session = [
            "token_hash", "refresh_hash", "session_id", "client_id", "created_at", "expires_at", "refresh_expires_at",
            "device", "identity_hash", "provider_session_hash",
        ]
        let input = ["issuer", "subject"] + profile + session + ["fingerprint", "retry_ends_at", "endings"]
        let marks = ["(SELECT ?)"] + input.dropFirst().map { _ in "?" }
        func list(_ columns: [String]) -> String { columns.joined(separator: ", ") }
        return SQL.numbered(
            """
            WITH input AS (SELECT * FROM unnest(\(list(marks))) WITH ORDINALITY AS input (\(list(input)), place)), \
            known AS (SELECT input.place, found.* FROM input, LATERAL (\
            SELECT \(UsersTable.columns), identities.moved_by, \(UsersTable.signInColumns) \
            FROM identities JOIN users ON users.id = identities.user_id \
            WHERE identities.issuer = input.issuer AND identities.subject = input.subject \
            FOR NO KEY UPDATE OF users, identities) AS found), \
            newcomers AS MATERIALIZED (SELECT place, \
            nextval((SELECT pg_get_serial_sequence('users', 'id')::regclass)) AS id \
            FROM input WHERE public_id IS NOT NULL AND place NOT IN (SELECT place FROM known)), \
            new_identities AS (INSERT INTO identities (issuer, subject, user_id, created_at) \
            SELECT issuer, subject, id, created_at FROM newcomers JOIN input USING (place) ORDER BY place \
            ON CONFLICT DO NOTHING RETURNING user_id), \
            new_users AS (INSERT INTO users (id, \(list(profile)), created_at) \
            SELECT id, \(list(profile)), created_at FROM newcomers JOIN input USING (place) \
            WHERE id IN (SELECT user_id FROM new_identities) RETURNING id), \
            holders AS (SELECT place, id, sessions_ended FROM known WHERE moved_by IS NULL UNION ALL \
            SELECT place, id, 0 FROM newcomers JOIN new_users USING (id)), \
            given AS (\(RecentSignInsTable.insert) \
            SELECT fingerprint, id, session_id, sessions_ended, retry_ends_at FROM holders JOIN input USING (place) \
            WHERE fingerprint IS NOT NULL AND sessions_ended = COALESCE(endings, sessions_ended) \
            \(RecentSignInsTable.replace) RETURNING fingerprint), \
            stored AS (SELECT place, id FROM holders JOIN input USING (place) \
            WHERE fingerprint IS NULL OR fingerprint IN (SELECT fingerprint FROM given)), \
            new_sessions AS (INSERT INTO sessions (user_id, \(list(session).replacing("session_id", with: "id"))) \
            SELECT stored.id, \(list(session)) FROM stored JOIN input USING (place)) \
            SELECT input.place, new_users.id, stored.id, \(UsersTable.columns), users.moved_by, \
            \(UsersTable.signInColumns) FROM input LEFT JOIN known AS users USING (place) \
            LEFT JOIN stored USING (place) LEFT JOIN new_users ON new_users.id = stored.id ORDER BY input.place
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
