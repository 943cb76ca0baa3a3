package import Primitives
package import StorageModel

/// The table `provider_tokens`, as sign-ins write it. The feature that refreshes the tokens has its other statements.
package enum ProviderTokensTable {
    // One row for each identity and client; it is deleted with the identity and with the user. `serial` is never
    // reused, so that a process that has read a row cannot change a later one.
    //
    // claimed_until: set while a process has the lease. refresh_holder: which process has it; NULL without a lease.
    //
    // refresh_hash, refresh_started_at: the refresh request whose result was not stored.
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
            refresh_hash BLOB,
            refresh_started_at INTEGER,
            refresh_holder TEXT,
            FOREIGN KEY (issuer, subject) REFERENCES identities (issuer, subject) ON DELETE CASCADE
        ) STRICT;
        CREATE UNIQUE INDEX provider_tokens_by_identity ON provider_tokens (issuer, subject, provider, client_id);
        CREATE INDEX provider_tokens_by_user ON provider_tokens (user_id, provider, client_id);
        CREATE INDEX provider_tokens_by_expiry ON provider_tokens (expires_at) WHERE expires_at IS NOT NULL;
        """

    /// Seals tokens for a user and stores them. A lease and its request stay, because the stored refresh token may
    /// still be the one that was sent.
    /// - Parameter replacing: Whether they replace stored tokens of the same binding.
    package static func put(
        _ tokens: NewProviderTokens, of identity: Identity, _ user: UserID, at now: Timestamp,
        replacing: Bool = true, in db: SQLSession
    ) throws {
        let binding = TokenBinding(user: user, identity: identity, provider: tokens.provider, clientID: tokens.clientID)
        let earlier = try db.first(
            db.locking(selectByIdentity), identity, binding.provider, binding.clientID, read: ProviderTokenRecord.init)
        guard earlier == nil || replacing else { return }
        // The earlier tokens can be opened for their own user only.
        let sealed = try tokens.seal(binding, earlier?.binding == binding ? earlier : nil)
        if let earlier {
            try db.perform(
                """
                UPDATE provider_tokens SET key_id = ?, content = ?, expires_at = ?, stored_at = ?, user_id = ?, \
                version = version + 1 WHERE serial = ?
                """, sealed.keyID, sealed.content, sealed.expiresAt, now, user, earlier.serial)
        } else {
            try db.perform(
                """
                INSERT INTO provider_tokens (key_id, content, expires_at, stored_at, user_id, issuer, subject, \
                provider, client_id, version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1)
                """, sealed.keyID, sealed.content, sealed.expiresAt, now, user, identity, binding.provider,
                binding.clientID)
        }
    }

    /// How many rows are encrypted with each key.
    package static func counts(in db: SQLSession) throws -> [String: Int] {
        try db.counts("SELECT key_id, count(*) FROM provider_tokens GROUP BY key_id")
    }

    package static let select = """
        SELECT serial, user_id, issuer, subject, provider, client_id, key_id, content, expires_at, version, \
        claimed_until, refresh_holder, refresh_hash, refresh_started_at FROM provider_tokens
        """
    private static let selectByIdentity =
        SQL.numbered("\(select) WHERE issuer = ? AND subject = ? AND provider = ? AND client_id = ?")
}

extension ProviderTokenRecord {
    package init(_ row: borrowing CachedStatement) throws {
        self.init(
            serial: row.number(0),
            binding: TokenBinding(
                user: row.user(1), identity: try row.identity(from: 2), provider: try row.text(4),
                clientID: try row.text(5)),
            sealed: SealedTokens(keyID: try row.text(6), content: row.blob(7), expiresAt: row.optionalTime(8)),
            version: row.number(9),
            lease: row.isNull(10) ? nil : Lease(holder: row.optionalText(11)),
            request: row.optionalHash(12).map { Request(refreshToken: $0, startedAt: row.time(13)) })
    }
}
