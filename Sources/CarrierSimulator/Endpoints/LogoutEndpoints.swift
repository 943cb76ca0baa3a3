import HTTPServer
import HTTPTypes
import Primitives

/// A provider's end-session endpoint, and the control that has it end sessions of a relying party.
struct LogoutEndpoints: Sendable {
    let simulator: CarrierSimulator

    /// `GET` or `POST …/logout` (OpenID Connect RP-Initiated Logout section 2): back to the relying party with `state`.
    func endSession(_ request: Request) throws -> Response {
        let site = try simulator.site(of: request)
        do throws(CarrierSimulator.Refusal) {
            let parameters = try request.method == .post ? Parameters(contentOf: request) : Parameters(queryOf: request)
            simulator.note(
                .endSession, request, mccmnc: site.mccmnc, content: request.method == .post ? parameters : nil)
            guard let client = parameters["client_id"].flatMap({ simulator.clients[$0] })
            else { throw .init("invalid_request", "The client_id is missing or unknown.") }
            guard let uri = parameters["post_logout_redirect_uri"], client.allowsAfterLogout(uri)
            else { throw .invalidRequest("The post_logout_redirect_uri is missing or not registered.") }
            var state = parameters["state"]
            if site.has(.logoutOtherState) { state = "another-state" }
            if site.has(.logoutMissingState) { state = nil }
            return .redirect(to: FormCoding.url(uri, adding: [("state", state)]))
        } catch {
            return .page(RefusalPage.html(error), status: .badRequest)
        }
    }

    /// `POST …/end-sessions` with `url`, `client_id`, and `user` or `sid` or both, perhaps a `defect`: sends a logout
    /// token there, and tells the status of the answer.
    func send(_ request: Request) async throws -> Response {
        let site = try simulator.site(of: request)
        do {
            let parameters = try Parameters(contentOf: request)
            let defect = parameters["defect"].flatMap(CarrierSimulator.LogoutDefect.init(rawValue:))
            guard (defect == nil) == (parameters["defect"] == nil) else {
                throw CarrierSimulator.Refusal.invalidRequest("The defect is unknown.")
            }
            let token = try await simulator.logoutToken(
                of: site.mccmnc, clientID: parameters["client_id"] ?? "", user: parameters["user"],
                sessionID: parameters["sid"], defect: defect)
            let status = try await simulator.sendLogout(token, to: parameters["url"] ?? "")
            return .json(["status": .number(Int64(status))])
        } catch let refusal as CarrierSimulator.Refusal {
            return refusal.response()
        } catch let failure as NotificationFailure {
            return CarrierSimulator.Refusal("no_answer", "The url does not answer: \(failure.rawValue).").response()
        }
    }
}
