import OpenIDConnect
import Primitives
import StorageModel

/// Where the browser is sent: to the choice of a carrier, or to the authorization endpoint.
extension RedirectSignIn {
    func sendToCarrierChoice(
        _ pending: PendingRedirect, at discoveryUI: EndpointURL?, _ browser: Secret?
    ) async throws(SignInError) -> RedirectStep {
        guard let discoveryUI else { throw .networkNotNamed }
        let state = try await keep(pending)
        let request = CarrierChoiceRequest(
            clientID: pending.clientID, redirectURI: pending.start.callbackURL, state: state)
        return .goOn(to: request.url(at: discoveryUI).text, withinSeconds: Self.lifetime, browser: browser)
    }

    /// Sends the browser to the carrier that serves a network, or to a provider that is no carrier.
    func sendToProvider(
        _ pending: PendingRedirect, _ target: SignInTarget, at network: MCCMNC?, loginHintToken: String?,
        _ browser: Secret?
    ) async throws(SignInError) -> RedirectStep {
        var times = StepTimes()
        times.begin(.discovery)
        let provider: ProviderMetadata
        do throws(SignInError) {
            provider = try await target.discover(network, for: pending.clientID, pending.correlationID)
        } catch {
            return await failed(pending, error, times)
        }
        guard let client = target.server.client(pending.clientID) else { throw .unknownClient }
        var pending = pending
        pending.dpopKey = target.relyingParty.newDPoPKey(at: provider)
        let confirmsNonce = provider.userEndpoint == nil
        let request: AuthorizationRequest
        (pending, request) = try await authorizationRequest(
            pending, target, at: network, confirmsNonce: confirmsNonce, loginHintToken: loginHintToken)
        do throws(OIDCError) {
            times.begin(.pushedAuthorization)
            let destination = try await target.relyingParty.destination(
                of: request, client: client.credentials,
                signedWith: client.signingKey, provider: provider, correlationID: pending.correlationID)
            return .goOn(
                to: destination.url.text, withinSeconds: min(destination.expiresIn ?? Self.lifetime, Self.lifetime),
                browser: browser)
        } catch {
            await forget(request.state)
            return await failed(pending, .notPushed(error, atOperator: target.mobileOperator != nil), times)
        }
    }

    /// Sends the browser to the URL that finds the user's carrier and authorizes in one step. The response names the
    /// carrier.
    func sendToAnyCarrier(
        _ pending: PendingRedirect, _ target: SignInTarget, at url: EndpointURL, _ browser: Secret?
    ) async throws(SignInError) -> RedirectStep {
        let (_, request) = try await authorizationRequest(
            pending, target, at: nil, confirmsNonce: true, loginHintToken: nil)
        return .goOn(to: request.url(at: url).text, withinSeconds: Self.lifetime, browser: browser)
    }

    /// The request for the provider, and the sign-in as it is kept until the response comes.
    /// - Parameter confirmsNonce: Whether an ID token will confirm the nonce.
    private func authorizationRequest(
        _ pending: PendingRedirect, _ target: SignInTarget, at network: MCCMNC?, confirmsNonce: Bool,
        loginHintToken: String?
    ) async throws(SignInError) -> (PendingRedirect, AuthorizationRequest) {
        let nonce = Secret(random.token())
        let codeVerifier = CodeVerifier.random(from: random)
        var pending = pending
        pending.leg = .authorization(network: network, nonce: nonce, codeVerifier: codeVerifier)
        let state = try await keep(pending)
        let request = RedirectRules(target: target).authorizationRequest(
            pending, state: state, nonce: confirmsNonce ? nonce : nil, challenge: codeVerifier.challenge,
            loginHintToken: loginHintToken)
        return (pending, request)
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

    /// Removes a sign-in that no browser was sent away for. Where the store fails, it expires.
    private func forget(_ state: Secret) async {
        pendingStarts.end(TokenHash(sha256Of: state.exposed))
        _ = try? await oneTimeStore.take(.pendingRedirect, under: state)
    }
}
