import HTTPServer
import HTTPTypes
import Primitives

/// A carrier's backchannel authentication endpoint (ZenKey's server-initiated sign-in).
struct ServerInitiatedEndpoint: Sendable {
    typealias Refusal = CarrierSimulator.Refusal

    let simulator: CarrierSimulator

    /// `POST {issuer}/server-initiated`: a request object in JSON or a form. The response has `auth_req_id`.
    func start(_ request: Request) async throws -> Response {
        let parameters = Result { () throws(Refusal) in try Parameters(contentOf: request) }
        return try await simulator.serve(
            .backchannelAuthentication, request, faults: "server-initiated-", content: try? parameters.get()
        ) { site in
            let started = try ServerInitiatedRequest(
                try parameters.get(), id: simulator.random.token(bytes: 24), site: site, clients: simulator.clients,
                now: simulator.clock.now())
            if site.has(.backchannelUserUnsupported) {
                throw Refusal("user_unsupported", "The user cannot be asked.")
            }
            simulator.withState { $0.serverInitiatedRequests.put(started, for: started.id) }
            if site.has(.notificationBeforeResponse) { _ = try await simulator.complete(started.id, .approved) }
            let lifetime = ServerInitiatedRequest.lifetime
            var members = JSONMembers()
            if !site.has(.backchannelMissingID) { members["auth_req_id"] = .string(started.id) }
            members["expires_in"] = site.carrier.writesExpiresInAsText ? .string("\(lifetime)") : .integer(lifetime)
            members["correlation_id"] = .string(try parameters.get()["correlation_id"])
            return .json(members)
        }
    }
}
