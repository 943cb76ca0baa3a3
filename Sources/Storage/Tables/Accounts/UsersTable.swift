package import Primitives
package import StorageModel

/// The tables `users` and `identities`.
package enum UsersTable {
    private static let columnNames =
        ["id", "public_id"] + UserAttribute.columns + ["created_at"] + ProviderAssertions.columns
    package static let columns = list(columnNames)
    /// How many ``columns`` there are.
    package static let columnCount = CInt(columnNames.count)
    /// The columns that a sign-in needs besides ``columns``.
    package static let signInColumns = list(["sessions_ended"] + AttributeOrigins.columns)

    private static func list(_ columns: [String]) -> String {
        columns.map { "users.\($0)" }.joined(separator: ", ")
    }

    /// The id of the key that a user's claims are encrypted with; empty if they are not encrypted.
    package static let claimKey =
        "CASE substr(provider_claims, 1, 1) WHEN '{' THEN '' ELSE substr(provider_claims, 1, 16) END"

    /// How many users' claims are encrypted with each key.
    package static func claimCounts(in db: SQLSession) throws -> [String: Int] {
        try db.counts("SELECT \(claimKey), count(*) FROM users WHERE provider_claims IS NOT NULL GROUP BY 1")
    }

    /// Reads the ``columns``, the first of which is `first`.
    package static func user(in row: borrowing CachedStatement, from first: CInt = 0) throws -> User {
        let next = first + 2 + UserAttribute.columnCount
        return User(
            id: row.user(first), publicID: try row.text(first + 1), profile: row.profile(from: first + 2),
            assertions: row.assertions(from: next + 1), createdAt: row.time(next))
    }

    /// The holder of an identity.
    package enum Holder {
        /// The identity signs this user in. With the number of times that sessions of the user were ended.
        case user(TrackedUser, endings: Int64)
        /// The account of this user was moved away from the identity.
        case formerUser(UserID)
        /// The identity is not stored.
        case unknown
    }

    static func holder(of identity: Identity, in db: SQLSession) throws -> Holder {
        try db.first(holderOfIdentity, identity) { try holder(in: $0) } ?? .unknown
    }

    /// The same for a write that gives the user a session: the user and the identity stay as they are until it commits.
    static func lockedHolder(of identity: Identity, in db: SQLSession) throws -> Holder {
        try IdentitiesTable.locked(holderOfIdentity, identity, in: db) { try holder(in: $0) } ?? .unknown
    }

    /// Reads the ``columns``, `moved_by` and the ``signInColumns``.
    package static func holder(in row: borrowing CachedStatement, from first: CInt = 0) throws -> Holder {
        let next = first + columnCount
        guard row.isNull(next) else { return .formerUser(row.user(first)) }
        return .user(
            TrackedUser(try user(in: row, from: first), row.origins(from: next + 2)), endings: row.number(next + 1))
    }

    /// The user whom an identity signs in; nil also for an identity that the account was moved away from.
    package static func user(_ identity: Identity, in db: SQLSession) throws -> User? {
        guard case .user(let found, _) = try holder(of: identity, in: db) else { return nil }
        return found.user
    }

    package static func user(_ id: UserID, in db: SQLSession) throws -> User? {
        try db.first(userByID, id) { try user(in: $0) }
    }

    /// Makes a user for an identity that has none.
    /// - Parameters:
    ///   - asserted: The provider's claims about the user.
    ///   - flags: Which of them the provider verified.
    ///   - claims: The further claims, as they are stored.
    package static func insert(
        _ identity: Identity, publicID: String, profile: Profile, asserted: Profile, _ flags: VerifiedFlags,
        claims: String?, at now: Timestamp, in db: SQLSession
    ) throws -> User {
        let user = TrackedUser(
            new: User(id: UserID(0), publicID: publicID, profile: profile, createdAt: now), asserted: asserted, flags,
            claims: claims, by: identity.issuer, at: now)
        let assertions = user.user.assertions
        let number = try db.insert(
            insertUser, publicID, profile, now, AssertionColumns(values: assertions), user.origins, numbering: "id")
        let id = UserID(number)
        try IdentitiesTable.insert(identity, of: id, at: now, in: db)
        return User(id: id, publicID: publicID, profile: profile, assertions: assertions, createdAt: now)
    }

    /// Gives a user what the provider tells at a sign-in, and stores what changed.
    /// - Parameter wasMoved: Whether the sign-in moved the account to its identity.
    /// - Returns: Whether the user or the origins of the profile changed.
    package static func update(
        _ user: inout TrackedUser, by signIn: SignInRecord, wasMoved: Bool = false, in db: SQLSession
    ) throws -> Bool {
        guard let asserted = signIn.profile else { return false }
        let stored = user
        try user.update(
            with: asserted, signIn.verified, claims: signIn.claims, from: signIn.identity.issuer,
            at: signIn.session.createdAt
        ) {
            // A profile stops following a provider that does not sign its user in any more.
            guard !wasMoved, let issuer = stored.origins.issuer else { return true }
            return try !IdentitiesTable.holds(issuer, user: stored.user.id, in: db)
        }
        guard try replace(stored, by: user, in: db) else { return false }
        let (before, after) = (stored.user.profile, user.user.profile)
        let changed = UserAttribute.allCases.filter { before[$0] != after[$0] }
        if !changed.isEmpty {
            let details = AuditDetails { json in
                json.add("attributes", changed.map(\.rawValue))
                json.add("issuer", signIn.identity.issuer)
            }
            try AuditTable.insert(
                AuditEvent(
                    at: signIn.session.createdAt, .userUpdated, user: user.user.id, by: .client(signIn.identity.issuer),
                    requestID: signIn.requestID, details: details), in: db)
        }
        return true
    }

    /// Stores a user, if there is a difference. Returns whether there was.
    package static func replace(_ user: TrackedUser, by updated: TrackedUser, in db: SQLSession) throws -> Bool {
        guard updated != user else { return false }
        let stored = updated.user
        try db.perform(
            updateUser, stored.profile, AssertionColumns(values: stored.assertions), updated.origins, stored.id)
        return true
    }

    /// The user with the origins of the profile, for a write that changes it.
    package static func trackedUser(_ id: UserID, in db: SQLSession) throws -> TrackedUser? {
        try db.first(db.locking("SELECT \(columns), \(signInColumns) FROM users WHERE id = ?"), id) { row in
            TrackedUser(try user(in: row), row.origins(from: columnCount + 1))
        }
    }

    /// Whether a provider vouches for the e-mail address of a user. Compared without letter case.
    package static func hasVerified(email: String, in db: SQLSession) throws -> Bool {
        try db.exists(
            "SELECT 1 FROM users WHERE lower(email) = ? AND email_verified_at IS NOT NULL", email.lowercasedASCII)
    }

    /// Erases the user, with all rows that refer to it, the pending registrations of its identities, and the details of
    /// its audit events.
    package static func delete(_ id: UserID, in db: SQLSession) throws -> Bool {
        try db.perform(deletePendingRegistrations, id)
        try RecentSignInsTable.keep("user_id = ?", id, in: db)
        guard try db.run("DELETE FROM users WHERE id = ?", id) > 0 else { return false }
        try AuditTable.eraseDetails(of: id, in: db)
        return true
    }

    private static let holderOfIdentity = SQL.numbered(
        """
        SELECT \(columns), identities.moved_by, \(signInColumns) \
        FROM identities JOIN users ON users.id = identities.user_id \
        WHERE identities.issuer = ? AND identities.subject = ?
        """)
    private static let userByID = SQL.numbered("SELECT \(columns) FROM users WHERE id = ?")
    private static let trackedColumns = ProviderAssertions.columns + AttributeOrigins.columns
    private static let insertUser: SQL = {
        let columns = ["public_id"] + UserAttribute.columns + ["created_at"] + trackedColumns
        return SQL.numbered(
            """
            INSERT INTO users (\(columns.joined(separator: ", "))) \
            VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))
            """)
    }()
    private static let updateUser: SQL = {
        let columns = UserAttribute.columns + trackedColumns
        return SQL.numbered("UPDATE users SET \(columns.map { "\($0) = ?" }.joined(separator: ", ")) WHERE id = ?")
    }()
    private static let deletePendingRegistrations = SQL.numbered(
        """
        DELETE FROM pending_registrations WHERE (issuer, subject) IN \
        (SELECT issuer, subject FROM identities WHERE user_id = ?)
        """)
}

extension SQLStore {
    package func editProfile(
        of user: UserID, in session: String, _ change: ProfileChange, recording event: AuditEvent
    ) async throws(StorageError) -> User? {
        try await writes.submit(locking: [.user(user)]) { db in
            guard try SessionsTable.holds(session, of: user, in: db),
                let found = try UsersTable.trackedUser(user, in: db)
            else { return nil }
            var edited = found
            edited.edit(change)
            if try UsersTable.replace(found, by: edited, in: db) { try AuditTable.insert(event, in: db) }
            return edited.user
        }
    }

    package func deleteUser(
        _ user: UserID, in session: String?, recording event: AuditEvent?
    ) async throws(StorageError) -> Bool {
        try await writes.submit(locking: [.user(user)]) { db in
            if let session, try !SessionsTable.holds(session, of: user, in: db) { return false }
            guard try UsersTable.delete(user, in: db) else { return false }
            if let event { try AuditTable.insert(event, in: db) }
            return true
        }
    }
}

extension String {
    /// Lower case as the databases' `lower` makes it, which changes ASCII letters only.
    package var lowercasedASCII: String {
        String(decoding: utf8.map(\.lowercasedASCII), as: UTF8.self)
    }
}
