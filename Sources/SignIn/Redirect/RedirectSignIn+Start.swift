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
            logStart(error, at: request.provider.text, correlationID)
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
        let (target, request) = try await chosen(for: request, correlationID)
        let client = try client(of: target, for: request)
        let browser = request.clientType.isBoundToBrowser ? browser ?? Secret(random.token()) : nil
        var pending = PendingRedirect(
            start: request, clientID: client.id, correlationID: correlationID, browserHash: browser.map(Self.hash))
        pending.start.scopes = scopes(of: request, client, target)
        pending.authentication = RequiredAuthentication(
            maximumAge: request.maximumAge, since: request.prompt.contains(.login) ? clock.now() : nil)
        pending.subnet = request.caller.subnet
        guard let carriers = target.provider.carriers else {
            return try await sendToProvider(pending, target, at: nil, loginHintToken: nil, browser)
        }
        if let network = request.network {
            return try await sendToProvider(pending, target, at: network, loginHintToken: nil, browser)
        }
        if let url = carriers.authorizationURL { return try await sendToAnyCarrier(pending, target, at: url, browser) }
        return try await sendToCarrierChoice(pending, at: carriers.discoveryUI, browser)
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

    /// Whom a start is with. At the operator that it chooses, the user sees no page; any other start is as it was.
    private func chosen(
        for request: RedirectStart, _ correlationID: CorrelationID
    ) async throws(SignInError) -> (SignInTarget, RedirectStart) {
        var request = request
        let choice = OperatorChoice(
            name: request.operatorName, network: request.network, number: request.phoneNumber, caller: request.caller)
        let target = try await signIn.operators.choose(
            at: try providers.find(request.provider.provider), choice, .redirect, correlationID)
        request.provider = target.reference
        guard target.mobileOperator != nil else { return (target, request) }
        guard request.scopes.isEmpty, request.acrValues.isEmpty, request.context == nil, request.maximumAge == nil,
            request.prompt.isEmpty || request.prompt == [.noInteraction]
        else { throw .notForNumbers }
        request.prompt = [.noInteraction]
        request.loginHint = nil
        request.phoneNumber = nil
        return (target, request)
    }

    /// The client that a start is for, if the start is valid.
    private func client(
        of target: SignInTarget, for request: RedirectStart
    ) throws(SignInError) -> SignInConfiguration.Client {
        guard let client = target.server.client(request.clientID) else {
            throw request.clientID == nil ? .clientNotNamed : .unknownClient
        }
        try request.caller.check(client)
        guard client.mayReceiveBrowsers(at: request.redirectURI) else {
            throw .redirectURINotRegistered(request.redirectURI, among: client.redirectURIs)
        }
        guard
            target.hasIDTokens
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

    private func scopes(
        of request: RedirectStart, _ client: SignInConfiguration.Client, _ target: SignInTarget
    ) -> [String] {
        let scopes = request.scopes.isEmpty ? client.scopes : request.scopes
        guard target.hasIDTokens else { return scopes }
        return scopes.contains("openid") ? scopes : ["openid"] + scopes
    }
}
