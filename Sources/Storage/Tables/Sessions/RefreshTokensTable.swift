package import Primitives
package import StorageModel

/// The tables `spent_refresh_tokens` and `last_rotations`, beside the live refresh tokens in `sessions`.
///
/// A session has one row in `spent_refresh_tokens` from its first rotation on, that of its family: a token of that
/// family that is not the live one is spent. Sessions of earlier versions have further rows, of tokens spent at that
/// time.
private enum RefreshTokensTable {
    static let selectLive = SQL.numbered(
        """
        SELECT \(SessionsTable.columns) FROM sessions JOIN users ON users.id = sessions.user_id \
        WHERE sessions.refresh_hash = ? AND sessions.refresh_expires_at > ?
        """)
    static let selectSpent = SQL.numbered(
        """
        SELECT \(SessionsTable.columns), last_rotations.salt, last_rotations.caller \
        FROM spent_refresh_tokens AS spent JOIN sessions ON sessions.serial = spent.session \
        JOIN users ON users.id = sessions.user_id LEFT JOIN last_rotations \
        ON last_rotations.session = spent.session AND last_rotations.refresh_hash = ?1 \
        WHERE spent.refresh_hash IN (?1, ?2) AND sessions.refresh_expires_at > ?3
        """)
    static let updateTokens = SQL.numbered(
        """
        UPDATE sessions SET token_hash = ?, refresh_hash = ?, expires_at = ?, refresh_expires_at = ?, \
        rotations = rotations + 1 WHERE serial = ?
        """)
    static let replaceLast = SQL.numbered(
        """
        INSERT INTO last_rotations (session, refresh_hash, salt, caller, grace_ends_at, token_hash, token_expires_at) \
        VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session) DO UPDATE SET refresh_hash = excluded.refresh_hash, \
        salt = excluded.salt, caller = excluded.caller, grace_ends_at = excluded.grace_ends_at, \
        token_hash = excluded.token_hash, token_expires_at = excluded.token_expires_at
        """)
    static let insertFamily = SQL.numbered(
        """
        INSERT INTO spent_refresh_tokens (refresh_hash, session, number) VALUES (?, ?, ?) ON CONFLICT DO NOTHING
        """)
}

extension SQLStore {
    package func refreshToken(
        _ token: RefreshTokenHashes, at now: Timestamp
    ) async throws(StorageError) -> RefreshTokenState {
        try await reads.submit { db in
            if let live = try db.first(
                RefreshTokensTable.selectLive, token.token, now, read: SessionsTable.session(in:))
            {
                return .live(live)
            }
            let spent = try db.first(RefreshTokensTable.selectSpent, token.token, token.family, now) { row in
                let found = try SessionsTable.session(in: row)
                // The last rotation's columns are NULL if it was of another token, or is gone.
                let last = 4 + UsersTable.columnCount
                guard let caller = row.optionalHash(last + 1) else { return RefreshTokenState.spent(found) }
                return .justSpent(found, LastRotation(salt: row.blob(last), caller: caller))
            }
            return spent ?? .unknown
        }
    }

    package func rotate(_ rotation: RefreshTokenRotation) async throws(StorageError) -> Bool {
        try await writes.submit { db in
            let presented = rotation.presented
            let old = try db.first(
                db.locking("SELECT serial, token_hash, expires_at, rotations FROM sessions WHERE refresh_hash = ?"),
                presented.token
            ) { row in
                (serial: row.number(0), token: try row.hash(1), expiresAt: row.time(2), rotations: row.number(3))
            }
            guard let old else { return false }
            try db.perform(
                RefreshTokensTable.updateTokens, rotation.tokenHash, rotation.refreshTokenHash, rotation.expiresAt,
                rotation.refreshExpiresAt,
                old.serial)
            try db.perform(
                RefreshTokensTable.replaceLast, old.serial, presented.token, rotation.last.salt, rotation.last.caller,
                rotation.refreshExpiresAt, old.token, min(old.expiresAt, rotation.formerTokenEndsAt))
            // Has an effect at a session's first rotation only.
            try db.perform(RefreshTokensTable.insertFamily, presented.family, old.serial, old.rotations + 1)
            if let key = rotation.idTokenKey {
                try IDTokenHintsTable.replaceSessionKey(key, of: old.serial, in: db)
            }
            return true
        }
    }
}
