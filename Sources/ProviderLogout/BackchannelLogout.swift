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
