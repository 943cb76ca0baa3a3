import HTTPServer
import HTTPTypes
import Primitives

/// What tests and people control while the simulator runs.
struct ControlEndpoints: Sendable {
    let simulator: CarrierSimulator

    /// `GET {issuer}/faults`: all faults, and those that are on.
    func listFaults(_ request: Request) throws -> Response {
        let site = try simulator.site(of: request)
        var known = JSONMembers()
        for fault in CarrierSimulator.Fault.allCases { known.append(fault.name, .string(fault.summary)) }
        return .json([
            "mccmnc": .string(site.mccmnc), "faults": .texts(site.carrier.faults.map(\.name).sorted()),
            "delay_seconds": .integer(site.carrier.delay.components.seconds), "known_faults": known.value,
        ])
    }

    /// `POST {issuer}/faults`: a form or an object with `faults`, names separated by commas or spaces, or a list of
    /// them. They replace the present ones; none turns every fault off. `delay_seconds` (0 to 3600) sets how long slow
    /// endpoints wait.
    func setFaults(_ request: Request) throws -> Response {
        let site = try simulator.site(of: request)
        let parameters = try Parameters(contentOf: request)
        var faults: Set<CarrierSimulator.Fault> = []
        for name in (parameters["faults"] ?? "").split(whereSeparator: { $0 == "," || $0 == " " }) {
            guard let fault = CarrierSimulator.Fault(named: String(name))
            else { throw OAuthError.invalidRequest("A fault is unknown. GET this address for the names.") }
            faults.insert(fault)
        }
        let delay = parameters["delay_seconds"].map { Int($0) ?? -1 }
        guard delay.map((0...3600).contains) ?? true
        else { throw OAuthError.invalidRequest("The delay_seconds must be a whole number from 0 to 3600.") }
        simulator.update(site.mccmnc) { carrier in
            carrier.faults = faults
            if let delay { carrier.delay = .seconds(delay) }
        }
        return try listFaults(request)
    }

    /// `POST {issuer}/keys/rotate`.
    func rotateKeys(_ request: Request) throws -> Response {
        simulator.rotateKeys(try simulator.site(of: request).mccmnc)
        return .json(["rotated": true])
    }

    /// `POST /carriers/{mccmnc}/ports`: moves a user here from another carrier. `from` is the former carrier's network
    /// code; `user` is an id that both carriers have, by default the first user's.
    func port(_ request: Request) throws -> Response {
        let site = try simulator.site(of: request)
        let parameters = try Parameters(contentOf: request)
        guard let from = parameters["from"], from != site.mccmnc,
            let former = simulator.withState({ $0.site(from) })
        else { throw OAuthError.invalidRequest("The from must be the mccmnc of another of this simulator's carriers.") }
        guard let user = site.carrier.user(parameters["user"]), former.carrier.user(user.id) != nil
        else { throw OAuthError.invalidRequest("The user must be one of both carriers.") }
        simulator.port(user: user.id, from: from, to: site.mccmnc)
        return .json(["user": .string(user.id), "from": .string(from), "to": .string(site.mccmnc)])
    }

    /// `GET /demo/people`: the carriers and their users, for a page that simulates the phone.
    func listPeople(_: Request) -> Response {
        let carriers = simulator.carriers.map { carrier -> JSONValue in
            [
                "mccmnc": .string(carrier.mccmnc), "name": .string(carrier.name),
                "users": carrier.listedUsers,
            ]
        }
        return .json(["carriers": .array(carriers)])
    }

    /// `POST /demo/codes` with any of `mccmnc`, `client_id`, `redirect_uri`, `nonce`, `scope`, `acr_values`, `context`,
    /// `code_challenge`, `user`: a code without a browser.
    ///
    /// The response is what a mobile app sends to its backend, so a shell can pass it on. Defaults: the first carrier,
    /// a client and its first redirect URI, a fresh verifier and nonce.
    func issueCode(_ request: Request) throws -> Response {
        let parameters = try Parameters(contentOf: request)
        let clientID = parameters["client_id"] ?? simulator.clients.keys.min() ?? ""
        let redirectURI = parameters["redirect_uri"] ?? simulator.clients[clientID]?.redirectURIs.first ?? ""
        let mccmnc = parameters["mccmnc"] ?? simulator.carriers.first?.mccmnc ?? ""
        let nonce = parameters["nonce"] ?? simulator.random.token(bytes: 16)
        // A caller that sends a challenge has the verifier.
        let verifier = parameters["code_challenge"] == nil ? simulator.random.token() : nil
        let challenge = verifier.map(Digest.codeChallenge)
        let code = try simulator.issueCode(
            mccmnc: mccmnc, clientID: clientID, redirectURI: redirectURI,
            codeChallenge: challenge ?? parameters["code_challenge"] ?? "", nonce: nonce,
            scope: parameters["scope"] ?? "openid name email phone postal_code", acr: parameters["acr_values"],
            context: parameters["context"], user: parameters["user"])
        var members: JSONMembers = [
            "code": .string(code), "mccmnc": .string(mccmnc), "client_id": .string(clientID),
            "redirect_uri": .string(redirectURI), "nonce": .string(nonce),
        ]
        members["code_verifier"] = .string(verifier)
        members["acr_values"] = .string(parameters["acr_values"])
        members["context"] = .string(parameters["context"])
        return .json(members)
    }
}

/// What tests and people control at operators.
extension ControlEndpoints {
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

    /// `POST {issuer}/operator-tokens`: a TS.43 operator token of `user`, by default the first.
    func makeToken(_ request: Request) throws -> Response {
        let site = try simulator.site(of: request)
        let user = try Parameters(contentOf: request)["user"]
        guard let token = simulator.makeOperatorToken(at: site.mccmnc, user: user)
        else { throw OAuthError("user_not_found", "The operator has no such user.", status: .notFound) }
        return .json([
            "operator_token": .string(token), "operator": .string(site.mccmnc),
            "expires_in": .integer(LoginHint.operatorTokenLifetime),
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

extension CarrierSimulator.Carrier {
    /// Its users, for a page that simulates the phone.
    var listedUsers: JSONValue {
        .array(
            users.map { user in
                ["id": .string(user.id), "name": .string(user.name), "phone_number": .string(user.phoneNumber)]
            })
    }
}
