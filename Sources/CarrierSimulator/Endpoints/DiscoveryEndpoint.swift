import HTTPServer
import HTTPTypes

/// Finds the OpenID configuration of a network's carrier, as ZenKey's discovery issuer does.
struct DiscoveryEndpoint: Sendable {
    let simulator: CarrierSimulator

    /// `GET /.well-known/openid_configuration?client_id&mccmnc`.
    func respond(to request: Request) async throws -> Response {
        let parameters = Parameters(queryOf: request)
        let site = parameters["mccmnc"].flatMap { mccmnc in simulator.carrierSite(mccmnc) }
        simulator.note(.discovery, request, mccmnc: site?.mccmnc)
        guard let clientID = parameters["client_id"], simulator.clients[clientID] != nil else {
            return Self.error(.unauthorized, "unauthorized_client", "The client_id is missing or unknown.")
        }
        guard let mccmnc = parameters["mccmnc"], parameters["prompt"] != "true" else { return askTheUser(.ok) }
        guard Self.isWellFormed(mccmnc) else {
            return Self.error(.badRequest, "invalid_request", "The mccmnc is not 5 or 6 digits.")
        }
        guard let site else { return askTheUser(.notFound) }
        return try await answer(for: site)
    }

    /// `GET {issuer}/.well-known/openid-configuration` (OpenID Connect Discovery section 4).
    func respondWithConfiguration(to request: Request) async throws -> Response {
        let site = try simulator.site(of: request)
        simulator.note(.configuration, request, mccmnc: site.mccmnc)
        guard site.carrier.hasIDTokens else { throw HTTPError(.notFound, code: "not_found", message: "There is none.") }
        return try await answer(for: site)
    }

    private func answer(for site: CarrierSite) async throws -> Response {
        if let broken = try await site.disturb(.discovery, pause: simulator.pause) { return broken }
        if site.has(.discoveryErrorRedirectURI) { return askTheUser(.ok) }
        if site.has(.discoveryErrorDescription) {
            return Self.error(.ok, "temporarily_unavailable", "The carrier cannot be asked at present.")
        }
        // Ten days, as the live service says.
        return .json(
            site.tampered(ProviderMetadata(site: site).document, at: .discovery), cacheControl: "max-age=864000")
    }

    /// The carrier is not known from the request: a page where a person picks it is.
    private func askTheUser(_ status: HTTPResponse.Status) -> Response {
        .json(
            ["error": "user_unsupported", "redirect_uri": .text(simulator.discoveryUIURL ?? "/ui/discovery-ui")],
            status: status)
    }

    private static func error(_ status: HTTPResponse.Status, _ code: String, _ reason: String) -> Response {
        CarrierSimulator.Refusal(code, reason, status: status).response()
    }

    static func isWellFormed(_ mccmnc: String) -> Bool {
        (5...6).contains(mccmnc.utf8.count)
            && mccmnc.utf8.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
    }
}
