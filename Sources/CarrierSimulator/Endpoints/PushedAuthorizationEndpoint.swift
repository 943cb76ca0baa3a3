import HTTPServer
import Primitives

/// A carrier's pushed authorization request endpoint (RFC 9126 section 2).
struct PushedAuthorizationEndpoint: Sendable {
    let simulator: CarrierSimulator

    /// `POST {issuer}/par`: a form with the parameters of an authorization request and the client's authentication.
    func respond(to request: Request) async throws -> Response {
        try await simulator.serveForm(.pushedAuthorization, request, faults: "par-") { site, form in
            if site.has(.parInvalidClient) { throw OAuthError.invalidClient("The client is unknown.") }
            if site.has(.parInvalidRequest) { throw OAuthError.invalidRequest("The simulator is set to refuse.") }
            let verifier = DPoPVerifier(simulator: simulator, site: site, server: .authorization)
            let thumbprint = try verifier.thumbprint(of: request, to: site.pushedAuthorizationEndpoint)
            let pushed = try accepted(request, form, site, keyThumbprint: thumbprint)
            let requestURI = PushedRequest.uriPrefix + simulator.random.token()
            simulator.withState { $0.pushedRequests.put(pushed, for: requestURI) }
            let response = site.pushedResponse([
                "request_uri": .string(requestURI), "expires_in": .integer(PushedRequest.lifetime),
            ])
            return verifier.giving(nonceWith: response, hasProof: thumbprint != nil)
        }
    }

    /// - Parameter keyThumbprint: Of the request's proof, which binds the code (RFC 9449 section 10.1).
    private func accepted(
        _ request: Request, _ form: Parameters, _ site: CarrierSite, keyThumbprint: String?
    ) throws(OAuthError) -> PushedRequest {
        let authenticator = ClientAuthenticator(
            simulator: simulator, site: site, endpoint: site.pushedAuthorizationEndpoint)
        let client = try authenticator.client(of: request, form: form)
        guard let id = form["client_id"], id.hasSameBytes(as: client.id)
        else { throw .invalidRequest("The client_id is missing, or not that of the client that authenticates.") }
        // RFC 9126 section 2.1.
        guard !form.has("request_uri") else { throw .invalidRequest("A pushed request must not have a request_uri.") }
        var parameters = form
        parameters.items.removeAll { ClientAuthenticator.credentials.contains($0.name) }
        parameters = try parameters.opened(at: site, clients: simulator.clients, now: simulator.clock.now())
        if let keyThumbprint, !parameters.has("dpop_jkt") {
            parameters.items.append(.init(name: "dpop_jkt", value: keyThumbprint))
        }
        guard keyThumbprint == nil || parameters["dpop_jkt"] == keyThumbprint
        else { throw OAuthError("invalid_dpop_proof", "The proof is of another key than dpop_jkt.") }
        _ = try AuthorizationRequest.parse(parameters, at: site, of: simulator)
        return PushedRequest(
            mccmnc: site.mccmnc, clientID: client.id, parameters: parameters,
            expiresAt: simulator.clock.now().advanced(bySeconds: PushedRequest.lifetime))
    }
}

/// An authorization request that a client pushed (RFC 9126), and that one browser may use.
struct PushedRequest: Sendable {
    /// Seconds from the push until a browser must have brought the `request_uri`.
    static let lifetime: Int64 = 60
    /// RFC 9126 section 2.2.
    static let uriPrefix = "urn:ietf:params:oauth:request_uri:"

    let mccmnc: String
    let clientID: String
    /// Without the client's credentials.
    let parameters: Parameters
    let expiresAt: Timestamp
    /// Whether a browser has brought it: its page may then be answered, once, and not be shown again.
    var isShown = false
}

extension SimulatorState {
    /// The request of a `request_uri`: for its page, which is shown once; or for the user's decision, which spends it.
    /// - Throws: `invalid_request_uri` if it is unknown, another client's or carrier's, expired, or was shown.
    mutating func use(
        _ requestURI: String, clientID: String, mccmnc: String, isDecision: Bool, now: Timestamp
    ) throws(OAuthError) -> Parameters {
        guard let pushed = pushedRequests[requestURI], pushed.mccmnc == mccmnc, pushed.clientID == clientID
        else { throw .invalidRequestURI("The request_uri is unknown, or another client's.") }
        if isDecision {
            guard pushed.isShown else { throw .invalidRequestURI("The page of the request_uri was not shown.") }
            pushedRequests.remove(requestURI)
        } else {
            guard !pushed.isShown else { throw .invalidRequestURI("The request_uri was used before.") }
            guard now < pushed.expiresAt else { throw .invalidRequestURI("The request_uri has expired.") }
            pushedRequests.update(requestURI) { $0.isShown = true }
        }
        return pushed.parameters
    }
}
