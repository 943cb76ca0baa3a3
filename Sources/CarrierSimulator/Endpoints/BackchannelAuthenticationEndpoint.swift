import HTTPServer
import HTTPTypes
import Primitives

/// A carrier's server-initiated authorization endpoint, and what its user's phone would do with the request.
struct BackchannelAuthenticationEndpoint: Sendable {
    let simulator: CarrierSimulator

    /// `POST {issuer}/server-initiated`: a request object in JSON or a form; answered with `auth_req_id`.
    func start(_ request: Request) async throws -> Response {
        let site = try simulator.site(of: request)
        let parameters = Result { () throws(CarrierSimulator.Refusal) in try Parameters(contentOf: request) }
        simulator.note(.serverInitiated, request, mccmnc: site.mccmnc, content: try? parameters.get())
        if let broken = try await site.disturb(.serverInitiated, pause: simulator.pause) { return broken }
        do {
            let started = try BackchannelAuthenticationRequest(
                try parameters.get(), id: simulator.random.token(bytes: 24), site: site, clients: simulator.clients,
                now: simulator.clock.now())
            if site.has(.backchannelUserUnsupported) {
                throw CarrierSimulator.Refusal("user_unsupported", "The user cannot be asked.")
            }
            simulator.withState { $0.serverInitiated.put(started, for: started.id) }
            if site.has(.notificationBeforeResponse) { _ = try await simulator.answer(started.id, .approved) }
            return .json(answer(started, site, correlationID: try parameters.get()["correlation_id"]))
        } catch let refusal as CarrierSimulator.Refusal {
            return refusal.response()
        }
    }

    /// `POST {issuer}/server-initiated/{auth_req_id}/approve`: the user says yes; to the latest request of the carrier
    /// with `latest` for its id, because relying parties keep that to themselves.
    func approve(_ request: Request) async throws -> Response { try await decide(request) { _ in .approved } }

    /// `POST {issuer}/server-initiated/{auth_req_id}/deny`: the user says no, or `error` happens.
    func deny(_ request: Request) async throws -> Response {
        try await decide(request) { .failed($0["error"] ?? "access_denied") }
    }

    private func decide(
        _ request: Request, _ decision: (Parameters) -> CarrierSimulator.Decision
    ) async throws -> Response {
        let site = try simulator.site(of: request)
        do {
            let named = request.parameters["auth_req_id"] ?? ""
            let latest = simulator.backchannelAuthenticationRequests(at: site.mccmnc).last
            let id = named == "latest" ? latest ?? "" : named
            guard simulator.withState({ $0.serverInitiated[id]?.mccmnc }) == site.mccmnc else {
                throw CarrierSimulator.Refusal("not_found", "There is no such request.", status: .notFound)
            }
            let statuses = try await simulator.answer(id, decision(try Parameters(contentOf: request)))
            return .json(["notified": .array(statuses.map { .number(Int64($0)) })])
        } catch let refusal as CarrierSimulator.Refusal {
            return refusal.response()
        }
    }

    private func answer(
        _ started: BackchannelAuthenticationRequest, _ site: CarrierSite, correlationID: String?
    ) -> JSONMembers {
        let lifetime = BackchannelAuthenticationRequest.lifetime
        var answer: JSONMembers = [
            "auth_req_id": .text(started.id),
            "expires_in": site.carrier.writesExpiresInAsText ? .text("\(lifetime)") : .number(lifetime),
        ]
        answer["correlation_id"] = correlationID.map(JSON.text)
        if site.has(.backchannelMissingID) { answer["auth_req_id"] = nil }
        return answer
    }
}
