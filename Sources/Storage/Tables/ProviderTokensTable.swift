import Primitives
import StorageModel

/// The table `provider_tokens`.
enum ProviderTokensTable {
    // One row for each identity and client: it goes with the identity, and with the user. `serial` is never used again, so
    // that nobody who has seen a row changes the one that came after it.
    static let schema = """
        CREATE TABLE provider_tokens (
            serial INTEGER PRIMARY KEY AUTOINCREMENT,
            user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            issuer TEXT NOT NULL,
            subject TEXT NOT NULL,
            provider TEXT NOT NULL,
            client_id TEXT NOT NULL,
            key_id TEXT NOT NULL,
            content BLOB NOT NULL,
            expires_at INTEGER,
            stored_at INTEGER NOT NULL,
            version INTEGER NOT NULL,
            claimed_until INTEGER,
            FOREIGN KEY (issuer, subject) REFERENCES identities (issuer, subject) ON DELETE CASCADE
        ) STRICT;
        CREATE UNIQUE INDEX provider_tokens_by_identity ON provider_tokens (issuer, subject, provider, client_id);
        CREATE INDEX provider_tokens_by_user ON provider_tokens (user_id, provider, client_id);
        CREATE INDEX provider_tokens_by_expiry ON provider_tokens (expires_at) WHERE expires_at IS NOT NULL;
        """

    /// Seals tokens for a user and stores them.
    /// - Parameter replacing: Whether they take the place of those that are there.
    static func put(
        _ tokens: NewProviderTokens, of identity: Identity, _ user: UserID, at now: Timestamp,
        replacing: Bool = true, in db: SQLSession
    ) throws {
        let binding = TokenBinding(
            user: user, identity: identity, provider: tokens.provider, clientID: tokens.clientID)
        let earlier = try record(at: binding, in: db)
        guard earlier == nil || replacing else { return }
        // Only for its own user could that be opened.
        let sealed = try tokens.seal(binding, earlier?.binding == binding ? earlier : nil)
        var statement = try CachedStatement(db, earlier == nil ? insert : update)
        statement.bind(sealed.keyID)
        statement.bind(blob: sealed.content)
        statement.bind(sealed.expiresAt?.secondsSinceEpoch)
        statement.bind(now.secondsSinceEpoch)
        statement.bind(user.number)
        if let earlier {
            statement.bind(earlier.serial)
        } else {
            statement.bind(identity.issuer)
            statement.bind(identity.subject)
            statement.bind(binding.provider)
            statement.bind(binding.clientID)
        }
        try statement.run()
    }

    static func record(
        of user: UserID, provider: String, clientID: String, in db: SQLSession
    ) throws -> ProviderTokenRecord? {
        var query = try CachedStatement(
            db,
            "\(select) WHERE user_id = ? AND provider = ? AND client_id = ? ORDER BY stored_at DESC, serial DESC LIMIT 1"
        )
        query.bind(user.number)
        query.bind(provider)
        query.bind(clientID)
        return try query.next() ? record(in: query) : nil
    }

    private static func record(at binding: TokenBinding, in db: SQLSession) throws -> ProviderTokenRecord? {
        var query = try CachedStatement(
            db, "\(select) WHERE issuer = ? AND subject = ? AND provider = ? AND client_id = ?")
        query.bind(binding.identity.issuer)
        query.bind(binding.identity.subject)
        query.bind(binding.provider)
        query.bind(binding.clientID)
        return try query.next() ? record(in: query) : nil
    }

    static func claim(
        _ serial: Int64, version: Int64, until end: Timestamp, at now: Timestamp, in db: SQLSession
    ) throws -> Bool {
        var statement = try CachedStatement(db, claim)
        statement.bind(end.secondsSinceEpoch)
        statement.bind(serial)
        statement.bind(version)
        statement.bind(now.secondsSinceEpoch)
        try statement.run()
        return db.changesCount > 0
    }

    static func release(_ serial: Int64, version: Int64, in db: SQLSession) throws {
        var statement = try CachedStatement(
            db, "UPDATE provider_tokens SET claimed_until = NULL WHERE serial = ? AND version = ?")
        statement.bind(serial)
        statement.bind(version)
        try statement.run()
    }

    static func replace(
        _ serial: Int64, version: Int64, with sealed: SealedTokens, in db: SQLSession
    ) throws -> Bool {
        var statement = try CachedStatement(db, replace)
        statement.bind(sealed.keyID)
        statement.bind(blob: sealed.content)
        statement.bind(sealed.expiresAt?.secondsSinceEpoch)
        statement.bind(serial)
        statement.bind(version)
        try statement.run()
        return db.changesCount > 0
    }

    static func delete(_ serial: Int64, version: Int64, in db: SQLSession) throws -> Bool {
        var statement = try CachedStatement(db, "DELETE FROM provider_tokens WHERE serial = ? AND version = ?")
        statement.bind(serial)
        statement.bind(version)
        try statement.run()
        return db.changesCount > 0
    }

    static func record(in row: borrowing CachedStatement) throws -> ProviderTokenRecord {
        ProviderTokenRecord(
            serial: row.number(0),
            binding: TokenBinding(
                user: UserID(row.number(1)),
                identity: Identity(issuer: try row.requiredText(2), subject: try row.requiredText(3)),
                provider: try row.requiredText(4), clientID: try row.requiredText(5)),
            sealed: SealedTokens(
                keyID: try row.requiredText(6), content: row.blob(7),
                expiresAt: row.isNull(8) ? nil : Timestamp(secondsSinceEpoch: row.number(8))),
            version: row.number(9))
    }

    static let select = """
        SELECT serial, user_id, issuer, subject, provider, client_id, key_id, content, expires_at, version \
        FROM provider_tokens
        """
    private static let insert = """
        INSERT INTO provider_tokens (key_id, content, expires_at, stored_at, user_id, issuer, subject, provider, \
        client_id, version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1)
        """
    private static let update = """
        UPDATE provider_tokens SET key_id = ?, content = ?, expires_at = ?, stored_at = ?, user_id = ?, \
        version = version + 1, claimed_until = NULL WHERE serial = ?
        """
    private static let claim = """
        UPDATE provider_tokens SET version = version + 1, claimed_until = ? WHERE serial = ? AND version = ? \
        AND (claimed_until IS NULL OR claimed_until <= ?)
        """
    private static let replace = """
        UPDATE provider_tokens SET key_id = ?, content = ?, expires_at = ?, version = version + 1, \
        claimed_until = NULL WHERE serial = ? AND version = ?
        """
}
