import HTTPServer
import HTTPTypes
import Primitives

/// A carrier's backchannel authentication endpoint (ZenKey's server-initiated sign-in), and the user's decision.
struct BackchannelAuthenticationEndpoint: Sendable {
    typealias Refusal = CarrierSimulator.Refusal

    let simulator: CarrierSimulator

    /// `POST {issuer}/server-initiated`: a request object in JSON or a form. The response has `auth_req_id`.
    func start(_ request: Request) async throws -> Response {
        let parameters = Result { () throws(Refusal) in try Parameters(contentOf: request) }
        return try await simulator.serve(
            .backchannelAuthentication, request, faults: "server-initiated-", content: try? parameters.get()
        ) { site in
            let started = try BackchannelAuthenticationRequest(
                try parameters.get(), id: simulator.random.token(bytes: 24), site: site, clients: simulator.clients,
                now: simulator.clock.now())
            if site.has(.backchannelUserUnsupported) {
                throw Refusal("user_unsupported", "The user cannot be asked.")
            }
            simulator.withState { $0.backchannelRequests.put(started, for: started.id) }
            if site.has(.notificationBeforeResponse) { _ = try await simulator.complete(started.id, .approved) }
            let lifetime = BackchannelAuthenticationRequest.lifetime
            var members = JSONMembers()
            if !site.has(.backchannelMissingID) { members["auth_req_id"] = .string(started.id) }
            members["expires_in"] = site.carrier.writesExpiresInAsText ? .string("\(lifetime)") : .integer(lifetime)
            members["correlation_id"] = .string(try parameters.get()["correlation_id"])
            return .json(members)
        }
    }

    /// `POST {issuer}/server-initiated/{auth_req_id}/approve`. The id `latest` names the carrier's latest request,
    /// because relying parties do not reveal the id.
    func approve(_ request: Request) async throws -> Response { try await decide(request) { _ in .approved } }

    /// `POST {issuer}/server-initiated/{auth_req_id}/deny`, with the error code in `error` (by default
    /// `access_denied`).
    func deny(_ request: Request) async throws -> Response {
        try await decide(request) { .failed($0["error"] ?? "access_denied") }
    }

    private func decide(
        _ request: Request, _ decision: (Parameters) -> CarrierSimulator.Decision
    ) async throws -> Response {
        let site = try simulator.site(of: request)
        let named = request.parameters["auth_req_id"] ?? ""
        let latest = simulator.backchannelAuthenticationRequests(at: site.mccmnc).last
        let id = named == "latest" ? latest ?? "" : named
        guard simulator.withState({ $0.backchannelRequests[id]?.mccmnc }) == site.mccmnc else {
            throw Refusal("not_found", "There is no such request.", status: .notFound)
        }
        let statuses = try await simulator.complete(id, decision(try Parameters(contentOf: request)))
        return .json(["notified": .array(statuses.map { .integer(Int64($0)) })])
    }
}
