import HTTPServer
import HTTPTypes
import Primitives

/// The decision of a user who is asked on their phone, at a carrier, an operator or a provider.
struct BackchannelControls: Sendable {
    typealias Refusal = CarrierSimulator.Refusal

    let simulator: CarrierSimulator

    /// Adds the routes below the endpoint of a request: `POST …/{auth_req_id}/approve` and `…/deny`.
    func add(below endpoint: String, to router: inout Router) {
        router.post(endpoint + "/{auth_req_id}/approve", CarrierSimulator.shared(approve))
        router.post(endpoint + "/{auth_req_id}/deny", CarrierSimulator.shared(deny))
    }

    /// The id `latest` names the latest request, because relying parties do not reveal the id.
    private func approve(_ request: Request) async throws -> Response { try await decide(request) { _ in .approved } }

    /// With the error code in `error`, by default `access_denied`.
    private func deny(_ request: Request) async throws -> Response {
        try await decide(request) { .failed($0["error"] ?? "access_denied") }
    }

    private func decide(
        _ request: Request, _ decision: (Parameters) -> CarrierSimulator.Decision
    ) async throws -> Response {
        let known = simulator.backchannelAuthenticationRequests(at: try simulator.site(of: request).mccmnc)
        let named = request.parameters["auth_req_id"] ?? ""
        guard let id = named == "latest" ? known.last : known.first(where: { $0 == named })
        else { throw Refusal("not_found", "There is no such request.", status: .notFound) }
        let statuses = try await simulator.complete(id, decision(try Parameters(contentOf: request)))
        return .json(["notified": .array(statuses.map { .integer(Int64($0)) })])
    }
}
