import HTTPServer
import HTTPTypes
import Primitives

/// What tests and people control at operators while the simulator runs.
struct OperatorControls: Sendable {
    typealias Refusal = CarrierSimulator.Refusal

    let simulator: CarrierSimulator

    /// `GET /demo/device`: how the simulated phone is connected, and the operators with their subscribers.
    func showDevice(_: Request) -> Response {
        let operators = simulator.operators.map { carrier -> JSONValue in
            [
                "name": .string(carrier.mccmnc), "title": .string(carrier.name),
                "mccmncs": .texts(carrier.operatorProfile?.mccmncs ?? []),
                "users": .array(
                    carrier.users.map { user in
                        [
                            "id": .string(user.id), "name": .string(user.name),
                            "phone_number": .string(user.phoneNumber),
                        ]
                    }),
            ]
        }
        return .json(["device": .string(simulator.device.text), "operators": .array(operators)])
    }

    /// `POST /demo/device` with `device`: `wifi`, `cellular`, or `cellular:operator:user`.
    func setDevice(_ request: Request) throws -> Response {
        guard let device = try Parameters(contentOf: request)["device"].flatMap(CarrierSimulator.Device.init) else {
            throw Refusal.invalidRequest("The device must be wifi, cellular, or cellular:operator:user.")
        }
        simulator.device = device
        return showDevice(request)
    }

    /// `GET /device`: the page on which a browser chooses its device. `POST /device` keeps the choice in a cookie.
    func showPage(_ request: Request) -> Response {
        page(CarrierSimulator.Device.named(by: request) ?? simulator.device)
    }

    func choose(_ request: Request) throws -> Response {
        guard let device = try Parameters(contentOf: request)["device"].flatMap(CarrierSimulator.Device.init) else {
            throw Refusal.invalidRequest("The device is unknown.")
        }
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
        else { throw Refusal("user_not_found", "The operator has no such user.", status: .notFound) }
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
        else { throw Refusal.invalidRequest("The user is unknown, or hours_ago is not 0 to 100000.") }
        let time = simulator.clock.now().advanced(bySeconds: -hours * 3600)
        simulator.setSIMHistory(.changed(at: time), of: user.id, at: site.mccmnc)
        return .json(["user": .string(user.id), "changed_at": .string(UTCTime.text(time))])
    }
}
