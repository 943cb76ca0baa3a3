import HTTPServer
import HTTPTypes
import Primitives

/// A carrier's token endpoint.
struct TokenEndpoint: Sendable {
    let simulator: CarrierSimulator

    func respond(to request: Request) async throws -> Response {
        let site = try simulator.site(of: request)
        let form = Result { () throws(CarrierSimulator.Refusal) in try Self.form(of: request) }
        simulator.note(.token, request, mccmnc: site.mccmnc, content: try? form.get())
        if let broken = try await site.disturb(.token, pause: simulator.pause) ?? refused(site) { return broken }
        do {
            let form = try form.get()
            if !site.carrier.isCarrier, form["grant_type"] == "refresh_token" {
                return try refresh(request, form, site)
            }
            let tokenRequest = try TokenRequest(
                request, form: form, authenticator: ClientAuthenticator(simulator: simulator, site: site))
            let grant = try redeem(tokenRequest, site: site)
            return try await answer(tokenRequest, grant: grant, site: site, correlationID: form["correlation_id"])
        } catch let refusal as CarrierSimulator.Refusal {
            return Self.response(to: refusal)
        }
    }

    private static func form(of request: Request) throws(CarrierSimulator.Refusal) -> Parameters {
        guard request.headers[.contentType]?.lowercased().hasPrefix("application/x-www-form-urlencoded") ?? false
        else { throw .invalidRequest("Content-Type must be application/x-www-form-urlencoded.") }
        return try Parameters(contentOf: request)
    }

    /// Takes the code and checks what it was issued for. A code that is shown with a wrong verifier or redirect URI is
    /// spent: whoever shows it so is not who asked for it.
    private func redeem(_ request: TokenRequest, site: CarrierSite) throws(CarrierSimulator.Refusal) -> Grant {
        let now = simulator.clock.now()
        let taken = simulator.withState { state in
            Result { () throws(CarrierSimulator.Refusal) in
                try state.redeem(
                    code: request.code, clientID: request.client.id, mccmnc: site.mccmnc, now: now,
                    takesUsedCodes: site.has(.tokenReusableCode))
            }
        }
        let grant = try taken.get()
        guard grant.terms.redirectURI.hasSameBytes(as: request.redirectURI)
        else { throw .init("invalid_grant", "The redirect_uri is not that of the authorization request.") }
        guard request.matches(codeChallenge: grant.terms.codeChallenge)
        else { throw .init(site.carrier.wrongVerifierError.rawValue, "The code_verifier is wrong.") }
        return grant
    }

    private func answer(
        _ request: TokenRequest, grant: Grant, site: CarrierSite, correlationID: String?
    ) async throws -> Response {
        let now = simulator.clock.now()
        let accessToken = simulator.random.token()
        let refreshToken = simulator.random.token()
        let lifetime = site.carrier.accessTokenLifetime
        simulator.withState { state in
            state.keep(
                accessToken: accessToken, of: grant, code: request.code, lifetime: lifetime, family: refreshToken,
                now: now)
            guard !site.carrier.isCarrier else { return }
            state.refreshTokens.put(.init(grant: grant, family: refreshToken), for: refreshToken)
        }
        let issuer = IDTokenIssuer(simulator: simulator, site: site, client: request.client)
        var answer: JSONMembers = [
            "access_token": .text(accessToken), "token_type": "Bearer",
            "refresh_token": .text(refreshToken),
            "expires_in": site.carrier.writesExpiresInAsText ? .text("\(lifetime)") : .number(lifetime),
            "scope": .text(grant.terms.scopes.joined(separator: " ")),
        ]
        if site.carrier.hasIDTokens {
            answer["id_token"] = .text(try await issuer.issue(for: grant, accessToken: accessToken, now: now))
        }
        answer["correlation_id"] = correlationID.map(JSON.text)
        return TokenFaults(site: site).spoil(site.tampered(answer, at: .token))
    }

    /// The faults in which the endpoint refuses a request it has not looked at.
    private func refused(_ site: CarrierSite) -> Response? {
        if site.has(.token503) {
            var response = Response.brokenPage(.serviceUnavailable)
            response.headers[.retryAfter] = "7"
            return response
        }
        if let code = site.carrier.tokenRefusal {
            return Self.response(to: .init(code, "The carrier was told to refuse."))
        }
        if site.has(.tokenInvalidClient) {
            return Self.response(to: .init("invalid_client", "The client is unknown.", status: .unauthorized))
        }
        if site.has(.tokenInvalidGrant) { return Self.response(to: .init("invalid_grant", "The code is unknown.")) }
        if site.has(.tokenTemporarilyUnavailable) {
            return Self.response(to: .init("temporarily_unavailable", "The carrier is too busy."))
        }
        return nil
    }

    private static func response(to refusal: CarrierSimulator.Refusal) -> Response {
        // RFC 6749 section 5.2: a client that used the Authorization field is told the scheme to use.
        refusal.response(headers: refusal.status == .unauthorized ? [.wwwAuthenticate: "Basic realm=\"token\""] : [:])
    }
}
