import HTTPServer
import HTTPTypes
import Primitives

/// What tests and people control at operators while the simulator runs.
struct OperatorControls: Sendable {
    let simulator: CarrierSimulator

    /// `GET /demo/device`: how the simulated phone is connected, and the operators with their subscribers.
    func showDevice(_: Request) -> Response {
        let operators = simulator.operators.map { carrier -> JSONValue in
            [
                "name": .string(carrier.mccmnc), "title": .string(carrier.name),
                "mccmncs": .texts(carrier.operatorProfile?.mccmncs ?? []),
                "users": carrier.listedUsers,
            ]
        }
        return .json(["device": .string(simulator.device.text), "operators": .array(operators)])
    }

    /// `POST /demo/device` with `device`: `wifi`, `cellular`, or `cellular:operator:user`.
    func setDevice(_ request: Request) throws -> Response {
        guard let device = try Parameters(contentOf: request)["device"].flatMap(CarrierSimulator.Device.init)
        else { throw OAuthError.invalidRequest("The device must be wifi, cellular, or cellular:operator:user.") }
        simulator.device = device
        return showDevice(request)
    }

    /// `GET /device`: the page on which a browser chooses its device. `POST /device` keeps the choice in a cookie.
    func showPage(_ request: Request) -> Response {
        page(CarrierSimulator.Device.named(by: request) ?? simulator.device)
    }

    func choose(_ request: Request) throws -> Response {
        guard let device = try Parameters(contentOf: request)["device"].flatMap(CarrierSimulator.Device.init)
        else { throw OAuthError.invalidRequest("The device is unknown.") }
        var response = page(device)
        // Cookies are of the host, not of the port (RFC 6265 section 8.5): the demonstration's page may change it, too.
        response.headers[.setCookie] = "\(CarrierSimulator.Device.cookieName)=\(device.text); Path=/; SameSite=Lax"
        return response
    }

    private func page(_ device: CarrierSimulator.Device) -> Response {
        .page(DevicePage.html(operators: simulator.operators, present: device))
    }

    /// `POST {issuer}/operator-tokens`: a TS.43 operator token of `user`, by default the first.
    func makeToken(_ request: Request) throws -> Response {
        let site = try simulator.site(of: request)
        let user = try Parameters(contentOf: request)["user"]
        guard let token = simulator.makeOperatorToken(at: site.mccmnc, user: user)
        else { throw OAuthError("user_not_found", "The operator has no such user.", status: .notFound) }
        return .json([
            "operator_token": .string(token), "operator": .string(site.mccmnc),
            "expires_in": .integer(OperatorState.OperatorToken.lifetime),
        ])
    }

    /// `POST {issuer}/sim-changes`: the SIM of `user` was changed `hours_ago` (0 by default).
    func changeSIM(_ request: Request) throws -> Response {
        let site = try simulator.site(of: request)
        let parameters = try Parameters(contentOf: request)
        guard let user = site.carrier.user(parameters["user"]),
            let hours = Int64(parameters["hours_ago"] ?? "0"), (0...100_000).contains(hours)
        else { throw OAuthError.invalidRequest("The user is unknown, or hours_ago is not 0 to 100000.") }
        let time = simulator.clock.now().advanced(bySeconds: -hours * 3600)
        simulator.setSIMChange(at: time, of: user.id, at: site.mccmnc)
        return .json(["user": .string(user.id), "changed_at": .string(UTCTime.text(time))])
    }
}

extension CarrierSimulator {
    func addOperators(to router: inout Router) {
        let root = "/operators/{mccmnc}"
        router.get(root + "/.well-known/openid-configuration", Self.json(respondWithOperatorMetadata))
        let authorization = OperatorAuthorizationEndpoint(simulator: self)
        router.get(root + "/authorize", Self.page(authorization.respond))
        router.post(root + "/authorize", Self.page(authorization.respond))
        router.post(root + "/token", OperatorTokenEndpoint(simulator: self).respond)
        router.get(root + "/jwks", respondWithKeys)
        let backchannel = OperatorBackchannelEndpoint(simulator: self)
        router.post(root + "/bc-authorize", backchannel.start)
        let numbers = NumberVerificationEndpoints(simulator: self)
        router.get(root + "/api/number-verification/v2/device-phone-number", numbers.share)
        router.post(root + "/api/number-verification/v2/verify", numbers.verify)
        let swaps = SIMSwapEndpoints(simulator: self)
        router.post(root + "/api/sim-swap/v2/check", swaps.check)
        router.post(root + "/api/sim-swap/v2/retrieve-date", swaps.retrieveDate)
        router.post(root + "/api/telco-finder/v1/search", TelcoFinderEndpoint(simulator: self).search)
        addFaults(below: root, to: &router)
        let controls = OperatorControls(simulator: self)
        router.post(root + "/operator-tokens", Self.shared(controls.makeToken))
        router.post(root + "/sim-changes", Self.json(controls.changeSIM))
        BackchannelControls(simulator: self).add(below: root + "/bc-authorize", to: &router)
        router.get("/demo/device", Self.shared(controls.showDevice))
        router.post("/demo/device", Self.shared(controls.setDevice))
        router.get("/device") { controls.showPage($0) }
        router.post("/device", Self.page(controls.choose))
    }

    /// `GET {issuer}/.well-known/openid-configuration`.
    private func respondWithOperatorMetadata(_ request: Request) async throws -> Response {
        try await serve(.configuration, request, faults: "discovery-") { site in
            guard let profile = site.carrier.operatorProfile
            else { throw OAuthError("not_found", "It is no operator.", status: .notFound) }
            let document = site.edited(OperatorMetadata.document(of: site, profile), at: .discovery)
            return .json(document, cacheControl: "max-age=3600")
        }
    }
}
