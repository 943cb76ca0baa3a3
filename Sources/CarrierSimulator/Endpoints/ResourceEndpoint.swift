import HTTPServer
import HTTPTypes
import Primitives

/// What a provider has for its users, in the form of Zoom's `GET /v2/users/me/token?type=zak`: a credential that is worth
/// something to others.
struct ResourceEndpoint: Sendable {
    let simulator: CarrierSimulator

    func respond(to request: Request) async throws -> Response {
        let site = try simulator.site(of: request)
        simulator.note(.resource, request, mccmnc: site.mccmnc)
        if let broken = try await site.disturb(.resource, pause: simulator.pause) { return broken }
        guard !site.has(.resource401), let grant = UserInfoEndpoint(simulator: simulator).grant(of: request, site: site)
        else {
            let refusal = CarrierSimulator.Refusal(
                "invalid_token", "The access token is missing, unknown, or no longer good.", status: .unauthorized)
            return refusal.response(headers: [.wwwAuthenticate: "Bearer error=\"invalid_token\""])
        }
        guard Parameters(queryOf: request)["type"] == "zak" else {
            return CarrierSimulator.Refusal.invalidRequest("The type must be zak.").response()
        }
        var answer: JSONMembers = ["token": .text("zak-of-\(grant.user.id)")]
        if site.has(.resourceHuge) { answer["padding"] = .text(String(repeating: "p", count: 2 << 20)) }
        var response = Response.json(answer)
        if site.has(.resourceScalar) { response.body = Array("\"zak\"".utf8) }
        return response
    }
}
