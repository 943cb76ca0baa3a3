import HTTPServer
import HTTPTypes
import Primitives

/// The discovery UI for devices without the user's SIM: the device shows a code and waits; the user types the code on
/// the phone, where `/phone` simulates the carrier's app, and the phone identifies the user.
struct PhoneCodeEndpoint: Sendable {
    static let path = "/ui/discovery-ui/codes"
    static let phonePath = "/phone"

    let simulator: CarrierSimulator

    /// `POST /ui/discovery-ui/codes`: makes a code and sends the browser to the page that waits.
    func start(_ request: Request) throws(OAuthError) -> Response {
        let parameters = try Parameters(contentOf: request)
        _ = try CarrierSimulator.Client.registered(parameters, in: simulator.clients)
        let handle = simulator.random.token()
        let now = simulator.clock.now()
        simulator.withState { $0.keep(parameters, under: handle, random: simulator.random, now: now) }
        return .redirect(to: "\(Self.path)/\(handle)")
    }

    /// `GET /ui/discovery-ui/codes/{handle}`: shows the code until the phone responds, then returns to the relying
    /// party once: with `mccmnc`, `state` and `login_hint_token`, or with `access_denied`.
    func wait(_ request: Request) throws(OAuthError) -> Response {
        guard let handle = request.parameters["handle"], let code = simulator.withState({ $0.phoneCodes[handle] })
        else { throw OAuthError.invalidRequest("There is no such code.", status: .notFound) }
        let parameters: [(name: String, value: String?)]
        switch code.status {
        case .pending where simulator.clock.now() < code.expiresAt: return .page(PhoneCodePage.waiting(code))
        case .pending: return .page(PhoneCodePage.expired(code), status: .gone)
        case .returned: throw OAuthError.invalidRequest("This code was used.", status: .gone)
        case .approved(let mccmnc, let userID):
            guard let site = simulator.carrierSite(mccmnc)
            else { throw OAuthError.invalidRequest("The carrier no longer exists.") }
            let hint = simulator.makeLoginHint(site, userID: userID)
            parameters = [("mccmnc", mccmnc), ("login_hint_token", hint)]
        case .denied:
            parameters = [("error", "access_denied"), ("error_description", "The user refused on the phone.")]
        }
        simulator.withState { $0.phoneCodes.update(handle) { $0.status = .returned } }
        let redirectURI = code.parameters["redirect_uri"] ?? ""
        return .redirect(to: redirectURI.adding(parameters + [("state", code.parameters["state"])]))
    }

    /// `GET /ui/discovery-ui/codes/{handle}/state`: whether the page that waits has to wait on, as `pending` or `done`.
    func state(_ request: Request) throws(OAuthError) -> Response {
        let code = request.parameters["handle"].flatMap { handle in simulator.withState { $0.phoneCodes[handle] } }
        let isPending = code?.isPending(at: simulator.clock.now()) ?? false
        return .json(["state": .string(isPending ? "pending" : "done")])
    }

    /// `GET /phone`: asks for the number; with a number that waits, asks the user to decide.
    func showPhone(_ request: Request) -> Response {
        guard let typed = Parameters(queryOf: request)["number"]
        else { return .page(PhoneCodePage.phone(problem: nil)) }
        guard let (_, code) = waiting(typed) else { return unknownNumber }
        return .page(PhoneCodePage.question(code, carriers: simulator.carriers))
    }

    /// `POST /phone` with `number`, `subscriber` (mccmnc, a dash, a user's id) and `decision`: `approve` or `deny`.
    func decide(_ request: Request) throws(OAuthError) -> Response {
        let parameters = try Parameters(contentOf: request)
        guard let handle = parameters["number"].flatMap({ waiting($0)?.handle }) else { return unknownNumber }
        let status: PhoneCode.Status
        switch parameters["decision"] {
        case "deny": status = .denied
        case "approve": status = try approval(by: parameters["subscriber"] ?? "")
        default: throw .invalidRequest("The decision is approve or deny.")
        }
        simulator.withState { $0.phoneCodes.update(handle) { $0.status = status } }
        return .page(PhoneCodePage.done(isApproved: status != .denied))
    }

    private func approval(by subscriber: String) throws(OAuthError) -> PhoneCode.Status {
        let parts = subscriber.split(separator: "-", maxSplits: 1).map { String($0) }
        guard parts.count == 2, let site = simulator.carrierSite(parts[0]), site.carrier.user(parts[1]) != nil
        else { throw .invalidRequest("Choose the owner of the phone.") }
        return .approved(mccmnc: parts[0], userID: parts[1])
    }

    private func waiting(_ typed: String) -> (handle: String, code: PhoneCode)? {
        guard let number = PhoneCode.number(typed: typed) else { return nil }
        let now = simulator.clock.now()
        return simulator.withState { state in
            state.waitingHandle(number: number, at: now).flatMap { handle in
                state.phoneCodes[handle].map { (handle, $0) }
            }
        }
    }

    private var unknownNumber: Response {
        .page(
            PhoneCodePage.phone(problem: "No sign-in waits for this number. Check the number on the other screen."),
            status: .notFound)
    }
}
