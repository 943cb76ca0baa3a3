import Logging
import OpenIDConnect
package import Primitives
import StorageModel

/// Ends sessions at a provider's request (OpenID Connect Back-Channel Logout 1.0).
package struct BackchannelLogout: UseCase {
    let environment: Environment
    let sessions: Sessions
    let store: any SessionStore

    /// Ends what a logout token names: a session by its `sid`, or all sessions of the identity of its `sub`. It is no
    /// error if there are none.
    /// - Throws: `not_found` for a provider without back-channel logout; `invalid_request` for a token that is invalid
    ///   or was used before, which reveals nothing about users; `carrier_error` and the like, and
    ///   `temporarily_unavailable`, if the token cannot be verified.
    package func callAsFunction(
        provider name: String, logoutToken: Secret, requestID: String
    ) async throws(SignInError) {
        guard case .openID(let server) = providers[name]?.kind, server.rules.endsSessions else {
            throw .unknownProvider(in: providers)
        }
        var failedCheck: LogoutTokenCheck?
        var isVerified = false
        try await failures.recording { () async throws(SignInError) in
            let token = try await verify(logoutToken, server, &failedCheck)
            isVerified = true
            let ended = try await end(token, requestID)
            logger.info(
                "back-channel logout",
                metadata: ["provider": "\(name)", "sessions": .stringConvertible(ended), "request_id": "\(requestID)"])
        } failed: { error in
            refusals.log(
                error, "back-channel logout refused", at: name, ["request_id": "\(requestID)"], to: logger)
            var subject = failedOperation(of: logoutToken, at: name, server, failedCheck, requestID)
            if !isVerified { subject.origin = .unauthenticated }
            return subject
        }
    }

    private func failedOperation(
        of token: Secret, at name: String, _ server: AuthorizationServer, _ failedCheck: LogoutTokenCheck?,
        _ requestID: String
    ) -> FailedOperation {
        let clients = server.clients.keys.map(\.text).sorted()
        return FailedOperation(
            flow: .backchannelLogout, correlationID: requestID, provider: name, client: nil,
            relyingParty: server.relyingParty, network: nil, times: StepTimes(),
            requested: [("client_ids", .words(clients)), ("logout_token", .secret(token))],
            check: failedCheck?.rawValue, known: clients,
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
            if case .failed(let check) = error { failedCheck = check }
            throw SignInError(error)
        }
    }

    /// - Returns: The number of sessions that ended.
    private func end(_ token: LogoutToken, _ requestID: String) async throws(SignInError) -> Int {
        let identity = token.subject.map { Identity(issuer: token.issuer, subject: $0) }
        let scope: ProviderLogout.Scope
        if let id = token.sessionID {
            scope = .session(ProviderSession(issuer: token.issuer, id: id), of: identity)
        } else if let identity {
            scope = .identity(identity)
        } else {
            throw .logoutTokenRefused(.subject)
        }
        // Neither text has a zero byte, so that no two pairs have the same hash.
        let logout = ProviderLogout(
            scope, token: TokenHash(sha256Of: token.issuer + "\0" + token.id), expiresAt: token.refusedFrom,
            at: clock.now(), requestID: requestID)
        switch try await mappingStoreErrors(await store.endSessions(logout)) {
        case .replayed: throw .logoutTokenUsed
        case .done(let ended):
            for user in ended.keys { sessions.forget(user) }
            let count = ended.values.reduce(0, +)
            sessions.counts.note { $0.endedByProvider += UInt64(clamping: count) }
            return count
        }
    }
}

extension SignInError {
    init(_ refusal: LogoutTokenError) {
        switch refusal {
        case .failed(let check): self = .logoutTokenRefused(check)
        case .unknown(let error): self = SignInError(error)
        }
    }

    static func logoutTokenRefused(_ check: LogoutTokenCheck) -> SignInError {
        SignInError(.invalidRequest, .invalidRequest, "\(check.demand) (\(check.rawValue)) Nothing was ended.")
    }

    static let logoutTokenUsed = invalidRequest("The logout token was used before. Send a new one for a new logout.")
}
