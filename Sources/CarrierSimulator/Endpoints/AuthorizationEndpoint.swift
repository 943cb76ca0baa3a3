import HTTPServer
import HTTPTypes
import Primitives

/// A carrier's authorization endpoint, and the two buttons of its page.
struct AuthorizationEndpoint: Sendable {
    typealias Refusal = CarrierSimulator.Refusal

    let simulator: CarrierSimulator

    /// Shows the authorization page. With `prompt=none` there is no page: the network identifies the device, which
    /// satisfies a1 but not a3.
    func show(_ request: Request) async throws -> Response {
        try await respond(to: request, resolving: shown) { (site, parameters, authorization) throws(Refusal) in
            if site.has(.authorizationServerError) {
                throw Refusal("server_error", "The carrier had an internal error.")
            }
            guard authorization.prompt.contains("none") else {
                return .shown(.page(AuthorizationPage.html(site: site, request: authorization, parameters: parameters)))
            }
            guard authorization.terms.acr == "a1" else {
                throw Refusal("interaction_required", "This acr requires the user's interaction.")
            }
            let code = try simulator.approve(authorization, site: site, userID: nil)
            return .returned(response(.code(code), authorization.returning, site), asJSON: false)
        }
    }

    /// `POST …/authorize/approve`: the parameters of the authorization request, and `user`. With
    /// `Accept: application/json` it responds with 200 and the parameters of the redirect.
    func approve(_ request: Request) async throws -> Response {
        try await respond(to: request, resolving: decided) { (site, parameters, authorization) throws(Refusal) in
            if site.has(.authorizationDenied) { throw Self.denial }
            let code = try simulator.approve(authorization, site: site, userID: parameters["user"])
            let asJSON = request.headers[.accept]?.hasPrefix("application/json") ?? false
            return .returned(response(.code(code), authorization.returning, site), asJSON: asJSON)
        }
    }

    /// `POST …/authorize/deny`.
    func deny(_ request: Request) async throws -> Response {
        try await respond(to: request, resolving: decided) { (_, _, _) throws(Refusal) in throw Self.denial }
    }

    private static let denial = Refusal("access_denied", "The user denied the request.")

    private func shown(_ requestURI: String, clientID: String, _ site: CarrierSite) throws(Refusal) -> Parameters {
        let now = simulator.clock.now()
        return try simulator.withState { state throws(Refusal) in
            try state.show(requestURI: requestURI, clientID: clientID, mccmnc: site.mccmnc, now: now)
        }
    }

    private func decided(_ requestURI: String, clientID: String, _ site: CarrierSite) throws(Refusal) -> Parameters {
        try simulator.withState { state throws(Refusal) in
            try state.decide(requestURI: requestURI, clientID: clientID, mccmnc: site.mccmnc)
        }
    }

    /// The parameters of the authorization request: those that the browser brings, or of the pushed request that it
    /// names. Beside `request_uri` a browser brings `client_id` only (RFC 9126 section 4), and the user's choice.
    private func resolved(
        _ parameters: Parameters, _ site: CarrierSite, _ resolve: Resolve
    ) throws(Refusal) -> Parameters {
        guard parameters.has("request_uri") else {
            guard !site.has(.parRequired) else { throw .invalidRequest("Authorization requests must be pushed.") }
            // The user's choice comes beside the request.
            var request = parameters
            request.items.removeAll { $0.name == "user" }
            return try request.opened(at: site, clients: simulator.clients, now: simulator.clock.now())
        }
        guard Set(parameters.items.map(\.name)).subtracting(["user"]) == ["client_id", "request_uri"],
            let requestURI = parameters["request_uri"], let clientID = parameters["client_id"]
        else { throw .invalidRequest("Beside request_uri there must be client_id, once, and nothing else.") }
        return try resolve(requestURI, clientID, site)
    }

    private func pushed(
        _ parameters: Parameters, _ site: CarrierSite, _ resolve: Resolve
    ) throws(AuthorizationError) -> Parameters {
        do throws(Refusal) { return try resolved(parameters, site, resolve) } catch { throw .shown(error) }
    }

    private typealias Resolve = (_ requestURI: String, _ clientID: String, CarrierSite) throws(Refusal) -> Parameters

    /// What the endpoint answers.
    private enum Answer {
        case shown(Response)
        case returned(AuthorizationResponse, asJSON: Bool)
    }

    /// Reads the request. The browser shows an error of the client, its redirect URI or its pushed request; other
    /// errors go to the relying party.
    private func respond(
        to request: Request, resolving resolve: Resolve,
        with body: (CarrierSite, Parameters, AuthorizationRequest) throws(Refusal) -> Answer
    ) async throws -> Response {
        let site = try simulator.site(of: request)
        let parameters = try Parameters(of: request)
        simulator.note(
            .authorization, request, mccmnc: site.mccmnc, content: request.method == .post ? parameters : nil)
        switch try answer(parameters, site, resolve, body) {
        case .shown(let response): return response
        case .returned(let response, asJSON: true): return .json(try await response.json())
        case .returned(let response, asJSON: false): return try await response.response()
        }
    }

    private func answer(
        _ parameters: Parameters, _ site: CarrierSite, _ resolve: Resolve,
        _ body: (CarrierSite, Parameters, AuthorizationRequest) throws(Refusal) -> Answer
    ) throws(Refusal) -> Answer {
        do throws(AuthorizationError) {
            let authorization = try simulator.authorizationRequest(try pushed(parameters, site, resolve), site: site)
            do throws(Refusal) {
                return try body(site, parameters, authorization)
            } catch {
                throw .returned(error, authorization.returning)
            }
        } catch {
            simulator.note(error.refusal, of: .authorization, at: site)
            guard case .returned(let refusal, let returning) = error else { throw error.refusal }
            return .returned(response(.refusal(refusal), returning, site), asJSON: false)
        }
    }

    private func response(
        _ outcome: AuthorizationResponse.Outcome, _ returning: ReturnAddress, _ site: CarrierSite
    ) -> AuthorizationResponse {
        AuthorizationResponse(returning: returning, site: site, outcome: outcome, simulator: simulator)
    }
}
