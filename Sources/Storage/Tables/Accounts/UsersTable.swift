import Primitives
import StorageModel

/// The tables `users` and `identities`.
enum UsersTable {
    static let columns = (["id", "public_id"] + UserAttribute.columns + ["created_at"])
        .map { "users.\($0)" }.joined(separator: ", ")

    /// Reads the ten ``columns``, the first of which stands at `first`.
    static func user(in row: borrowing CachedStatement, from first: CInt = 0) throws -> User {
        User(
            id: UserID(row.number(first)), publicID: try row.requiredText(first + 1),
            profile: row.profile(from: first + 2), createdAt: Timestamp(secondsSinceEpoch: row.number(first + 9)))
    }

    /// The user whom an identity signs in; nil also for one that the account was moved away from.
    static func user(_ identity: Identity, in db: SQLSession) throws -> User? {
        var query = try CachedStatement(db, userByIdentity)
        query.bind(identity.issuer)
        query.bind(identity.subject)
        return try query.next() ? user(in: query) : nil
    }

    static func user(_ id: UserID, in db: SQLSession) throws -> User? {
        var query = try CachedStatement(db, userByID)
        query.bind(id.number)
        return try query.next() ? user(in: query) : nil
    }

    /// Makes a user for an identity that has none.
    static func insert(
        _ identity: Identity, publicID: String, profile: Profile, at now: Timestamp, in db: SQLSession
    ) throws -> User {
        let id = UserID(try insertUser(publicID: publicID, profile: profile, at: now, in: db))
        var statement = try CachedStatement(db, insertIdentity)
        statement.bind(identity.issuer)
        statement.bind(identity.subject)
        statement.bind(id.number)
        statement.bind(now.secondsSinceEpoch)
        try statement.run()
        return User(id: id, publicID: publicID, profile: profile, createdAt: now)
    }

    private static func insertUser(
        publicID: String, profile: Profile, at now: Timestamp, in db: SQLSession
    ) throws -> Int64 {
        var statement = try CachedStatement(db, insertUser, numberedBy: "id")
        statement.bind(publicID)
        statement.bind(profile)
        statement.bind(now.secondsSinceEpoch)
        return try statement.runForNumber()
    }

    /// Stores what `profile` has and the user's profile lacks. Returns the user as now on record.
    static func fill(_ user: User, with profile: Profile, in db: SQLSession) throws -> User {
        try replaceProfile(of: user, by: user.profile.filled(with: profile), in: db)
    }

    /// Stores another profile, if it is another. Returns the user as now on record.
    static func replaceProfile(of user: User, by profile: Profile, in db: SQLSession) throws -> User {
        guard profile != user.profile else { return user }
        var user = user
        user.profile = profile
        var statement = try CachedStatement(db, updateProfile)
        statement.bind(profile)
        statement.bind(user.id.number)
        try statement.run()
        return user
    }

    /// Erases the user, and with the row whatever refers to it, and what waits to be registered under the same
    /// identities.
    static func delete(_ id: UserID, in db: SQLSession) throws -> Bool {
        var pending = try CachedStatement(db, deletePendingRegistrations)
        pending.bind(id.number)
        try pending.run()
        var statement = try CachedStatement(db, "DELETE FROM users WHERE id = ?")
        statement.bind(id.number)
        try statement.run()
        return db.changesCount > 0
    }

    private static let userByIdentity = """
        SELECT \(columns) FROM identities JOIN users ON users.id = identities.user_id \
        WHERE identities.issuer = ? AND identities.subject = ? AND identities.moved_by IS NULL
        """
    private static let userByID = "SELECT \(columns) FROM users WHERE id = ?"
    private static let insertUser = """
        INSERT INTO users (public_id, \(UserAttribute.columns.joined(separator: ", ")), created_at) \
        VALUES (?, \(UserAttribute.columns.map { _ in "?" }.joined(separator: ", ")), ?)
        """
    private static let insertIdentity =
        "INSERT INTO identities (issuer, subject, user_id, created_at) VALUES (?, ?, ?, ?)"
    private static let updateProfile = """
        UPDATE users SET \(UserAttribute.columns.map { "\($0) = ?" }.joined(separator: ", ")) WHERE id = ?
        """
    private static let deletePendingRegistrations = """
        DELETE FROM pending_registrations WHERE (issuer, subject) IN \
        (SELECT issuer, subject FROM identities WHERE user_id = ?)
        """
}
