import Primitives
import StorageModel

/// The table `sessions`: each row a session and the refresh token that goes with it.
enum SessionsTable {
    /// - Parameters:
    ///   - identity: What signed in.
    ///   - providerSession: The session at its provider.
    static func insert(
        _ session: NewSession, for user: UserID, by identity: Identity?, _ providerSession: ProviderSessionHash? = nil,
        in db: SQLSession
    ) throws {
        var statement = try CachedStatement(db, insert)
        statement.bind(session.tokenHash)
        statement.bind(session.refreshTokenHash)
        statement.bind(session.id)
        statement.bind(user.number)
        statement.bind(session.clientID)
        statement.bind(session.createdAt.secondsSinceEpoch)
        statement.bind(session.expiresAt.secondsSinceEpoch)
        statement.bind(session.refreshExpiresAt.secondsSinceEpoch)
        statement.bind(session.device)
        statement.bind(blob: identity.map(OriginHash.of))
        statement.bind(blob: providerSession?.bytes)
        try statement.run()
    }

    /// The session of a token: of its present one, or of the one before for as long as the rotation's grace lasts.
    static func session(_ token: TokenHash, at now: Timestamp, in db: SQLSession) throws -> SessionAndUser? {
        try session(token, at: now, sessionByToken, in: db) ?? session(token, at: now, sessionByLastToken, in: db)
    }

    private static func session(
        _ token: TokenHash, at now: Timestamp, _ sql: String, in db: SQLSession
    ) throws -> SessionAndUser? {
        var query = try CachedStatement(db, sql)
        query.bind(token)
        query.bind(now.secondsSinceEpoch)
        return try query.next() ? session(in: query) : nil
    }

    /// Reads a row that begins with `id, client_id, created_at, expires_at` and the user's columns.
    static func session(in query: borrowing CachedStatement) throws -> SessionAndUser {
        let user = try UsersTable.user(in: query, from: 4)
        let session = Session(
            id: try query.requiredText(0), userID: user.id, clientID: try query.requiredText(1),
            createdAt: Timestamp(secondsSinceEpoch: query.number(2)),
            expiresAt: Timestamp(secondsSinceEpoch: query.number(3)))
        return SessionAndUser(session: session, user: user)
    }

    private static let insert = """
        INSERT INTO sessions (token_hash, refresh_hash, id, user_id, client_id, created_at, expires_at, \
        refresh_expires_at, device, identity_hash, provider_session_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    private static let sessionByToken = """
        SELECT sessions.id, sessions.client_id, sessions.created_at, sessions.expires_at, \(UsersTable.columns) \
        FROM sessions JOIN users ON users.id = sessions.user_id \
        WHERE sessions.token_hash = ? AND sessions.expires_at > ?
        """
    private static let sessionByLastToken = """
        SELECT sessions.id, sessions.client_id, sessions.created_at, last_rotations.token_expires_at, \
        \(UsersTable.columns) FROM last_rotations JOIN sessions ON sessions.serial = last_rotations.session \
        JOIN users ON users.id = sessions.user_id \
        WHERE last_rotations.token_hash = ? AND last_rotations.token_expires_at > ?
        """
}
