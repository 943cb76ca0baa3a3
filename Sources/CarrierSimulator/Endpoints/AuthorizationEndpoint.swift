import HTTPServer
import HTTPTypes
import Primitives

/// A carrier's authorization endpoint, and the two buttons of its page.
struct AuthorizationEndpoint: Sendable {
    let simulator: CarrierSimulator

    /// Shows the authorization page. With `prompt=none` there is no page: the network identifies the device, which
    /// satisfies a1 but not a3.
    func show(_ request: Request) async throws -> Response {
        try await respond(to: request, isDecision: false) { (site, parameters, authorization) throws(OAuthError) in
            if site.has(.authorizationServerError) {
                throw OAuthError("server_error", "The carrier had an internal error.")
            }
            guard authorization.prompt.contains("none") else {
                return .shown(.page(AuthorizationPage.html(site: site, request: authorization, parameters: parameters)))
            }
            guard authorization.terms.acr == "a1"
            else { throw OAuthError("interaction_required", "This acr requires the user's interaction.") }
            let code = try simulator.approve(authorization, site: site, userID: nil)
            return .returned(.code(code), authorization.returning, asJSON: false)
        }
    }

    /// `POST …/authorize/approve`: the parameters of the authorization request, and `user`. With
    /// `Accept: application/json` it responds with 200 and the parameters of the redirect.
    func approve(_ request: Request) async throws -> Response {
        try await respond(to: request, isDecision: true) { (site, parameters, authorization) throws(OAuthError) in
            if site.has(.authorizationDenied) { throw Self.denial }
            let code = try simulator.approve(authorization, site: site, userID: parameters["user"])
            let asJSON = request.headers[.accept]?.hasPrefix("application/json") ?? false
            return .returned(.code(code), authorization.returning, asJSON: asJSON)
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

    private enum Answer {
        case shown(Response)
        case returned(AuthorizationResponse.Outcome, ReturnAddress, asJSON: Bool)
    }

    /// The browser shows errors of the client, its redirect URI or its pushed request. Others go to the relying party.
    private func respond(
        to request: Request, isDecision: Bool,
        with body: (CarrierSite, Parameters, AuthorizationRequest) throws(OAuthError) -> Answer
    ) async throws -> Response {
        let site = try simulator.site(of: request)
        let parameters = try Parameters(of: request)
        simulator.note(
            .authorization, request, mccmnc: site.mccmnc, content: request.method == .post ? parameters : nil)
        switch try answer(parameters, site, isDecision: isDecision, body) {
        case .shown(let response): return response
        case .returned(let outcome, let returning, let asJSON):
            let response = AuthorizationResponse(
                returning: returning, site: site, outcome: outcome, simulator: simulator)
            return asJSON ? .json(try await response.json()) : try await response.response()
        }
    }

    private func answer(
        _ parameters: Parameters, _ site: CarrierSite, isDecision: Bool,
        _ body: (CarrierSite, Parameters, AuthorizationRequest) throws(OAuthError) -> Answer
    ) throws(OAuthError) -> Answer {
        do throws(AuthorizationError) {
            let request: Parameters
            do throws(OAuthError) {
                request = try resolved(parameters, site, isDecision: isDecision)
            } catch {
                throw .shown(error)
            }
            let authorization = try AuthorizationRequest.parse(request, at: site, of: simulator)
            do throws(OAuthError) {
                return try body(site, parameters, authorization)
            } catch {
                throw .returned(error, authorization.returning)
            }
        } catch {
            simulator.note(error.refusal, of: .authorization, at: site)
            guard case .returned(let refusal, let returning) = error else { throw error.refusal }
            return .returned(.refusal(refusal), returning, asJSON: false)
        }
    }
}
