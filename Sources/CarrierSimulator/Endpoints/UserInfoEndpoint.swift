import HTTPServer
import HTTPTypes
import Primitives

/// A carrier's userinfo endpoint (OpenID Connect Core section 5.3): `GET` with `Authorization: Bearer`.
struct UserInfoEndpoint: Sendable {
    let simulator: CarrierSimulator

    func respond(to request: Request) async throws -> Response {
        let site = try simulator.site(of: request)
        simulator.note(.userInfo, request, mccmnc: site.mccmnc)
        if let broken = try await site.disturb(.userInfo, pause: simulator.pause) { return broken }
        guard !site.has(.userInfo401), let grant = grant(of: request, site: site) else {
            // RFC 6750 section 3.
            let refusal = CarrierSimulator.Refusal(
                "invalid_token", "The access token is missing, unknown, or no longer good.", status: .unauthorized)
            return refusal.response(headers: [.wwwAuthenticate: "Bearer error=\"invalid_token\""])
        }
        return .json(site.tampered(UserInfo(grant: grant, site: site).claims, at: .userInfo))
    }

    func grant(of request: Request, site: CarrierSite) -> Grant? {
        let words = request.headers[.authorization]?.split(separator: " ") ?? []
        guard words.count == 2, words[0].lowercased() == "bearer",
            let token = simulator.withState({ $0.accessTokens[String(words[1])] }),
            token.grant.mccmnc == site.mccmnc, !token.isRevoked, simulator.clock.now() < token.expiresAt
        else { return nil }
        return token.grant
    }
}
