import OpenIDConnect
import Primitives
import StorageModel

/// Where the browser is sent: to the choice of a carrier, or to the authorization endpoint.
extension RedirectSignIn {
    func sendToCarrierChoice(_ pending: PendingRedirect, _ browser: Secret?) async throws(SignInError) -> RedirectStep {
        guard let discoveryUI = configuration.providers[pending.start.provider]?.discoveryUI else {
            throw .networkNotNamed
        }
        let state = try await keep(pending)
        let request = CarrierChoiceRequest(
            clientID: pending.clientID, redirectURI: pending.start.callbackURL, state: state)
        return .goOn(to: request.url(at: discoveryUI).text, browser: browser)
    }

    /// Sends the browser to the carrier that serves a network, or to a provider that is no carrier.
    func sendToProvider(
        _ pending: PendingRedirect, at network: MCCMNC?, loginHintToken: String?, _ browser: Secret?
    ) async throws(SignInError) -> RedirectStep {
        var times = StepTimes()
        times.begin(.discovery)
        let provider: ProviderMetadata
        do throws(SignInError) {
            provider = try await discover(network, for: pending)
        } catch {
            return refused(pending, error, times)
        }
        let destination = Destination(
            endpoint: provider.authorizationEndpoint, network: network, confirmsNonce: provider.userEndpoint == nil,
            loginHintToken: loginHintToken)
        return try await authorize(pending, at: destination, browser)
    }

    /// Sends the browser to the URL that finds the user's carrier and authorizes in one step. The response names the
    /// carrier.
    func sendToAnyCarrier(
        _ pending: PendingRedirect, at url: EndpointURL, _ browser: Secret?
    ) async throws(SignInError) -> RedirectStep {
        try await authorize(pending, at: Destination(endpoint: url, confirmsNonce: true), browser)
    }

    func discover(_ network: MCCMNC?, for pending: PendingRedirect) async throws(SignInError) -> ProviderMetadata {
        let name = pending.start.provider
        guard let relyingParty = relyingParties[name] else { throw .unknownProvider }
        return try await asked(
            await relyingParty.provider(
                for: network, clientID: pending.clientID, correlationID: pending.correlationID),
            discoveryUI: configuration.providers[name]?.discoveryUI)
    }

    private struct Destination {
        let endpoint: EndpointURL
        var network: MCCMNC?
        /// Whether an ID token will confirm the nonce.
        let confirmsNonce: Bool
        var loginHintToken: String?
    }

    private func authorize(
        _ pending: PendingRedirect, at destination: Destination, _ browser: Secret?
    ) async throws(SignInError) -> RedirectStep {
        let nonce = Secret(random.token())
        let codeVerifier = CodeVerifier.random(from: random)
        var pending = pending
        pending.leg = .authorization(network: destination.network, nonce: nonce, codeVerifier: codeVerifier)
        let state = try await keep(pending)
        let start = pending.start
        var request = AuthorizationRequest(
            clientID: pending.clientID, redirectURI: start.callbackURL, scopes: start.scopes, state: state,
            nonce: destination.confirmsNonce ? nonce : nil, codeChallenge: codeVerifier.challenge,
            correlationID: isOfCarriers(start.provider) ? pending.correlationID : nil)
        request.loginHintToken = destination.loginHintToken
        request.loginHint = start.loginHint
        request.acrValues = start.acrValues
        request.context = start.context
        request.prompt = start.prompt
        if let mode = configuration.providers[start.provider]?.responseMode, mode != .query {
            request.responseMode = mode.rawValue
        }
        return .goOn(to: request.url(at: destination.endpoint).text, browser: browser)
    }

    /// - Returns: The `state` that the browser comes back with.
    private func keep(_ pending: PendingRedirect) async throws(SignInError) -> Secret {
        let state = Secret(random.token())
        let handle = TokenHash(sha256Of: state.exposed)
        let content = pending.bytes
        let bytes = EncryptedOneTimeStore.length(of: content) + OneTimeRecord.overhead
        // If the store cannot tell which came back, they count.
        let unverified = pendingStarts.unverified(beforeAdding: bytes)
        if !unverified.isEmpty, let present = try? await oneTimeStore.present(among: unverified) {
            for handle in unverified where !present.contains(handle) { pendingStarts.end(handle) }
        }
        let admission = pendingStarts.admit(handle, of: pending.subnet, bytes: bytes)
        guard case .admitted(let evicted) = admission else { throw .tooManyStarts }
        do {
            try await oneTimeStore.keep(
                content, for: .pendingRedirect, under: state, seconds: Self.lifetime, insteadOf: evicted)
        } catch {
            pendingStarts.end(handle)
            throw error
        }
        return state
    }

    func isOfCarriers(_ provider: String) -> Bool { relyingParties[provider]?.isOfCarriers ?? false }
}
