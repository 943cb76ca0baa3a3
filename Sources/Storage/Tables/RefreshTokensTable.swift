import Primitives
import StorageModel

/// The tables `spent_refresh_tokens` and `last_rotations`, beside the live refresh tokens in `sessions`.
///
/// A session has one row in `spent_refresh_tokens` from its first rotation on, of its family; what shows that family and is
/// not the live token is spent. Sessions of earlier versions have further rows, of tokens that were spent then.
enum RefreshTokensTable {
    static func state(of token: RefreshTokenHashes, at now: Timestamp, in db: SQLSession) throws -> RefreshTokenState {
        if let found = try live(token.token, at: now, in: db) { return .live(found) }
        var query = try CachedStatement(db, selectSpent)
        query.bind(token.token)
        query.bind(token.family)
        query.bind(now.secondsSinceEpoch)
        guard try query.next() else { return .unknown }
        let found = try SessionsTable.session(in: query)
        // The last rotation's columns are NULL if it was of another token, or is gone.
        guard let caller = query.optionalHash(15), query.number(16) > now.secondsSinceEpoch else {
            return .spent(found)
        }
        return .justSpent(found, LastRotation(salt: query.blob(14), caller: caller))
    }

    private static func live(_ token: TokenHash, at now: Timestamp, in db: SQLSession) throws -> SessionAndUser? {
        var query = try CachedStatement(db, selectLive)
        query.bind(token)
        query.bind(now.secondsSinceEpoch)
        return try query.next() ? SessionsTable.session(in: query) : nil
    }

    /// Puts a session's new tokens in the place of the old, and remembers those; false if the presented token is not
    /// the live one.
    static func rotate(_ rotation: RefreshTokenRotation, in db: SQLSession) throws -> Bool {
        guard let old = try Row(of: rotation.presented.token, in: db) else { return false }
        try replaceTokens(of: old, by: rotation.successor, in: db)
        try remember(rotation, of: old, in: db)
        try addFamily(rotation.presented.family, of: old, in: db)
        return true
    }

    /// A session as it is before a rotation.
    private struct Row {
        let serial: Int64
        let tokenHash: TokenHash
        let expiresAt: Int64
        let rotations: Int64

        init?(of refreshToken: TokenHash, in db: SQLSession) throws {
            var query = try CachedStatement(db, selectRow)
            query.bind(refreshToken)
            guard try query.next() else { return nil }
            serial = query.number(0)
            tokenHash = try query.hash(1)
            expiresAt = query.number(2)
            rotations = query.number(3)
        }
    }

    private static func replaceTokens(
        of old: Row, by successor: RefreshTokenRotation.Successor, in db: SQLSession
    ) throws {
        var statement = try CachedStatement(db, updateTokens)
        statement.bind(successor.tokenHash)
        statement.bind(successor.refreshTokenHash)
        statement.bind(successor.expiresAt.secondsSinceEpoch)
        statement.bind(successor.refreshExpiresAt.secondsSinceEpoch)
        statement.bind(old.serial)
        try statement.run()
    }

    private static func remember(_ rotation: RefreshTokenRotation, of old: Row, in db: SQLSession) throws {
        var statement = try CachedStatement(db, replaceLast)
        statement.bind(old.serial)
        statement.bind(rotation.presented.token)
        statement.bind(blob: rotation.last.salt)
        statement.bind(rotation.last.caller)
        statement.bind(rotation.graceEndsAt.secondsSinceEpoch)
        statement.bind(old.tokenHash)
        statement.bind(min(old.expiresAt, rotation.graceEndsAt.secondsSinceEpoch))
        try statement.run()
    }

    /// Once for a session: at its first rotation.
    private static func addFamily(_ family: TokenHash, of old: Row, in db: SQLSession) throws {
        var statement = try CachedStatement(db, insertFamily)
        statement.bind(family)
        statement.bind(old.serial)
        statement.bind(old.rotations + 1)
        try statement.run()
    }

    private static let columns = """
        sessions.id, sessions.client_id, sessions.created_at, sessions.expires_at, \(UsersTable.columns)
        """
    private static let selectLive = """
        SELECT \(columns) FROM sessions JOIN users ON users.id = sessions.user_id \
        WHERE sessions.refresh_hash = ? AND sessions.refresh_expires_at > ?
        """
    private static let selectSpent = """
        SELECT \(columns), last_rotations.salt, last_rotations.caller, last_rotations.grace_ends_at \
        FROM spent_refresh_tokens AS spent JOIN sessions ON sessions.serial = spent.session \
        JOIN users ON users.id = sessions.user_id LEFT JOIN last_rotations \
        ON last_rotations.session = spent.session AND last_rotations.refresh_hash = ?1 \
        WHERE spent.refresh_hash IN (?1, ?2) AND sessions.refresh_expires_at > ?3
        """
    private static let selectRow =
        "SELECT serial, token_hash, expires_at, rotations FROM sessions WHERE refresh_hash = ?"
    private static let updateTokens = """
        UPDATE sessions SET token_hash = ?, refresh_hash = ?, expires_at = ?, refresh_expires_at = ?, \
        rotations = rotations + 1 WHERE serial = ?
        """
    private static let replaceLast = """
        INSERT INTO last_rotations (session, refresh_hash, salt, caller, grace_ends_at, token_hash, token_expires_at) \
        VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session) DO UPDATE SET refresh_hash = excluded.refresh_hash, \
        salt = excluded.salt, caller = excluded.caller, grace_ends_at = excluded.grace_ends_at, \
        token_hash = excluded.token_hash, token_expires_at = excluded.token_expires_at
        """
    private static let insertFamily = """
        INSERT INTO spent_refresh_tokens (refresh_hash, session, number) VALUES (?, ?, ?) ON CONFLICT DO NOTHING
        """
}
