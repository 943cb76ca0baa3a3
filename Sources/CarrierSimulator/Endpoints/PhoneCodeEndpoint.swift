import HTTPServer
import HTTPTypes
import Primitives

/// The discovery UI's road for devices without the user's SIM: the device shows a code and waits, and the user takes the code
/// to the phone (`/phone` plays its carrier's app), which says who they are.
struct PhoneCodeEndpoint: Sendable {
    static let path = "/ui/discovery-ui/codes"
    static let phonePath = "/phone"

    let simulator: CarrierSimulator

    /// `POST /ui/discovery-ui/codes`: makes a code for a sign-in, and sends the browser where it waits.
    func start(_ request: Request) -> Response {
        do throws(CarrierSimulator.Refusal) {
            let parameters = try Parameters(contentOf: request)
            try DiscoveryUIEndpoint(simulator: simulator).check(parameters)
            let handle = simulator.random.token()
            let now = simulator.clock.now()
            simulator.withState { $0.keep(parameters, under: handle, random: simulator.random, now: now) }
            return .redirect(to: "\(Self.path)/\(handle)")
        } catch {
            return .page(RefusalPage.html(error), status: .badRequest)
        }
    }

    /// `GET /ui/discovery-ui/codes/{handle}`: shows the code until the phone has answered; then goes back to the relying party,
    /// once, with `mccmnc`, `state` and `login_hint_token`, or with the user's no.
    func wait(_ request: Request) -> Response {
        let now = simulator.clock.now()
        guard let handle = request.parameters["handle"], let code = simulator.withState({ $0.phoneCodes[handle] })
        else {
            return .page(RefusalPage.html(.invalidRequest("There is no such code.")), status: .notFound)
        }
        switch code.answer {
        case .awaited where now < code.expiresAt: return .page(PhoneCodePage.waiting(code))
        case .awaited: return .page(PhoneCodePage.expired(code), status: .gone)
        case .delivered:
            return .page(RefusalPage.html(.invalidRequest("This code was used.")), status: .gone)
        case .approved(let mccmnc, let userID):
            guard let site = simulator.carrierSite(mccmnc) else { break }
            return deliver(
                handle, code,
                [("mccmnc", mccmnc), ("login_hint_token", simulator.makeLoginHint(site, userID: userID))])
        case .denied:
            return deliver(
                handle, code,
                [("error", "access_denied"), ("error_description", "The user said no on the phone.")])
        }
        return .page(RefusalPage.html(.invalidRequest("The carrier is gone.")), status: .badRequest)
    }

    /// `GET /phone`: asks for the number; with one that waits, who is asked and for what.
    func showPhone(_ request: Request) -> Response {
        guard let typed = Parameters(queryOf: request)["number"] else {
            return .page(PhoneCodePage.phone(problem: nil))
        }
        guard let (_, code) = waiting(typed) else { return unknownNumber }
        return .page(PhoneCodePage.question(code, carriers: simulator.carriers))
    }

    /// `POST /phone` with `number`, `subscriber` (mccmnc, a dash, and the id of a user) and `decision`: `approve` or `deny`.
    func answer(_ request: Request) -> Response {
        do throws(CarrierSimulator.Refusal) {
            let parameters = try Parameters(contentOf: request)
            guard let (handle, waiting) = parameters["number"].flatMap({ self.waiting($0) }) else {
                return unknownNumber
            }
            let answered: PhoneCode
            switch parameters["decision"] {
            case "deny": answered = waiting.answered(.denied)
            case "approve": answered = waiting.answered(try approval(by: parameters["subscriber"] ?? ""))
            default: throw .invalidRequest("The decision is approve or deny.")
            }
            simulator.withState { $0.phoneCodes.update(handle, answered) }
            return .page(PhoneCodePage.done(answered))
        } catch {
            return .page(RefusalPage.html(error), status: .badRequest)
        }
    }

    private func approval(by subscriber: String) throws(CarrierSimulator.Refusal) -> PhoneCode.Answer {
        let parts = subscriber.split(separator: "-", maxSplits: 1).map { String($0) }
        guard parts.count == 2, let site = simulator.carrierSite(parts[0]), site.carrier.user(parts[1]) != nil
        else { throw .invalidRequest("Choose whose phone it is.") }
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
            PhoneCodePage.phone(problem: "No sign-in waits under this number. Look at the other screen again."),
            status: .notFound)
    }

    private func deliver(_ handle: String, _ code: PhoneCode, _ answer: [(String, String?)]) -> Response {
        simulator.withState { $0.phoneCodes.update(handle, code.answered(.delivered)) }
        return .redirect(
            to: FormCoding.url(
                code.parameters["redirect_uri"] ?? "",
                adding: (answer + [("state", code.parameters["state"])]).map { (name: $0.0, value: $0.1) }))
    }
}
