import Logging
import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel

/// Ends sessions at a provider's request (OpenID Connect Back-Channel Logout 1.0).
struct BackchannelLogout: Sendable {
    let environment: Environment
    let sessions: Sessions
    let store: SQLStore

    /// Ends what a logout token names: a session by its `sid`, or all sessions of the identity of its `sub`. It is no
    /// error if there are none.
    /// - Throws: `not_found` for a provider without back-channel logout; `invalid_request` for a token that is invalid
    ///   or was used before, which reveals nothing about users; `carrier_error` and the like, and
    ///   `temporarily_unavailable`, if the token cannot be verified.
    func callAsFunction(
        provider name: String, logoutToken: Secret, requestID: String
    ) async throws(SignInError) {
        guard case .openID(let server) = environment.providers[name]?.kind, server.rules.endsSessions else {
            throw .unknownProvider(in: environment.providers)
        }
        var failedCheck: LogoutTokenCheck?
        var isVerified = false
        try await environment.failures.recording { () async throws(SignInError) in
            let token = try await verify(logoutToken, server, &failedCheck)
            isVerified = true
            let ended = try await end(token, requestID)
            environment.logger.info(
                "back-channel logout",
                metadata: ["provider": "\(name)", "sessions": .stringConvertible(ended), "request_id": "\(requestID)"])
        } failed: { error in
            environment.refusals.log(
                error, "back-channel logout refused", at: name, ["request_id": "\(requestID)"],
                to: environment.logger)
            var subject = failedOperation(of: logoutToken, at: name, server, failedCheck, requestID)
            if isVerified { subject.origin = .known }
            return subject
        }
    }

    private func failedOperation(
        of token: Secret, at name: String, _ server: AuthorizationServer, _ failedCheck: LogoutTokenCheck?,
        _ requestID: String
    ) -> FailedOperation {
        FailedOperation(
            ofUnknownCaller: .backchannelLogout, requestID: requestID, at: name, server,
            requested: [
                ("client_ids", .words(server.clients.keys.map(\.text).sorted())), ("logout_token", .secret(token)),
            ], check: failedCheck?.rawValue,
            costly: {
                // This verifies its signature again.
                let explanation = server.relyingParty.explainOffline(
                    logoutToken: token, for: server.clients.mapValues(\.signingAlgorithms))
                let maximumBytes = server.relyingParty.idTokenRules.maximumBytes
                return [("token", .token(token, maximumBytes: maximumBytes, explanation, failed: failedCheck))]
            })
    }

    private func verify(
        _ token: Secret, _ server: AuthorizationServer, _ failedCheck: inout LogoutTokenCheck?
    ) async throws(SignInError) -> LogoutToken {
        do throws(LogoutTokenError) {
            return try await server.relyingParty.verify(
                logoutToken: token, for: server.clients.mapValues(\.signingAlgorithms))
        } catch {
            switch error {
            case .failed(let check):
                failedCheck = check
                throw .invalidRequest("\(check.demand) (\(check.rawValue)) Nothing was ended.")
            case .unknown(let error): throw SignInError(error)
            }
        }
    }

    /// - Returns: The number of sessions that ended.
    private func end(_ token: LogoutToken, _ requestID: String) async throws(SignInError) -> Int {
        let ended = try await mappingStoreErrors(
            await store.endSessions(token, at: environment.clock.now(), requestID: requestID))
        guard let ended else {
            throw .invalidRequest("The logout token was used before. Send a new one for a new logout.")
        }
        sessions.noteEnded(byProvider: ended)
        return ended.values.reduce(0, +)
    }
}

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
        let locks = token.subject.map { [WriteLock.holder(issuer: token.issuer, subject: $0)] } ?? []
        return try await writes.submit(locking: locks) { db in
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
            "provider_session_hash = ? AND (? = 1 OR identity_hash = ?)",
            hash, ofAny, identity.map(OriginHash.of) ?? [], in: db)
    }
}

extension AuditEvent.Kind {
    /// A provider ended sessions that it had signed in.
    fileprivate static let sessionsEndedByProvider = AuditEvent.Kind("session.ended_by_provider")
}
