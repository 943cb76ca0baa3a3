import OpenIDConnect
import Primitives

/// What decides a sign-in by redirects besides the store: the provider, as configured and with its metadata.
struct RedirectRules: Sendable {
    let target: SignInTarget

    /// What an accepted response brings.
    enum Accepted: Sendable {
        /// The carrier that the user chose.
        case carrier(MCCMNC)
        case code(Secret, network: MCCMNC?)
    }

    func discover(_ network: MCCMNC?, for pending: PendingRedirect) async throws(SignInError) -> ProviderMetadata {
        try await target.discover(network, for: pending.clientID, pending.correlationID)
    }

    /// The request for the provider.
    /// - Parameters:
    ///   - nonce: What an ID token will confirm; nil for a provider without ID tokens.
    ///   - challenge: Of the code verifier.
    func authorizationRequest(
        _ pending: PendingRedirect, state: Secret, nonce: Secret?, challenge: String, loginHintToken: String?
    ) -> AuthorizationRequest {
        let start = pending.start
        var request = AuthorizationRequest(
            clientID: pending.clientID, redirectURI: start.callbackURL, scopes: start.scopes, state: state,
            nonce: nonce, codeChallenge: challenge,
            correlationID: target.usesNetworkDiscovery ? pending.correlationID : nil)
        request.loginHintToken = loginHintToken
        request.loginHint = start.loginHint
        request.acrValues = start.acrValues
        request.context = start.context
        request.prompt = start.prompt
        request.maximumAuthenticationAge = pending.authentication.maximumAge
        request.dpopKey = pending.dpopKey
        request.responseMode = target.server.rules.responseMode
        request.repeatsRedirectURI = target.mobileOperator != nil
        return request
    }

    /// Checks the response to a sign-in of this browser.
    func accept(
        _ response: AuthorizationResponse, for pending: PendingRedirect
    ) async throws(SignInError) -> Accepted {
        if let clientID = response.clientID, clientID != pending.clientID { throw .responseOfOtherClient }
        if let error = response.error {
            try await checkIssuerOfError(response, pending)
            throw target.mobileOperator != nil ? .refusedByOperator(error) : .refusedAtAuthorization(error)
        }
        guard case .authorization(let asked, _, _) = pending.leg else {
            guard let network = response.network else { throw .carrierNotChosen }
            return .carrier(network)
        }
        let network = asked ?? (target.usesNetworkDiscovery ? response.network : nil)
        guard network != nil || !target.usesNetworkDiscovery else { throw .carrierNotNamed }
        try await checkIssuer(response, network, pending)
        guard let code = response.code else { throw .codeMissing }
        return .code(code, network: network)
    }

    /// An error is the provider's only if its issuer is (RFC 9207 section 2). While the provider is not known, nothing
    /// can be compared, and the sign-in ends all the same.
    private func checkIssuerOfError(
        _ response: AuthorizationResponse, _ pending: PendingRedirect
    ) async throws(SignInError) {
        guard case .authorization(let asked, _, _) = pending.leg else { return }
        let network = asked ?? (target.usesNetworkDiscovery ? response.network : nil)
        guard let provider = try? await discover(network, for: pending) else { return }
        try checkIssuer(response.issuer, of: provider)
    }

    /// A response that names its issuer or its carrier must name the one that was asked.
    private func checkIssuer(
        _ response: AuthorizationResponse, _ network: MCCMNC?, _ pending: PendingRedirect
    ) async throws(SignInError) {
        let provider = try await discover(network, for: pending)
        // A carrier may have several networks: another one is good if it has the same issuer.
        if let network, let named = response.network, named != network {
            guard let other = try? await discover(named, for: pending), other.issuer.hasSameBytes(as: provider.issuer)
            else { throw .issuerMixedUp }
        }
        try checkIssuer(response.issuer, of: provider)
    }

    /// The configuration says whether the issuer is required; otherwise the metadata does, which may say that responses
    /// always name it (RFC 9207 section 2.4).
    private func checkIssuer(_ named: String?, of provider: ProviderMetadata) throws(SignInError) {
        guard let issuer = named else {
            guard target.server.rules.requiresIssuer ?? provider.namesIssuerInResponses else { return }
            throw .issuerNotNamed
        }
        guard provider.issuer.hasSameBytes(as: issuer) else { throw .issuerMixedUp }
    }
}
