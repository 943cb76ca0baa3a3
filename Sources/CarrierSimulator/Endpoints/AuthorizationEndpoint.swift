import HTTPServer
import HTTPTypes
import Primitives

/// The authorization endpoint of a carrier, operator or provider, and the two buttons of its page.
struct AuthorizationEndpoint: Sendable {
    let simulator: CarrierSimulator

    /// Shows the authorization page. With `prompt=none` there is no page: the network identifies the device, which
    /// satisfies a1 but not a3. An operator never shows one.
    func show(_ request: Request) async throws -> Response {
        try await respond(to: request, isDecision: false) { (site, authorization, _) throws(OAuthError) in
            if site.has(.authorizationServerError) {
                throw OAuthError("server_error", "The carrier had an internal error.")
            }
            if site.carrier.operatorProfile != nil {
                return simulator.makeCode(
                    authorization.terms, of: try subscriber(behind: request, site), at: site)
            }
            guard authorization.prompt.contains("none") else { return nil }
            guard authorization.terms.acr == "a1"
            else { throw OAuthError("interaction_required", "This acr requires the user's interaction.") }
            return try simulator.approve(authorization, site: site, userID: nil)
        }
    }

    private func subscriber(
        behind request: Request, _ site: CarrierSite
    ) throws(OAuthError) -> CarrierSimulator.User {
        if site.has(.authorizationDenied) { throw OAuthError("access_denied", "The operator denied the request.") }
        guard let subscriber = simulator.subscriber(behind: request, at: site)
        else { throw OAuthError("login_required", "The device is not on this operator's network.") }
        if site.has(.operatorConsentRequired) { throw OAuthError("consent_required", "The user must consent first.") }
        return subscriber
    }

    /// `POST …/authorize/approve`: the parameters of the authorization request, and `user`. With
    /// `Accept: application/json` it responds with 200 and the parameters of the redirect.
    func approve(_ request: Request) async throws -> Response {
        try await respond(to: request, isDecision: true) { (site, authorization, user) throws(OAuthError) in
            if site.has(.authorizationDenied) { throw Self.denial }
            return try simulator.approve(authorization, site: site, userID: user)
        }
    }

    /// `POST …/authorize/deny`.
    func deny(_ request: Request) async throws -> Response {
        try await respond(to: request, isDecision: true) { (_, _, _) throws(OAuthError) in throw Self.denial }
    }

    private static let denial = OAuthError("access_denied", "The user denied the request.")

    /// The parameters of the authorization request: those that the browser brings, or of the pushed request that it
    /// names. Beside `request_uri` a browser brings `client_id` only (RFC 9126 section 4), and the user's choice.
    private func resolved(
        _ parameters: Parameters, _ site: CarrierSite, isDecision: Bool
    ) throws(OAuthError) -> Parameters {
        guard site.carrier.operatorProfile == nil else { return parameters }
        let now = simulator.clock.now()
        guard parameters.has("request_uri") else {
            guard !site.has(.parRequired) else { throw .invalidRequest("Authorization requests must be pushed.") }
            // The user's choice comes beside the request.
            var request = parameters
            request.items.removeAll { $0.name == "user" }
            return try request.opened(at: site, clients: simulator.clients, now: now)
        }
        guard Set(parameters.items.map(\.name)).subtracting(["user"]) == ["client_id", "request_uri"],
            let requestURI = parameters["request_uri"], let clientID = parameters["client_id"]
        else { throw .invalidRequest("Beside request_uri there must be client_id, once, and nothing else.") }
        return try simulator.withState { state throws(OAuthError) in
            try state.use(requestURI, clientID: clientID, mccmnc: site.mccmnc, isDecision: isDecision, now: now)
        }
    }

    /// The browser shows errors of the client, its redirect URI or its pushed request. Others go to the relying party.
    /// - Parameter decide: Returns the code for the user of this id; nil to show the page.
    private func respond(
        to request: Request, isDecision: Bool,
        with decide: (CarrierSite, AuthorizationRequest, _ user: String?) throws(OAuthError) -> String?
    ) async throws -> Response {
        let site = try simulator.site(of: request)
        let parameters = try Parameters(of: request)
        simulator.note(
            .authorization, request, mccmnc: site.mccmnc, content: request.method == .post ? parameters : nil)
        let (returning, outcome): (ReturnAddress, Result<String, OAuthError>)
        do throws(OAuthError) {
            let authorization = try AuthorizationRequest.parse(
                try resolved(parameters, site, isDecision: isDecision), at: site, of: simulator)
            let code = try OAuthError.returned(to: authorization.returning) { () throws(OAuthError) in
                try decide(site, authorization, parameters["user"])
            }
            guard let code else {
                return .page(AuthorizationPage.html(site: site, request: authorization, parameters: parameters))
            }
            (returning, outcome) = (authorization.returning, .success(code))
        } catch {
            simulator.note(error, of: .authorization, at: site)
            guard let address = error.returning else { throw error }
            (returning, outcome) = (address, .failure(error))
        }
        let response = AuthorizationResponse(returning: returning, site: site, outcome: outcome, simulator: simulator)
        guard isDecision, case .success = outcome, request.headers[.accept]?.hasPrefix("application/json") ?? false
        else { return try await response.response() }
        return .json(try await response.json())
    }
}
