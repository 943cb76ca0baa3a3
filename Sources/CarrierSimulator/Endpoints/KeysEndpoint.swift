import HTTPServer

/// A carrier's key set: `GET {issuer}/jwks`.
struct KeysEndpoint: Sendable {
    let simulator: CarrierSimulator

    func respond(to request: Request) async throws -> Response {
        let site = try simulator.site(of: request)
        simulator.note(.keys, request, mccmnc: site.mccmnc)
        if let broken = try await site.disturb(.keys, pause: simulator.pause) { return broken }
        let keys = CarrierKeys(site: site, pool: simulator.keyPool)
        return .json(site.tampered(try await keys.published(), at: .keys), cacheControl: "max-age=3600")
    }
}

/// An address no relying party should come to. It gives a trusting one all it hopes for, so that trust shows: the key
/// that signed the token, under the address its `jku` named.
struct CanaryEndpoint: Sendable {
    let simulator: CarrierSimulator

    func respond(to request: Request) async throws -> Response {
        let site = try simulator.site(of: request)
        simulator.note(.canary, request, mccmnc: site.mccmnc)
        let stranger = try await CarrierKeys(site: site, pool: simulator.keyPool).stranger()
        return .json(["keys": [.object(stranger.publicJWK(keyID: stranger.keyID))]])
    }
}
