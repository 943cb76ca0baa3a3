import HTTPServer
import HTTPTypes

/// `GET /demo/people`: the carriers and whom they know, for a page that plays the phone.
struct PeopleEndpoint: Sendable {
    let simulator: CarrierSimulator

    func list(_: Request) -> Response {
        .json(["carriers": .array(simulator.carriers.map(Self.carrier))])
    }

    private static func carrier(_ carrier: CarrierSimulator.Carrier) -> JSON {
        .object([
            "mccmnc": .text(carrier.mccmnc), "name": .text(carrier.name),
            "users": .array(
                carrier.users.map { user in
                    .object([
                        "id": .text(user.id), "name": .text(user.name), "phone_number": .text(user.phoneNumber),
                    ])
                }),
        ])
    }
}

extension Response {
    /// The same for pages on this machine to read, which play the phone of a user; a page of any other place may not.
    func shared(withPageOf request: Request) -> Response {
        var response = self
        response.headers[.vary] = "Origin"
        guard let origin = request.headers[.origin],
            ["http://127.0.0.1:", "http://localhost:"].contains(where: origin.hasPrefix)
        else { return response }
        response.headers[.accessControlAllowOrigin] = origin
        return response
    }
}
