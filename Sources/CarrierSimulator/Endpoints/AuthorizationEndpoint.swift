import HTTPServer
import HTTPTypes

/// A carrier's authorization endpoint, and what its page's two buttons do.
struct AuthorizationEndpoint: Sendable {
    let simulator: CarrierSimulator

    /// Shows what is asked for. With `prompt=none` there is no page: the network knows its subscriber's device, which
    /// is enough for a1 and not for a3.
    func show(_ request: Request) throws -> Response {
        let site = try simulator.site(of: request)
        return answer(request, site: site) { (parameters, authorization) throws(CarrierSimulator.Refusal) in
            if site.has(.authorizationServerError) {
                throw CarrierSimulator.Refusal("server_error", "The carrier met an error of its own.")
            }
            guard authorization.prompt.contains("none") else {
                return .page(AuthorizationPage.html(site: site, request: authorization, parameters: parameters))
            }
            guard authorization.terms.acr == "a1" else {
                throw CarrierSimulator.Refusal("interaction_required", "The user must be asked for this acr.")
            }
            return try approved(authorization, site: site, userID: nil, asJSON: false)
        }
    }

    /// `POST …/authorize/approve`: the parameters of the authorization request, and `user`. With
    /// `Accept: application/json` it answers 200 with what a browser would be redirected with.
    func approve(_ request: Request) throws -> Response {
        let site = try simulator.site(of: request)
        return answer(request, site: site) { (parameters, authorization) throws(CarrierSimulator.Refusal) in
            if site.has(.authorizationDenied) { throw Self.denial }
            let asJSON = request.headers[.accept]?.hasPrefix("application/json") ?? false
            return try approved(authorization, site: site, userID: parameters["user"], asJSON: asJSON)
        }
    }

    /// `POST …/authorize/deny`.
    func deny(_ request: Request) throws -> Response {
        let site = try simulator.site(of: request)
        return answer(request, site: site) { (_, _) throws(CarrierSimulator.Refusal) in throw Self.denial }
    }

    private static let denial = CarrierSimulator.Refusal("access_denied", "The user said no.")

    /// Reads the request and hands it on; what is refused on the way is shown or sent back as it must be.
    private func answer(
        _ request: Request, site: CarrierSite,
        with body: (Parameters, AuthorizationRequest) throws(CarrierSimulator.Refusal) -> Response
    ) -> Response {
        do throws(AuthorizationFailure) {
            let parameters = try Self.parameters(of: request)
            simulator.note(
                .authorization, request, mccmnc: site.mccmnc, content: request.method == .post ? parameters : nil)
            let authorization = try simulator.authorizationRequest(parameters, site: site)
            do throws(CarrierSimulator.Refusal) {
                return try body(parameters, authorization)
            } catch {
                throw .returned(error, authorization.returning)
            }
        } catch {
            return refused(error, site: site)
        }
    }

    private static func parameters(of request: Request) throws(AuthorizationFailure) -> Parameters {
        guard request.method == .post else { return Parameters(queryOf: request) }
        do throws(CarrierSimulator.Refusal) {
            return try Parameters(contentOf: request)
        } catch {
            throw .shown(error)
        }
    }

    private func approved(
        _ request: AuthorizationRequest, site: CarrierSite, userID: String?, asJSON: Bool
    ) throws(CarrierSimulator.Refusal) -> Response {
        let code = try simulator.approve(request, site: site, userID: userID)
        let answer = AuthorizationResponse(returning: request.returning, site: site, outcome: .code(code))
        return asJSON ? .json(answer.json) : .redirect(to: answer.location)
    }

    private func refused(_ failure: AuthorizationFailure, site: CarrierSite) -> Response {
        switch failure {
        case .shown(let refusal): .page(RefusalPage.html(refusal), status: .badRequest)
        case .returned(let refusal, let returning):
            .redirect(
                to: AuthorizationResponse(returning: returning, site: site, outcome: .refusal(refusal)).location)
        }
    }
}
