import OpenIDConnect
import Primitives

/// Where the browser is sent: to the choice of a carrier, or to the carrier or provider itself.
extension RedirectSignIn {
    func askForCarrier(_ attempt: RedirectAttempt, _ browser: Secret?) async throws(SignInError) -> RedirectStep {
        guard let discoveryUI = configuration.providers[attempt.provider]?.discoveryUI else { throw .networkNotNamed }
        var attempt = attempt
        attempt.leg = .carrierChoice
        let state = Secret(random.token())
        try await notes.keep(attempt.bytes, for: .redirectAttempt, under: state, seconds: Self.lifetime)
        let request = CarrierChoiceRequest(
            clientID: attempt.clientID, redirectURI: attempt.callbackURL, state: state)
        return .goOn(to: request.url(at: discoveryUI).text, browser: browser)
    }

    /// Sends the browser to the carrier that serves a network, or to the provider that none leads to.
    func askProvider(
        _ attempt: RedirectAttempt, _ network: MCCMNC?, loginHintToken: String?, _ browser: Secret?
    ) async throws(SignInError) -> RedirectStep {
        guard let relyingParty = relyingParties[attempt.provider] else { throw .unknownProvider }
        let discoveryUI = configuration.providers[attempt.provider]?.discoveryUI
        var times = StepTimes()
        times.begin(.discovery)
        let carrier: ProviderMetadata
        do throws(OIDCError) {
            carrier = try await relyingParty.provider(
                for: network, clientID: attempt.clientID, correlationID: attempt.correlationID)
        } catch {
            return refused(attempt, SignInError(error, discoveryUI: discoveryUI), times)
        }
        return try await ask(
            attempt, network, at: carrier.authorizationEndpoint, isConfirmed: carrier.userEndpoint == nil,
            loginHintToken, browser)
    }

    /// Sends the browser where the user's carrier is found and asked at once; the answer says which it was.
    func askWhicheverCarrier(
        _ attempt: RedirectAttempt, at url: EndpointURL, _ browser: Secret?
    ) async throws(SignInError) -> RedirectStep {
        try await ask(attempt, nil, at: url, isConfirmed: true, nil, browser)
    }

    /// - Parameter isConfirmed: Whether an ID token will confirm the nonce.
    private func ask(
        _ attempt: RedirectAttempt, _ network: MCCMNC?, at endpoint: EndpointURL, isConfirmed: Bool,
        _ loginHintToken: String?, _ browser: Secret?
    ) async throws(SignInError) -> RedirectStep {
        let (state, nonce, codeVerifier) = (
            Secret(random.token()), Secret(random.token()), CodeVerifier.random(from: random)
        )
        var attempt = attempt
        attempt.leg = .authorization(network: network, nonce: nonce, codeVerifier: codeVerifier)
        try await notes.keep(attempt.bytes, for: .redirectAttempt, under: state, seconds: Self.lifetime)
        let isOfCarriers = relyingParties[attempt.provider]?.isOfCarriers ?? false
        var request = AuthorizationRequest(
            clientID: attempt.clientID, redirectURI: attempt.callbackURL, scopes: attempt.scopes, state: state,
            nonce: isConfirmed ? nonce : nil, codeChallenge: codeVerifier.challenge,
            correlationID: isOfCarriers ? attempt.correlationID : nil)
        request.loginHintToken = loginHintToken
        request.loginHint = attempt.loginHint
        request.acrValues = attempt.acrValues
        request.context = attempt.context
        request.prompt = attempt.prompt
        request.responseMode = configuration.providers[attempt.provider]?.responseMode
        return .goOn(to: request.url(at: endpoint).text, browser: browser)
    }
}
