import HTTPServer
import HTTPTypes
import Primitives

/// A sign-in on a device without the user's SIM, which waits for the user's phone.
struct PhoneCode: Sendable {
    /// How long the device waits, in seconds.
    static let lifetime: Int64 = 300

    let parameters: Parameters
    let expiresAt: Timestamp
    /// What the device brings to the relying party; nil until the phone has responded.
    var result: [(name: String, value: String?)]?
}

/// The discovery UI for devices without the user's SIM: the device shows a number and waits; the user types the number
/// on the phone, where `/phone` simulates the carrier's app, and the phone identifies the user.
struct PhoneCodeEndpoint: Sendable {
    static let path = "/ui/discovery-ui/codes"
    static let phonePath = "/phone"

    let simulator: CarrierSimulator

    /// `POST /ui/discovery-ui/codes`: makes a number and sends the browser to the page that waits.
    func start(_ request: Request) throws(OAuthError) -> Response {
        let parameters = try Parameters(contentOf: request)
        _ = try CarrierSimulator.Client.registered(parameters, in: simulator.clients)
        let number = String(1_000_000 + simulator.random.bytes(4).reduce(0) { $0 << 8 | Int($1) } % 1_000_000).suffix(6)
        let end = simulator.clock.now().advanced(bySeconds: PhoneCode.lifetime)
        simulator.withState { $0.phoneCodes.put(.init(parameters: parameters, expiresAt: end), for: String(number)) }
        return .redirect(to: "\(Self.path)/\(number)")
    }

    /// `GET /ui/discovery-ui/codes/{number}`: shows the number until the phone responds, then returns to the relying
    /// party once: with `mccmnc`, `state` and `login_hint_token`, or with `access_denied`.
    func wait(_ request: Request) throws(OAuthError) -> Response {
        guard let number = request.parameters["number"], let code = simulator.withState({ $0.phoneCodes[number] })
        else { throw OAuthError.invalidRequest("There is no such number.", status: .notFound) }
        guard let result = code.result else {
            guard simulator.clock.now() < code.expiresAt
            else { throw OAuthError.invalidRequest("The phone did not respond within five minutes.", status: .gone) }
            return .page(PhoneCodePage.waiting(number))
        }
        _ = simulator.withState { $0.phoneCodes.remove(number) }
        let redirectURI = code.parameters["redirect_uri"] ?? ""
        return .redirect(to: redirectURI.adding(result + [("state", code.parameters["state"])]))
    }

    /// `POST /phone` with `number`, `subscriber` (mccmnc, a dash, a user's id) and `decision`: `approve` or `deny`.
    func decide(_ request: Request) throws(OAuthError) -> Response {
        let parameters = try Parameters(contentOf: request)
        let number = (parameters["number"] ?? "").filter { ("0"..."9").contains($0) }
        let now = simulator.clock.now()
        guard let code = simulator.withState({ $0.phoneCodes[number] }), code.result == nil, now < code.expiresAt else {
            let problem = "No sign-in waits for this number. Check the number on the other screen."
            return .page(PhoneCodePage.phone(simulator.carriers, problem: problem), status: .notFound)
        }
        let result: [(name: String, value: String?)]
        switch parameters["decision"] {
        case "deny": result = [("error", "access_denied"), ("error_description", "The user refused on the phone.")]
        case "approve":
            let parts = (parameters["subscriber"] ?? "").split(separator: "-", maxSplits: 1).map(String.init)
            guard parts.count == 2, simulator.carrierSite(parts[0]) != nil,
                let hint = simulator.makeLoginHintToken(at: parts[0], user: parts[1])
            else { throw .invalidRequest("Choose the owner of the phone.") }
            result = [("mccmnc", parts[0]), ("login_hint_token", hint)]
        default: throw .invalidRequest("The decision is approve or deny.")
        }
        simulator.withState { $0.phoneCodes.update(number) { $0.result = result } }
        return .page(PhoneCodePage.done)
    }
}
