import Logging
import OpenIDConnect
package import Primitives
package import StorageModel

/// How a sign-in by redirects begins.
extension RedirectSignIn {
    /// Begins: says where to send the browser.
    /// - Parameter browser: The value of the browser's cookie, if it has one, so that several tabs share it.
    /// - Throws: What is wrong with the request, if no redirect can tell the frontend.
    package func start(_ request: RedirectStart, browser: Secret?) async throws(SignInError) -> RedirectStep {
        let correlationID = request.correlationID ?? .random(from: random)
        do throws(SignInError) {
            return try await signIn.capsules.recording { () async throws(SignInError) in
                try await begin(request, correlationID, browser)
            } failed: { _ in
                nil
            }
        } catch {
            logStart(error, at: request.provider, correlationID)
            throw error.with(correlationID, request.sentNames)
        }
    }

    /// Logs that a redirect URI is not registered: no frontend is told, and no sign-in has begun that would have a
    /// line. Anyone can send such a start.
    func logStart(_ error: SignInError, at provider: String?, _ correlationID: CorrelationID) {
        guard error.field == "redirect_uri", let cause = error.cause else { return }
        signIn.refusals.log(
            error, "start refused", at: provider, ["correlation_id": "\(correlationID)", "cause": "\(cause)"],
            to: signIn.logger)
    }

    private func begin(
        _ request: RedirectStart, _ correlationID: CorrelationID, _ browser: Secret?
    ) async throws(SignInError) -> RedirectStep {
        let request = try await atOperator(request, correlationID)
        let client = try client(for: request)
        let browser = request.clientType.isBoundToBrowser ? browser ?? Secret(random.token()) : nil
        var pending = PendingRedirect(
            start: request, clientID: client.id, correlationID: correlationID, browserHash: browser.map(Self.hash))
        pending.start.scopes = scopes(of: request, client)
        pending.authentication = RequiredAuthentication(
            maximumAge: request.maximumAge, since: request.prompt.contains(.login) ? clock.now() : nil)
        pending.subnet = request.caller.subnet
        let provider = configuration.providers[request.provider]
        guard provider?.kind == .zenkey else {
            return try await sendToProvider(pending, at: nil, loginHintToken: nil, browser)
        }
        if let network = request.network {
            return try await sendToProvider(pending, at: network, loginHintToken: nil, browser)
        }
        if let url = provider?.authorizationURL { return try await sendToAnyCarrier(pending, at: url, browser) }
        return try await sendToCarrierChoice(pending, browser)
    }

    /// Begins to add an identity: says where to send the browser. Only the session that asks can finish it, in the same
    /// browser.
    /// - Throws: `insufficient_user_authentication` if the session's sign-in is too old; what ``start(_:browser:)``
    ///   throws.
    package func startLink(
        _ request: RedirectStart, for holder: SessionAndUser, browser: Secret?
    ) async throws(SignInError) -> RedirectStep {
        try linkIdentity.checkAge(of: holder.session)
        guard request.clientType == .web || request.clientType == .popup else { throw .linkNeedsBrowser }
        var request = request
        request.linkingSession = holder.session.id
        return try await start(request, browser: browser)
    }

    /// The start as one at the operator that it chooses, without a page for the user; any other start as it is.
    private func atOperator(
        _ request: RedirectStart, _ correlationID: CorrelationID
    ) async throws(SignInError) -> RedirectStart {
        var request = request
        let choice = OperatorChoice(
            name: request.operatorName, network: request.network, number: request.phoneNumber, caller: request.caller)
        request.provider = try await signIn.operators.key(
            ofProvider: request.provider, for: choice, .redirect, correlationID)
        guard configuration.providers[request.provider]?.kind == .camara else { return request }
        guard request.scopes.isEmpty, request.acrValues.isEmpty, request.context == nil, request.maximumAge == nil,
            request.prompt.isEmpty || request.prompt == [.noInteraction]
        else { throw .notForNumbers }
        request.prompt = [.noInteraction]
        request.loginHint = nil
        request.phoneNumber = nil
        return request
    }

    /// The client that a start is for, if the start is valid.
    private func client(for request: RedirectStart) throws(SignInError) -> SignInConfiguration.Client {
        guard let provider = configuration.providers[request.provider], relyingParties[request.provider] != nil else {
            throw .unknownProvider(in: configuration)
        }
        guard let client = provider.client(request.clientID) else {
            throw request.clientID == nil ? .clientNotNamed : .unknownClient
        }
        try request.caller.check(client)
        guard client.mayReceiveBrowsers(at: request.redirectURI) else {
            throw .redirectURINotRegistered(request.redirectURI, among: client.redirectURIs)
        }
        guard
            provider.kind != .oauth2
                || (request.acrValues.isEmpty && request.context == nil && request.maximumAge == nil)
        else {
            throw .nothingConfirms
        }
        guard request.clientType != .popup || AppRedirectURI.origin(of: request.redirectURI) != nil else {
            throw .popupNeedsOrigin
        }
        guard client.allows(request.clientType, at: request.redirectURI) else { throw .clientTypeNotAllowed }
        let mustHaveChallenge = client.requiresCodeChallenge && request.endsWithSessionID
        guard request.codeChallenge != nil || !mustHaveChallenge && request.clientType != .spa else {
            throw .codeChallengeMissing
        }
        return client
    }

    private func scopes(of request: RedirectStart, _ client: SignInConfiguration.Client) -> [String] {
        let scopes = request.scopes.isEmpty ? client.scopes : request.scopes
        guard configuration.providers[request.provider]?.kind != .oauth2 else { return scopes }
        return scopes.contains("openid") ? scopes : ["openid"] + scopes
    }
}
