import OpenIDConnect
import Primitives
import Storage
import StorageModel

/// The table `logout_tokens`, and what the tables of sessions have for logout.
extension SQLStore {
    /// Ends the sessions that a provider's logout token names, once for each token, with audit events.
    ///
    /// In one transaction: the token is used up with what it ended, and not without.
    /// - Returns: How many sessions ended, by user; nil if the token was used before.
    func endSessions(
        _ token: LogoutToken, at now: Timestamp, requestID: String?
    ) async throws(StorageError) -> [UserID: Int]? {
        // Neither text has a zero byte, so that no two pairs have the same hash.
        let hash = TokenHash(sha256Of: token.issuer + "\0" + token.id)
        return try await writes.submit { db in
            let isNew = try db.run(
                "INSERT INTO logout_tokens (token_hash, expires_at) VALUES (?, ?) ON CONFLICT DO NOTHING",
                hash, token.refusedFrom)
            guard isNew == 1 else { return nil }
            let ended = try SessionsTable.end(token, in: db)
            for (user, count) in ended {
                let event = AuditEvent(
                    at: now, .sessionsEndedByProvider, user: user, by: .client(token.issuer), requestID: requestID,
                    details: AuditDetails { $0.add("sessions", count) })
                try AuditTable.insert(event, in: db)
            }
            return ended
        }
    }

    /// The ID token of a user's session, encrypted; nil if none is kept for it.
    func idToken(ofSession id: String, of user: UserID) async throws(StorageError) -> SealedIDToken? {
        try await reads.submit { db in
            try db.first(
                """
                SELECT id_token_hints.content, id_token_hints.session_key FROM sessions \
                JOIN id_token_hints ON id_token_hints.session = sessions.serial \
                WHERE sessions.user_id = ? AND sessions.id = ?
                """, user, id
            ) { SealedIDToken(content: $0.blob(0), sessionKey: $0.blob(1)) }
        }
    }
}

extension SessionsTable {
    /// Ends the sessions in a provider's logout; how many, by user.
    fileprivate static func end(_ token: LogoutToken, in db: SQLSession) throws -> [UserID: Int] {
        let identity = token.subject.map { Identity(issuer: token.issuer, subject: $0) }
        guard let sessionID = token.sessionID else {
            guard let identity else { return [:] }
            try db.perform("DELETE FROM pending_registrations WHERE issuer = ? AND subject = ?", identity)
            // Found through the user, so that sign-ins need no further index.
            guard let user = try UsersTable.user(identity, in: db)?.id else { return [:] }
            let count = try endAll(of: user, signedInBy: identity, except: nil, in: db)
            return count == 0 ? [:] : [user: count]
        }
        let hash = ProviderSessionHash(issuer: token.issuer, id: sessionID)
        let ofAny = identity == nil ? 1 : 0 as Int64
        // There are few of any one issuer.
        try db.perform(
            """
            DELETE FROM pending_registrations \
            WHERE issuer = ? AND provider_session_hash = ? AND (? = 1 OR subject = ?)
            """, token.issuer, hash, ofAny, token.subject ?? "")
        return try end(
            "provider_session_hash = ?1 AND (?2 = 1 OR identity_hash = ?3)",
            hash, ofAny, identity.map(OriginHash.of) ?? [], in: db)
    }
}

extension AuditEvent.Kind {
    /// A provider ended sessions that it had signed in.
    fileprivate static let sessionsEndedByProvider = AuditEvent.Kind("session.ended_by_provider")
}
