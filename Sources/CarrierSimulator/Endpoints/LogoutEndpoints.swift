import HTTPServer
import HTTPTypes
import Primitives

/// A provider's end-session endpoint, and the control that sends logout tokens.
struct LogoutEndpoints: Sendable {
    let simulator: CarrierSimulator

    /// `GET` or `POST {issuer}/logout` (OpenID Connect RP-Initiated Logout section 2): returns to the relying party
    /// with `state`. An `id_token_hint` must be this provider's, for the same client.
    func endSession(_ request: Request) throws -> Response {
        let site = try simulator.site(of: request)
        let parameters = try Parameters(of: request)
        simulator.note(.endSession, request, mccmnc: site.mccmnc, content: request.method == .post ? parameters : nil)
        do throws(OAuthError) {
            return try endedSession(parameters, site)
        } catch {
            simulator.note(error, of: .endSession, at: site)
            throw error
        }
    }

    private func endedSession(_ parameters: Parameters, _ site: CarrierSite) throws(OAuthError) -> Response {
        if let standIn = site.carrier.standIn, let response = try endedSession(parameters, standIn) { return response }
        guard let client = parameters["client_id"].flatMap({ simulator.clients[$0] })
        else { throw OAuthError.invalidRequest("The client_id is missing or unknown.") }
        if let hint = parameters["id_token_hint"] {
            guard let claims = ReceivedJWS(hint, maximumBytes: 16_384)?.claims,
                claims["iss"]?.string == site.tokenIssuer,
                (claims["aud"]?.array ?? [claims["aud"] ?? .null]).contains(.string(client.id))
            else { throw OAuthError.invalidRequest("The id_token_hint is not of this provider and client.") }
        }
        guard let uri = parameters["post_logout_redirect_uri"], client.allowsAfterLogout(uri)
        else { throw OAuthError.invalidRequest("The post_logout_redirect_uri is missing or not registered.") }
        var state = parameters["state"]
        if site.has(.logoutOtherState) { state = "another-state" }
        if site.has(.logoutMissingState) { state = nil }
        return .redirect(to: uri.adding([("state", state)]))
    }

    /// `POST {issuer}/end-sessions` with `url`, `client_id`, `user` or `sid` or both, and optionally `defect`: posts a
    /// logout token to `url` and returns the status of the response.
    func send(_ request: Request) async throws -> Response {
        let site = try simulator.site(of: request)
        let parameters = try Parameters(contentOf: request)
        let defect = parameters["defect"].flatMap(CarrierSimulator.LogoutDefect.init(rawValue:))
        guard (defect == nil) == (parameters["defect"] == nil)
        else { throw OAuthError.invalidRequest("The defect is unknown.") }
        let token = try await simulator.logoutToken(
            of: site.mccmnc, clientID: parameters["client_id"] ?? "", user: parameters["user"],
            sessionID: parameters["sid"], defect: defect)
        do {
            let status = try await simulator.sendLogout(token, to: parameters["url"] ?? "")
            return .json(["status": .integer(Int64(status))])
        } catch let failure as NotificationError {
            throw OAuthError("no_answer", "The url does not respond: \(failure.rawValue).")
        }
    }
}
