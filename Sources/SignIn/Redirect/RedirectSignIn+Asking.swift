import OpenIDConnect
import Primitives

/// Where the browser is sent: to the choice of a carrier, or to the carrier or provider itself.
extension RedirectSignIn {
    func askForCarrier(_ pending: PendingRedirect, _ browser: Secret?) async throws(SignInError) -> RedirectStep {
        guard let discoveryUI = configuration.providers[pending.provider]?.discoveryUI else { throw .networkNotNamed }
        var pending = pending
        pending.leg = .carrierChoice
        let state = Secret(random.token())
        try await notes.keep(pending.bytes, for: .pendingRedirect, under: state, seconds: Self.lifetime)
        let request = CarrierChoiceRequest(
            clientID: pending.clientID, redirectURI: pending.callbackURL, state: state)
        return .goOn(to: request.url(at: discoveryUI).text, browser: browser)
    }

    /// Sends the browser to the carrier that serves a network, or to the provider that none leads to.
    func askProvider(
        _ pending: PendingRedirect, _ network: MCCMNC?, loginHintToken: String?, _ browser: Secret?
    ) async throws(SignInError) -> RedirectStep {
        guard let relyingParty = relyingParties[pending.provider] else { throw .unknownProvider }
        let discoveryUI = configuration.providers[pending.provider]?.discoveryUI
        var times = StepTimes()
        times.begin(.discovery)
        let carrier: ProviderMetadata
        do throws(OIDCError) {
            carrier = try await relyingParty.provider(
                for: network, clientID: pending.clientID, correlationID: pending.correlationID)
        } catch {
            return refused(pending, SignInError(error, discoveryUI: discoveryUI), times)
        }
        return try await ask(
            pending, network, at: carrier.authorizationEndpoint, isConfirmed: carrier.userEndpoint == nil,
            loginHintToken, browser)
    }

    /// Sends the browser where the user's carrier is found and asked at once; the answer says which it was.
    func askWhicheverCarrier(
        _ pending: PendingRedirect, at url: EndpointURL, _ browser: Secret?
    ) async throws(SignInError) -> RedirectStep {
        try await ask(pending, nil, at: url, isConfirmed: true, nil, browser)
    }

    /// - Parameter isConfirmed: Whether an ID token will confirm the nonce.
    private func ask(
        _ pending: PendingRedirect, _ network: MCCMNC?, at endpoint: EndpointURL, isConfirmed: Bool,
        _ loginHintToken: String?, _ browser: Secret?
    ) async throws(SignInError) -> RedirectStep {
        let (state, nonce, codeVerifier) = (
            Secret(random.token()), Secret(random.token()), CodeVerifier.random(from: random)
        )
        var pending = pending
        pending.leg = .authorization(network: network, nonce: nonce, codeVerifier: codeVerifier)
        try await notes.keep(pending.bytes, for: .pendingRedirect, under: state, seconds: Self.lifetime)
        let isOfCarriers = relyingParties[pending.provider]?.isOfCarriers ?? false
        var request = AuthorizationRequest(
            clientID: pending.clientID, redirectURI: pending.callbackURL, scopes: pending.scopes, state: state,
            nonce: isConfirmed ? nonce : nil, codeChallenge: codeVerifier.challenge,
            correlationID: isOfCarriers ? pending.correlationID : nil)
        request.loginHintToken = loginHintToken
        request.loginHint = pending.loginHint
        request.acrValues = pending.acrValues
        request.context = pending.context
        request.prompt = pending.prompt
        request.responseMode = configuration.providers[pending.provider]?.responseMode
        return .goOn(to: request.url(at: endpoint).text, browser: browser)
    }
}
