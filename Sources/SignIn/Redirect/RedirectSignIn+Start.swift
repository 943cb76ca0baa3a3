import OpenIDConnect
public import Primitives

/// How a sign-in by redirects begins.
extension RedirectSignIn {
    /// Begins: says where the browser goes.
    /// - Parameter browser: What the browser's cookie holds from before, so that several tabs share it.
    /// - Throws: What is wrong with the request, where the frontend cannot be told by a redirect.
    public func start(_ request: RedirectStart, browser: Secret?) async throws(SignInError) -> RedirectStep {
        let correlationID = request.correlationID ?? .random(from: random)
        do throws(SignInError) {
            let client = try client(for: request)
            let browser = request.clientType.isBoundToBrowser ? browser ?? Secret(random.token()) : nil
            let pending = PendingRedirect(
                request, clientID: client.id, scopes: scopes(of: request, client),
                correlationID: correlationID, browserHash: browser.map(Self.hash))
            guard starts.admits(at: clock.now()) else { throw .tooManyStarts }
            let isFoundByNetwork = configuration.providers[request.provider]?.kind == .zenkey
            guard !isFoundByNetwork || request.network != nil else {
                if let url = configuration.providers[request.provider]?.authorizationURL {
                    return try await askWhicheverCarrier(pending, at: url, browser)
                }
                return try await askForCarrier(pending, browser)
            }
            return try await askProvider(
                pending, isFoundByNetwork ? request.network : nil, loginHintToken: nil, browser)
        } catch {
            throw error.with(correlationID)
        }
    }

    /// The client a start is for, if the start can be answered at all.
    private func client(for request: RedirectStart) throws(SignInError) -> SignInConfiguration.Client {
        guard let provider = configuration.providers[request.provider], relyingParties[request.provider] != nil else {
            throw .unknownProvider
        }
        let only = provider.clients.count == 1 ? provider.clients.first?.value : nil
        guard let client = request.clientID.map({ provider.clients[$0] }) ?? only else {
            throw request.clientID == nil ? .clientNotNamed : .unknownClient
        }
        guard client.mayReceiveBrowsers(at: request.redirectURI) else { throw .redirectURINotRegistered }
        guard provider.kind != .oauth2 || (request.acrValues.isEmpty && request.context == nil) else {
            throw .nothingConfirms
        }
        guard request.clientType != .popup || AppRedirectURI.origin(of: request.redirectURI) != nil else {
            throw .popupNeedsOrigin
        }
        guard request.clientType != .spa || request.codeChallenge != nil else { throw .codeChallengeMissing }
        return client
    }

    private func scopes(of request: RedirectStart, _ client: SignInConfiguration.Client) -> [String] {
        let scopes = request.scopes.isEmpty ? client.scopes : request.scopes
        guard configuration.providers[request.provider]?.kind != .oauth2 else { return scopes }
        return scopes.contains("openid") ? scopes : ["openid"] + scopes
    }
}
