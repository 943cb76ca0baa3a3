import HTTPServer
import HTTPTypes
import Primitives

/// An operator's authorization endpoint: it authenticates the device by its network, without a page.
struct OperatorAuthorizationEndpoint: Sendable {
    let simulator: CarrierSimulator

    func respond(to request: Request) async throws -> Response {
        let site = try simulator.site(of: request)
        let parameters = try Parameters(of: request)
        simulator.note(
            .authorization, request, mccmnc: site.mccmnc, content: request.method == .post ? parameters : nil)
        let (client, redirectURI) = try CarrierSimulator.Client.registered(parameters, in: simulator.clients)
        var returning = ReturnAddress(redirectURI: redirectURI, state: parameters["state"], clientID: client.id)
        let outcome: AuthorizationResponse.Outcome
        do throws(OAuthError) {
            try parameters.requireUniqueNames()
            let opened = try parameters.openedByProfile(
                at: site, endpoint: site.authorizationEndpoint, client: client, now: simulator.clock.now())
            returning.state = opened["state"]
            let terms = try terms(opened, client: client, redirectURI: redirectURI)
            outcome = .code(try approve(terms, request, site))
        } catch {
            simulator.note(error, of: .authorization, at: site)
            outcome = .refusal(error)
        }
        let response = AuthorizationResponse(returning: returning, site: site, outcome: outcome, simulator: simulator)
        return try await response.response(status: .found)
    }

    /// `acr_values`, `login_hint` and unknown parameters are ignored.
    private func terms(
        _ parameters: Parameters, client: CarrierSimulator.Client, redirectURI: String
    ) throws(OAuthError) -> GrantTerms {
        guard case .privateKeyJWT = client.authentication
        else { throw OAuthError("unauthorized_client", "The client is not registered for private_key_jwt.") }
        guard parameters["response_type"] == "code"
        else { throw OAuthError("unsupported_response_type", "The response_type must be code.") }
        guard parameters["code_challenge_method"] == "S256",
            let challenge = parameters["code_challenge"], Base64URL.decode(challenge)?.count == 32
        else { throw .invalidRequest("PKCE with S256 is required.") }
        let scopes = try OperatorScopes(parameters["scope"])
        // Number Verification has no interaction: a prompt of none is implied.
        guard ["none", nil].contains(parameters["prompt"])
        else { throw .invalidRequest("The operator shows no page: the prompt must be none.") }
        guard !parameters.has("dpop_jkt") || parameters["dpop_jkt"].flatMap({ Base64URL.decode($0) })?.count == 32
        else { throw .invalidRequest("The dpop_jkt is not a thumbprint.") }
        return GrantTerms(
            clientID: client.id, redirectURI: redirectURI, codeChallenge: challenge, nonce: parameters["nonce"],
            scopes: scopes.names, acr: OperatorTokenEndpoint.acr, keyThumbprint: parameters["dpop_jkt"])
    }

    private func approve(_ terms: GrantTerms, _ request: Request, _ site: CarrierSite) throws(OAuthError) -> String {
        if site.has(.authorizationServerError) {
            throw OAuthError("server_error", "The operator had an internal error.")
        }
        if site.has(.authorizationDenied) { throw OAuthError("access_denied", "The operator denied the request.") }
        guard let subscriber = simulator.subscriber(behind: request, at: site)
        else { throw OAuthError("login_required", "The device is not on this operator's network.") }
        if site.has(.operatorConsentRequired) { throw OAuthError("consent_required", "The user must consent first.") }
        let code = simulator.random.token()
        let grant = Grant(mccmnc: site.mccmnc, terms: terms, user: subscriber, approvedAt: simulator.clock.now())
        simulator.withState { $0.grants.put(grant, for: code) }
        return code
    }
}
