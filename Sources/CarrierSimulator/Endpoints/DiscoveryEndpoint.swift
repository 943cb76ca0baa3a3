import HTTPServer
import HTTPTypes
import Primitives

/// Returns the OpenID configuration of a network's carrier, as ZenKey's discovery issuer does.
struct DiscoveryEndpoint: Sendable {
    let simulator: CarrierSimulator

    /// `GET /.well-known/openid_configuration?client_id&mccmnc`.
    func respond(to request: Request) async throws -> Response {
        let parameters = Parameters(queryOf: request)
        let site = parameters["mccmnc"].flatMap { mccmnc in simulator.carrierSite(mccmnc) }
        simulator.note(.discovery, request, mccmnc: site?.mccmnc)
        let response: Response
        do {
            response = try await self.response(to: parameters, site)
        } catch let refusal as OAuthError {
            response = refusal.response
        }
        return site?.edited(response, at: .discovery) ?? response
    }

    private func response(to parameters: Parameters, _ site: CarrierSite?) async throws -> Response {
        guard let clientID = parameters["client_id"], simulator.clients[clientID] != nil
        else { throw OAuthError("unauthorized_client", "The client_id is missing or unknown.", status: .unauthorized) }
        guard let mccmnc = parameters["mccmnc"], parameters["prompt"] != "true" else { return userUnsupported(.ok) }
        guard (5...6).contains(mccmnc.utf8.count), mccmnc.utf8.allSatisfy(\.isASCIIDigit)
        else { throw OAuthError.invalidRequest("The mccmnc is not 5 or 6 digits.") }
        guard let site else { return userUnsupported(.notFound) }
        if let replacement = try await site.replacement("discovery-", redirectStatus: .found, pause: simulator.pause) {
            return replacement
        }
        return try configuration(of: site, edits: site.carrier.tampering.brokerMetadata)
    }

    /// `GET {issuer}/.well-known/openid-configuration` (OpenID Connect Discovery section 4).
    func respondWithConfiguration(to request: Request) async throws -> Response {
        try await simulator.serve(.configuration, request, faults: "discovery-") { site in
            guard site.carrier.hasIDTokens
            else { throw HTTPError(.notFound, code: "not_found", message: "The provider has no OpenID configuration.") }
            return try configuration(of: site)
        }
    }

    private func configuration(
        of site: CarrierSite, edits: [CarrierSimulator.Tampering.Edit<JSONMembers>] = []
    ) throws(OAuthError) -> Response {
        if site.has(.discoveryErrorRedirectURI) { return userUnsupported(.ok) }
        if site.has(.discoveryErrorDescription) {
            throw OAuthError("temporarily_unavailable", "The carrier is temporarily unavailable.", status: .ok)
        }
        var document = site.edited(ProviderMetadata.document(of: site), at: .discovery)
        for edit in edits { edit(&document) }
        // The live service of carriers allows ten days.
        let seconds = site.carrier.operatorProfile == nil ? 864_000 : 3600
        return .json(document, cacheControl: "max-age=\(seconds)")
    }

    /// The request does not identify the carrier: the response names the page where a user chooses it.
    private func userUnsupported(_ status: HTTPResponse.Status) -> Response {
        .json(
            ["error": "user_unsupported", "redirect_uri": .string(simulator.discoveryUIURL ?? "/ui/discovery-ui")],
            status: status)
    }
}
