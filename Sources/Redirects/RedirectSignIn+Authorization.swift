import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// Where the browser is sent: to the choice of a carrier, or to the authorization endpoint.
extension RedirectSignIn {
    func sendToCarrierChoice(
        _ pending: PendingRedirect, at discoveryUI: EndpointURL?, _ browser: Secret?
    ) async throws(SignInError) -> RedirectStep {
        guard let discoveryUI else { throw .networkNotNamed }
        let state = try await keep(pending)
        let url = discoveryUI.choosingCarrier(
            clientID: pending.clientID, redirectURI: pending.start.callbackURL, state: state)
        return .goOn(to: url.text, withinSeconds: lifetime, browser: browser)
    }

    /// Sends the browser to the carrier that serves a network, or to another provider.
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
            pending, target, at: network, confirmsNonce: confirmsNonce, loginHintToken: loginHintToken,
            client.rules.parameters)
        do throws(OIDCError) {
            times.begin(.pushedAuthorization)
            let destination = try await target.relyingParty.destination(
                of: request, client: client.credentials,
                signedWith: client.rules.signingKey, provider: provider, correlationID: pending.correlationID)
            return .goOn(
                to: destination.url.text,
                withinSeconds: min(destination.expiresIn ?? lifetime, lifetime),
                browser: browser)
        } catch {
            await forget(request.state)
            let refusal = target.provider.group?.refusal(ofPushedRequest: error) ?? .notPushed(error)
            return await failed(pending, refusal, times)
        }
    }

    /// Sends the browser to the URL that finds the user's carrier and authorizes in one step. The response names the
    /// carrier.
    func sendToAnyCarrier(
        _ pending: PendingRedirect, _ target: SignInTarget, at url: EndpointURL, _ browser: Secret?
    ) async throws(SignInError) -> RedirectStep {
        let (_, request) = try await authorizationRequest(
            pending, target, at: nil, confirmsNonce: true, loginHintToken: nil)
        return .goOn(to: request.url(at: url).text, withinSeconds: lifetime, browser: browser)
    }

    /// The request for the provider, and the sign-in as it is kept until the response comes.
    /// - Parameter confirmsNonce: Whether an ID token will confirm the nonce.
    private func authorizationRequest(
        _ pending: PendingRedirect, _ target: SignInTarget, at network: MCCMNC?, confirmsNonce: Bool,
        loginHintToken: String?, _ parameters: AuthorizationParameters = .init()
    ) async throws(SignInError) -> (PendingRedirect, AuthorizationRequest) {
        let rules = target.server.rules
        let nonce = Secret(environment.random.token())
        let codeVerifier = CodeVerifier.random(from: environment.random)
        var pending = pending
        pending.leg = .authorization(network: network, nonce: nonce, codeVerifier: codeVerifier)
        let state = try await keep(pending)
        var request = AuthorizationRequest(
            clientID: pending.clientID, redirectURI: pending.start.callbackURL, demand: pending.start.demand,
            state: state, nonce: confirmsNonce && rules.nonce == .required ? nonce : nil,
            codeChallenge: rules.pkce == .off ? nil : codeVerifier.challenge,
            correlationID: target.usesNetworkDiscovery ? pending.correlationID : nil)
        request.loginHintToken = loginHintToken
        request.dpopKey = pending.dpopKey
        request.responseMode = rules.responseMode
        request.parameters = parameters.fixed
        for name in parameters.fromApps where parameters.fixed[name] == nil && !pending.start.parameters.isEmpty {
            if let value = pending.start.parameters[name] { request.parameters[name] = value }
        }
        request.repeatsRedirectURI = target.provider.group != nil
        return (pending, request)
    }

    /// - Returns: The `state` that the browser comes back with.
    private func keep(_ pending: PendingRedirect) async throws(SignInError) -> Secret {
        let state = Secret(environment.random.token())
        let handle = TokenHash(sha256Of: state.exposed)
        let content = pending.bytes
        let bytes = EncryptedOneTimeStore.length(of: content) + OneTimeRecord.overhead
        // If the store cannot tell which came back, they count.
        let unverified = pendingStarts.unverified(beforeAdding: bytes)
        if !unverified.isEmpty, let present = try? await oneTimeStore.present(among: unverified) {
            for handle in unverified where !present.contains(handle) { pendingStarts.end(handle) }
        }
        guard let place = pendingStarts.admit(handle, of: pending.subnet, bytes: bytes) else { throw .tooManyStarts }
        do {
            try await oneTimeStore.keep(
                content, for: .pendingRedirect, under: state, seconds: lifetime, insteadOf: place.evicted)
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

/// What decides a sign-in by redirects besides the store: the provider, as configured and with its metadata.
extension SignInTarget {
    /// Checks the response to a sign-in of this browser.
    /// - Returns: The code, and the network of its carrier; without a code, the carrier that the user chose.
    func accept(
        _ response: AuthorizationResponse, for pending: PendingRedirect
    ) async throws(SignInError) -> (code: Secret?, network: MCCMNC?) {
        if let problems = response.problems, response.error == nil { throw .malformedResponse(problems) }
        if let clientID = response.clientID, clientID != pending.clientID { throw .responseOfOtherClient }
        if let error = response.error {
            try await checkIssuerOfError(response, pending)
            throw provider.group?.refusal(atAuthorization: error) ?? .refusedAtAuthorization(error)
        }
        guard case .authorization(let asked, _, _) = pending.leg else {
            guard let network = response.network else { throw .carrierNotChosen }
            return (nil, network)
        }
        let network = asked ?? (usesNetworkDiscovery ? response.network : nil)
        guard network != nil || !usesNetworkDiscovery else { throw .carrierNotNamed }
        try await checkIssuer(response, network, pending)
        guard let code = response.code else { throw .codeMissing }
        return (code, network)
    }

    /// An error is the provider's only if its issuer is (RFC 9207 section 2). While the provider is not known, nothing
    /// can be compared, and the sign-in ends all the same.
    private func checkIssuerOfError(
        _ response: AuthorizationResponse, _ pending: PendingRedirect
    ) async throws(SignInError) {
        guard case .authorization(let asked, _, _) = pending.leg else { return }
        let network = asked ?? (usesNetworkDiscovery ? response.network : nil)
        guard let provider = try? await discover(network, for: pending.clientID, pending.correlationID) else { return }
        try checkIssuer(response.issuer, of: provider)
    }

    /// A response that names its issuer or its carrier must name the one that was asked.
    private func checkIssuer(
        _ response: AuthorizationResponse, _ network: MCCMNC?, _ pending: PendingRedirect
    ) async throws(SignInError) {
        let provider = try await discover(network, for: pending.clientID, pending.correlationID)
        // A carrier may have several networks: another one is good if it has the same issuer.
        if let network, let named = response.network, named != network {
            guard let other = try? await discover(named, for: pending.clientID, pending.correlationID),
                other.issuer.hasSameBytes(as: provider.issuer)
            else { throw .issuerMixedUp }
        }
        try checkIssuer(response.issuer, of: provider)
    }

    /// The configuration says whether the issuer is required; otherwise the metadata does, which may say that responses
    /// always name it (RFC 9207 section 2.4).
    private func checkIssuer(_ named: String?, of provider: ProviderMetadata) throws(SignInError) {
        guard let issuer = named else {
            guard server.rules.requiresIssuer ?? provider.namesIssuerInResponses else { return }
            throw .issuerNotNamed
        }
        guard relyingParty.isIssuer(issuer, of: provider.issuer) else { throw .issuerMixedUp }
    }
}

extension EncryptedOneTimeStore.Purpose {
    /// A redirect sign-in under way; the handle is the `state`.
    static let pendingRedirect = Self("redirect attempt")
}
