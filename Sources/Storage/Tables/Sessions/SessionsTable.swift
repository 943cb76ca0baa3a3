package import Primitives
package import StorageModel

/// The table `sessions`: each row is a session and its refresh token.
package enum SessionsTable {
    /// - Parameters:
    ///   - identity: The identity that signed in.
    ///   - providerSession: The session at the identity's provider.
    ///   - retry: What the row keeps for a retry of the sign-in after a restart; see ``RecentSignInsTable``.
    ///   - isNewUser: Whether the sign-in registered the user, for the audit event.
    ///   - requestID: For the audit event.
    package static func insert(
        _ session: NewSession, for user: UserID, by identity: Identity?, _ providerSession: ProviderSessionHash? = nil,
        _ retry: RecentSignIn? = nil, isNewUser: Bool = false, requestID: String? = nil, in db: SQLSession
    ) throws {
        let origin = identity.map(OriginHash.of)
        try db.perform(
            insert, session.tokenHash, session.refreshTokenHash, session.id, user, session.clientID, session.createdAt,
            session.expiresAt, session.refreshExpiresAt, session.device, origin, providerSession,
            retry?.key, retry?.session.endings, retry?.endsAt)
        try storeIDToken(of: session, in: db)
        guard let details = auditDetails(of: session, by: identity, origin, isNewUser: isNewUser) else { return }
        try AuditTable.insert(
            AuditEvent(
                at: session.createdAt, .sessionCreated, user: user, by: .user, requestID: requestID, details: details),
            in: db)
    }

    /// Stores the ID token of a session that was inserted.
    package static func storeIDToken(of session: NewSession, in db: SQLSession) throws {
        guard let idToken = session.idToken else { return }
        try IDTokenHintsTable.insert(idToken, ofSessionWith: session.tokenHash, in: db)
    }

    /// The details of the audit event of a new session, which identify no person; nil if it has no event.
    /// - Parameter origin: The hash of the identity. One byte tells the identities of a user apart, and confirms no
    ///   subject.
    package static func auditDetails(
        of session: NewSession, by identity: Identity?, _ origin: [UInt8]?, isNewUser: Bool
    ) -> AuditDetails? {
        guard session.isAudited else { return nil }
        return AuditDetails { json in
            json.add("session_id", session.id)
            json.add("client_id", session.clientID)
            json.add("issuer", ifPresent: identity?.issuer)
            json.add("identity", ifPresent: origin?.prefix(1).hexadecimal)
            if isNewUser { json.add("new_user", true) }
        }
    }

    /// The session of a token: the present one, or the one before until the rotation's grace ends.
    package static func session(_ token: TokenHash, at now: Timestamp, in db: SQLSession) throws -> SessionAndUser? {
        try db.first(sessionByToken, token, now, read: session(in:))
            ?? db.first(sessionByLastToken, token, now, read: session(in:))
    }

    /// What ``session(in:)`` reads.
    static let columns =
        "sessions.id, sessions.client_id, sessions.created_at, sessions.expires_at, \(UsersTable.columns)"

    /// Reads a row that begins with the ``columns``.
    static func session(in row: borrowing CachedStatement) throws -> SessionAndUser {
        let user = try UsersTable.user(in: row, from: 4)
        let session = Session(
            id: try row.text(0), userID: user.id, clientID: try row.text(1), createdAt: row.time(2),
            expiresAt: row.time(3))
        return SessionAndUser(session: session, user: user)
    }

    /// Whether a session was made with its user, so that a repeated sign-in says again that the user is new. Read here
    /// and not stored with each sign-in, because few are repeated.
    package static func isFirst(_ id: String, of user: UserID, in db: SQLSession) throws -> Bool {
        try db.exists(isFirst, user, id)
    }

    private static let isFirst = SQL.numbered(
        """
        SELECT 1 FROM sessions JOIN users ON users.id = sessions.user_id \
        WHERE sessions.user_id = ? AND sessions.id = ? AND sessions.created_at = users.created_at \
        AND users.sessions_ended = 0 AND NOT EXISTS (SELECT 1 FROM sessions AS earlier \
        WHERE earlier.user_id = sessions.user_id AND earlier.serial < sessions.serial)
        """)
    private static let insert = SQL.numbered(
        """
        INSERT INTO sessions (token_hash, refresh_hash, id, user_id, client_id, created_at, expires_at, \
        refresh_expires_at, device, identity_hash, provider_session_hash, retry_key, retry_endings, retry_ends_at) \
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """)
    private static let sessionByToken = SQL.numbered(
        """
        SELECT \(columns) FROM sessions JOIN users ON users.id = sessions.user_id \
        WHERE sessions.token_hash = ? AND sessions.expires_at > ?
        """)
    private static let sessionByLastToken = SQL.numbered(
        """
        SELECT sessions.id, sessions.client_id, sessions.created_at, last_rotations.token_expires_at, \
        \(UsersTable.columns) FROM last_rotations JOIN sessions ON sessions.serial = last_rotations.session \
        JOIN users ON users.id = sessions.user_id \
        WHERE last_rotations.token_hash = ? AND last_rotations.token_expires_at > ?
        """)

    /// Keeps the later time. Its values are the time, the user, and the session's id.
    static let recordSight: SQL = """
        UPDATE sessions SET seen_at = ?1 WHERE user_id = ?2 AND id = ?3 AND COALESCE(seen_at, created_at) < ?1
        """
}

extension SQLStore {
    package func session(_ token: TokenHash, at now: Timestamp) async throws(StorageError) -> SessionAndUser? {
        try await reads.submit { db in try SessionsTable.session(token, at: now, in: db) }
    }

    package func addSession(
        _ session: NewSession, besides earlier: GivenSession
    ) async throws(StorageError) -> SessionAddition {
        try await writes.submit(locking: [.user(earlier.user)]) { db in
            guard let user = try UsersTable.user(earlier.user, in: db) else { return .unknownUser }
            let isLive = try db.exists(
                """
                SELECT 1 FROM sessions JOIN users ON users.id = sessions.user_id \
                WHERE sessions.user_id = ? AND sessions.id = ? AND users.sessions_ended = ?
                """, earlier.user, earlier.id, earlier.endings)
            guard isLive else { return .earlierEnded }
            let isNewUser = try SessionsTable.isFirst(earlier.id, of: user.id, in: db)
            try SessionsTable.insert(session, for: user.id, by: nil, in: db)
            // The new session has the origin of the earlier one.
            try db.perform(
                """
                UPDATE sessions SET (identity_hash, provider_session_hash) = \
                (SELECT identity_hash, provider_session_hash FROM sessions WHERE user_id = ?1 AND id = ?2) \
                WHERE user_id = ?1 AND id = ?3
                """, user.id, earlier.id, session.id)
            return .added(user, isNewUser: isNewUser)
        }
    }

    package func sessions(
        of user: UserID, at now: Timestamp, limit: Int
    ) async throws(StorageError) -> [SessionSummary] {
        try await reads.submit { db in
            try db.all(
                """
                SELECT id, client_id, device, created_at, COALESCE(seen_at, created_at) AS seen, \
                CASE WHEN expires_at > refresh_expires_at THEN expires_at ELSE refresh_expires_at END FROM sessions \
                WHERE user_id = ?1 AND (refresh_expires_at > ?2 OR expires_at > ?2) \
                ORDER BY seen DESC, serial DESC LIMIT ?3
                """, user, now, Int64(limit)
            ) { row in
                SessionSummary(
                    id: try row.text(0), clientID: try row.text(1), device: row.optionalText(2), createdAt: row.time(3),
                    lastSeenAt: row.time(4), expiresAt: row.time(5))
            }
        }
    }

    /// Keeps the later of the stored and the given times. Runs in steps of a few milliseconds, so that sign-ins run
    /// between them.
    package func recordLastSeen(_ sessions: [SessionLastSeen]) async throws(StorageError) {
        // In one order, so that two instances do not wait for each other's rows.
        var rest = sessions.sorted { ($0.userID.number, $0.sessionID) < ($1.userID.number, $1.sessionID) }[...]
        while !rest.isEmpty {
            let step = rest.prefix(128)
            rest = rest.dropFirst(128)
            try await writes.submit { db in
                for session in step {
                    try db.perform(SessionsTable.recordSight, session.time, session.userID, session.sessionID)
                }
            }
        }
    }
}
