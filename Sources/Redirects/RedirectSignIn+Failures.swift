import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn

/// What failed sign-ins by redirects were about, until there is a code to redeem.
extension RedirectSignIn {
    /// A sign-in under way.
    /// - Parameters:
    ///   - response: What the browser brought back; nil before.
    ///   - requestID: Names a failure whose response has no correlation id.
    func failedOperation(
        of pending: PendingRedirect, _ response: AuthorizationResponse? = nil, _ times: StepTimes = StepTimes(),
        namedBy requestID: String? = nil
    ) -> FailedOperation {
        let start = pending.start
        let target = environment.providers[start.provider]
        let prompt = start.demand.prompt.map(\.rawValue)
        var members: [FailedOperation.Member] = [
            ("client_type", .name(start.clientType.rawValue)), ("redirect_uri", .text(start.redirectURI)),
            ("started_here", .flag(true)),
        ]
        members += start.demand.failureMembers
        members += [
            ("prompt", prompt.isEmpty ? nil : .name(prompt.joined(separator: " "))),
            ("max_age", start.demand.maximumAge.map { .number($0) }),
            ("login_hint", start.demand.loginHint.map { .secret(Secret($0)) }),
        ]
        var network = start.network
        switch pending.leg {
        case .carrierChoice: members.append(("sent_to", .name("carrier_choice")))
        case .authorization(let asked, let nonce, _):
            network = asked
            members += [("sent_to", .name("authorization")), ("nonce", .secret(nonce))]
        }
        if requestID != nil { members.append(("correlation_id", .name(pending.correlationID.text))) }
        // A response from another browser is not reported to the frontend. It is named by the request's id.
        if response != nil { members.append(("browser_matches", .flag(requestID == nil))) }
        members.append(("authorization_response", response.map { .members($0.failureMembers) }))
        let flow: FailedOperation.Flow =
            switch start.purpose {
            case .signIn: .redirect
            case .errand: errand?.flow ?? .redirect
            case .task: environment.providers.group(of: start.provider)?.taskFlow ?? .redirect
            }
        // What begins the others has a session.
        return FailedOperation(
            flow: flow, correlationID: requestID ?? pending.correlationID.text, provider: start.provider.text,
            client: target?.server.client(pending.clientID), relyingParty: target?.relyingParty, network: network,
            times: times, requested: members,
            origin: flow == .redirect ? .keyless : .known)
    }

    /// A response that belongs to no sign-in that is known. Anyone can bring one.
    /// - Parameter requestID: Stands for the correlation id, which is not known either.
    func failedOperation(
        of received: AuthorizationResponse, _ browser: Secret?, check: AuthorizationResponseCheck?,
        _ requestID: String
    ) -> FailedOperation {
        failedOperation(
            at: received.provider, browser,
            received.signed.map { members(ofSigned: $0, at: received.provider, check) } ?? received.failureMembers,
            check, requestID)
    }

    /// What an unverified response says, and the result of each check. This verifies its signature again.
    private func members(
        ofSigned text: Secret, at provider: String, _ check: AuthorizationResponseCheck?
    ) -> [FailedOperation.Member] {
        let server = environment.providers[provider]?.server
        let clients = server?.clients.mapValues(\.responseSigningAlgorithm)
        return [
            ("response", .secret(text)),
            (
                "token",
                .token(
                    text, maximumBytes: server?.relyingParty.idTokenRules.maximumBytes ?? 0,
                    server?.relyingParty.explainOffline(authorizationResponse: text, for: clients ?? [:]),
                    failed: check)
            ),
        ]
    }

    /// Tells the observer of failures of a response whose parameters cannot be read.
    /// - Parameters:
    ///   - problem: What is wrong with them: a sentence without any text of theirs.
    ///   - requestID: As for ``finish(_:browser:session:device:subnet:requestID:)``.
    func noteUnreadableResponse(
        at provider: String, browser: Secret?, problem: String, requestID: String
    ) async {
        _ = try? await environment.failures.recording { () async throws(SignInError) -> Void in
            throw .invalidRequest(problem)
        } failed: { _ in
            failedOperation(at: provider, browser, [("is_readable", .flag(false))], nil, requestID)
        }
    }

    private func failedOperation(
        at provider: String, _ browser: Secret?, _ response: @autoclosure @escaping () -> [FailedOperation.Member],
        _ check: AuthorizationResponseCheck?, _ requestID: String
    ) -> FailedOperation {
        FailedOperation(
            ofUnknownCaller: .redirect, requestID: requestID, at: provider, environment.providers[provider]?.server,
            requested: [("has_browser_cookie", .flag(browser != nil))], check: check?.rawValue,
            costly: { [("authorization_response", .members(response()))] })
    }
}

extension AuthorizationResponse {
    fileprivate var failureMembers: [FailedOperation.Member] {
        [
            ("state", state.map { .secret($0) }), ("code", code.map { .secret($0) }),
            ("error", error.map { .code($0) }),
            ("iss", issuer.map { .text($0) }), ("mccmnc", network.map { .text($0.text) }),
            ("has_login_hint_token", .flag(loginHintToken != nil)), ("signed_for", clientID.map { .text($0.text) }),
            ("is_readable", .flag(true)),
        ]
    }
}
