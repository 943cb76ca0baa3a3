import Primitives
package import StorageModel

/// The tables `users` and `identities`.
enum UsersTable {
    static let columns = (["id", "public_id"] + UserAttribute.columns + ["created_at"])
        .map { "users.\($0)" }.joined(separator: ", ")

    /// Reads the ten ``columns``, the first of which is `first`.
    static func user(in row: borrowing CachedStatement, from first: CInt = 0) throws -> User {
        User(
            id: row.user(first), publicID: try row.text(first + 1), profile: row.profile(from: first + 2),
            createdAt: row.time(first + 9))
    }

    /// The holder of an identity.
    enum Holder {
        /// The identity signs this user in. With the number of times that sessions of the user were ended.
        case user(User, endings: Int64)
        /// The account of this user was moved away from the identity.
        case formerUser(UserID)
        /// The identity is not stored.
        case unknown
    }

    static func holder(of identity: Identity, in db: SQLSession) throws -> Holder {
        try db.first(holderOfIdentity, identity) { try holder(in: $0) } ?? .unknown
    }

    /// Reads the ``columns``, `moved_by` and `sessions_ended`.
    static func holder(in row: borrowing CachedStatement) throws -> Holder {
        row.isNull(10) ? .user(try user(in: row), endings: row.number(11)) : .formerUser(row.user(0))
    }

    /// The user whom an identity signs in; nil also for an identity that the account was moved away from.
    static func user(_ identity: Identity, in db: SQLSession) throws -> User? {
        guard case .user(let user, _) = try holder(of: identity, in: db) else { return nil }
        return user
    }

    static func user(_ id: UserID, in db: SQLSession) throws -> User? {
        try db.first(userByID, id) { try user(in: $0) }
    }

    /// Makes a user for an identity that has none.
    static func insert(
        _ identity: Identity, publicID: String, profile: Profile, at now: Timestamp, in db: SQLSession
    ) throws -> User {
        let id = UserID(try db.insert(insertUser, publicID, profile, now, numbering: "id"))
        try IdentitiesTable.insert(identity, of: id, at: now, in: db)
        return User(id: id, publicID: publicID, profile: profile, createdAt: now)
    }

    /// Stores what `profile` has and the user's profile lacks. Returns the user as stored now.
    static func fill(_ user: User, with profile: Profile, in db: SQLSession) throws -> User {
        try replaceProfile(of: user, by: user.profile.filled(with: profile), in: db)
    }

    /// Stores a profile, if it differs. Returns the user as stored now.
    fileprivate static func replaceProfile(of user: User, by profile: Profile, in db: SQLSession) throws -> User {
        guard profile != user.profile else { return user }
        var user = user
        user.profile = profile
        try db.perform(updateProfile, profile, user.id)
        return user
    }

    /// Erases the user, with all rows that refer to it, and the pending registrations of its identities.
    static func delete(_ id: UserID, in db: SQLSession) throws -> Bool {
        try db.perform(deletePendingRegistrations, id)
        try RecentSignInsTable.keep("user_id = ?", id, in: db)
        return try db.run("DELETE FROM users WHERE id = ?", id) > 0
    }

    private static let holderOfIdentity = SQL.numbered(
        """
        SELECT \(columns), identities.moved_by, users.sessions_ended \
        FROM identities JOIN users ON users.id = identities.user_id \
        WHERE identities.issuer = ? AND identities.subject = ?
        """)
    private static let userByID = SQL.numbered("SELECT \(columns) FROM users WHERE id = ?")
    private static let insertUser = SQL.numbered(
        """
        INSERT INTO users (public_id, \(UserAttribute.columns.joined(separator: ", ")), created_at) \
        VALUES (?, \(UserAttribute.columns.map { _ in "?" }.joined(separator: ", ")), ?)
        """)
    private static let updateProfile = SQL.numbered(
        """
        UPDATE users SET \(UserAttribute.columns.map { "\($0) = ?" }.joined(separator: ", ")) WHERE id = ?
        """)
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
        try await writes.submit { db in
            guard try SessionsTable.holds(session, of: user, in: db), let found = try UsersTable.user(user, in: db)
            else { return nil }
            let edited = try UsersTable.replaceProfile(of: found, by: change.applied(to: found.profile), in: db)
            if edited != found { try AuditTable.insert(event, in: db) }
            return edited
        }
    }

    package func deleteUser(
        _ user: UserID, in session: String?, recording event: AuditEvent?
    ) async throws(StorageError) -> Bool {
        try await writes.submit { db in
            if let session, try !SessionsTable.holds(session, of: user, in: db) { return false }
            guard try UsersTable.delete(user, in: db) else { return false }
            if let event { try AuditTable.insert(event, in: db) }
            return true
        }
    }
}

// MARK: For operators

extension SQLStore {
    /// The users that a search finds, at most `limit`, the oldest first. A search by e-mail address, phone number or
    /// public id reads all users: operators need it rarely.
    package func users(_ search: UserSearch, limit: Int) async throws(StorageError) -> [User] {
        try await reads.submit { db in
            func users<each Value: SQLValue>(_ condition: String, _ values: repeat each Value) throws -> [User] {
                try db.all(
                    "SELECT \(UsersTable.columns) FROM users WHERE \(condition) ORDER BY id LIMIT ?",
                    repeat each values, Int64(limit)
                ) { try UsersTable.user(in: $0) }
            }
            return switch search {
            case .number(let user): try users("id = ?", user)
            case .publicID(let text): try users("public_id = ?", text)
            case .email(let text): try users("lower(email) = ?", text.lowercasedASCII)
            case .phoneNumber(let text): try users("phone_number = ?", text)
            case .identity(let identity):
                try users("id = (SELECT user_id FROM identities WHERE issuer = ? AND subject = ?)", identity)
            }
        }
    }

    /// All that is stored of a user; nil if there is none.
    package func account(of user: UserID) async throws(StorageError) -> AccountRecord? {
        try await reads.submit { db in
            guard let found = try UsersTable.user(user, in: db) else { return nil }
            let identities = try IdentitiesTable.rows(of: user, in: db).map { row in
                AccountRecord.KeptIdentity(
                    identity: row.identity, createdAt: row.createdAt, arrivedBy: row.arrivedBy, movedBy: row.movedBy)
            }
            return AccountRecord(
                user: found, identities: identities, moves: try IdentityMovesTable.moves(of: user, in: db),
                sessionCount: Int(try db.number("SELECT count(*) FROM sessions WHERE user_id = ?", user)))
        }
    }
}

extension String {
    /// Lower case as the databases' `lower` makes it, which changes ASCII letters only.
    fileprivate var lowercasedASCII: String {
        String(decoding: utf8.map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
