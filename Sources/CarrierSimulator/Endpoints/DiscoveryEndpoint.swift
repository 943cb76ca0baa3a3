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
        return try await configuration(of: site, edits: site.carrier.tampering.brokerMetadata)
    }

    /// `GET {issuer}/.well-known/openid-configuration` (OpenID Connect Discovery section 4).
    func respondWithConfiguration(to request: Request) async throws -> Response {
        let site = try simulator.site(of: request)
        simulator.note(.configuration, request, mccmnc: site.mccmnc)
        guard site.carrier.hasIDTokens
        else { throw HTTPError(.notFound, code: "not_found", message: "The provider has no OpenID configuration.") }
        return site.edited(try await configuration(of: site), at: .configuration)
    }

    private func configuration(
        of site: CarrierSite, edits: [CarrierSimulator.Tampering.Edit<JSONMembers>] = []
    ) async throws -> Response {
        if let replacement = try await site.replacement("discovery-", redirectStatus: .found, pause: simulator.pause) {
            return replacement
        }
        if site.has(.discoveryErrorRedirectURI) { return userUnsupported(.ok) }
        if site.has(.discoveryErrorDescription) {
            throw OAuthError("temporarily_unavailable", "The carrier is temporarily unavailable.", status: .ok)
        }
        // The live service allows ten days.
        var document = site.edited(ProviderMetadata.document(of: site), at: .discovery)
        for edit in edits { edit(&document) }
        return .json(document, cacheControl: "max-age=864000")
    }

    /// The request does not identify the carrier: the response names the page where a user chooses it.
    private func userUnsupported(_ status: HTTPResponse.Status) -> Response {
        .json(
            ["error": "user_unsupported", "redirect_uri": .string(simulator.discoveryUIURL ?? "/ui/discovery-ui")],
            status: status)
    }
}
