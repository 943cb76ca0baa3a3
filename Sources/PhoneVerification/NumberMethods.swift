import HTTPServer
import HTTPTypes
import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn

/// A way in which a phone proves its number. An app tries them in the order of the cases. The raw values are their
/// names in the API.
enum NumberMethod: String, CaseIterable {
    /// By the SIM and the phone's wallet, over any network.
    case digitalCredential = "digital_credential"
    /// By the SIM, over any network and without a browser.
    case operatorToken = "operator_token"
    /// By the SIM and Google's library, over any network and without a browser.
    case firebase = "firebase_pnv"
    /// By the mobile network, which recognises the connection of a browser.
    case redirect

    /// What the phone needs.
    var requires: String {
        switch self {
        case .digitalCredential: "credential_manager"
        case .operatorToken: "sim"
        case .firebase: "play_services"
        case .redirect: "mobile_data"
        }
    }

    /// The platforms that have it. A page cannot ask the SIM.
    var platforms: Set<Phone.Platform> {
        switch self {
        case .digitalCredential: Set(Phone.Platform.allCases)
        case .operatorToken: [.android, .ios]
        case .firebase: [.android]
        case .redirect: Set(Phone.Platform.allCases)
        }
    }
}

/// A phone that asks which methods it has.
struct Phone: Sendable {
    enum Platform: String, Sendable, CaseIterable {
        case android, ios, web

        /// Those that begin sign-ins by redirects there.
        var clientTypes: Set<ClientType> {
            switch self {
            case .android: [.android]
            case .ios: [.ios]
            case .web: [.web, .popup, .spa]
            }
        }
    }

    let platform: Platform
    let choice: OperatorChoice
    let correlationID: CorrelationID
}

/// A group of servers at which phones prove their numbers.
protocol NumberProvider: ServerGroup {
    /// What the servers have for a phone, and the name of the one that it would use, if it must name it.
    /// - Parameter api: Whose features there are.
    /// - Throws: If that cannot be told at the moment.
    func methods(
        for phone: Phone, of api: LatchkeyAPI
    ) async throws(SignInError) -> (Set<NumberMethod>, operatorName: String?)

    /// Whether the answer costs a request to somebody else.
    func asksOthers(about phone: Phone) -> Bool

    /// What a phone needs for one of its methods.
    func requirement(of method: NumberMethod, for phone: Phone) -> String
}

extension NumberProvider {
    func requirement(of method: NumberMethod, for phone: Phone) -> String { method.requires }
}

extension ProofGroup where Self: NumberProvider {
    func asksOthers(about phone: Phone) -> Bool { false }
}

extension Phone {
    /// Whether any of the clients may receive a browser of the phone.
    fileprivate func opensBrowsers(of server: AuthorizationServer) -> Bool {
        server.clients.values.contains { client in
            client.redirectURIs.contains { uri in platform.clientTypes.contains { client.allows($0, at: uri) } }
        }
    }
}

extension MobileOperators: NumberProvider {
    func methods(
        for phone: Phone, of api: LatchkeyAPI
    ) async throws(SignInError) -> (Set<NumberMethod>, operatorName: String?) {
        let directory = OperatorDirectory(operators: self, environment: api.useCases.environment)
        let target: SignInTarget
        do throws(SignInError) {
            target = try await directory.choose(phone.choice, .redirect, phone.correlationID)
        } catch {
            guard error.code == .operatorUnknown || error.code == .unauthorizedClient else { throw error }
            return ([], nil)
        }
        var methods: Set<NumberMethod> = [.operatorToken]
        if api.redirects != nil {
            if phone.opensBrowsers(of: target.server) { methods.insert(.redirect) }
            // There is no wallet for it on iOS.
            if phone.platform != .ios, credentials(of: target.reference.operatorName) != nil {
                methods.insert(.digitalCredential)
            }
        }
        return (methods, target.reference.operatorName)
    }

    func asksOthers(about phone: Phone) -> Bool { subscriber(of: phone.choice) != nil }
}

extension FirebaseNumbers: NumberProvider {
    func methods(for phone: Phone, of api: LatchkeyAPI) async -> (Set<NumberMethod>, operatorName: String?) {
        (phone.choice.caller.mayUseOneOf(server.clients.values) ? [.firebase] : [], nil)
    }
}

extension CredentialNumbers: NumberProvider {
    func methods(for phone: Phone, of api: LatchkeyAPI) async -> (Set<NumberMethod>, operatorName: String?) {
        let strategy = strategy(for: phone)
        let isOffered = strategy == .ts43 || strategy == .link && phone.opensBrowsers(of: server)
        guard isOffered, api.redirects != nil, phone.choice.caller.mayUseOneOf(server.clients.values) else {
            return ([], nil)
        }
        return ([.digitalCredential], nil)
    }

    func requirement(of method: NumberMethod, for phone: Phone) -> String {
        strategy(for: phone) == .link ? NumberMethod.redirect.requires : method.requires
    }

    /// Nil if there is none. There is no wallet for it on iOS, which tells no app the network.
    private func strategy(for phone: Phone) -> CredentialStrategy? {
        guard phone.platform == .ios else { return try? strategy(for: phone.choice.network) }
        return try? strategy(for: phone.choice.network, .link)
    }
}

/// `GET /auth/number/methods`: the ways in which a phone proves its number, and those to sign in without it.
struct NumberMethods {
    static let path = "/auth/number/methods"

    let api: LatchkeyAPI

    /// A method that a phone has.
    private struct Offer {
        let method: NumberMethod
        /// The provider's name in paths.
        let provider: String
        let operatorName: String?
        let requires: String
    }

    func callAsFunction(_ request: Request) async throws -> Response {
        let admission = try await api.admitIfNamed(request)
        let phone = try phone(of: request, admission)
        let providers = api.useCases.providers.all
        let groups = providers.compactMap { provider in
            (provider.group as? any NumberProvider).map { (name: provider.name, group: $0) }
        }
        if groups.contains(where: { $0.group.asksOthers(about: phone) }) { try api.countSignIn(of: request) }
        var offers: [Offer] = []
        var failure: SignInError?
        for (name, group) in groups {
            do throws(SignInError) {
                let (methods, operatorName) = try await group.methods(for: phone, of: api)
                offers += methods.map { method in
                    Offer(
                        method: method, provider: name, operatorName: operatorName,
                        requires: group.requirement(of: method, for: phone))
                }
            } catch {
                failure = failure ?? error
            }
        }
        // A server may be at several providers. The order within a method is that of the providers' names.
        let methods = NumberMethod.allCases.filter { $0.platforms.contains(phone.platform) }.flatMap { method in
            offers.filter { $0.method == method }
        }
        // An app may remember an empty list.
        if let failure, methods.isEmpty { throw failure.with(phone.correlationID) }
        let fallback = providers.filter { provider in
            provider.group == nil
                && provider.allClients.contains { admission?.allows($0.id.text) ?? true && !$0.redirectURIs.isEmpty }
        }.map(\.name)
        return .json(.ok, capacity: 512) { json in
            json.add("methods", objects: methods) { offer, json in
                json.add("method", offer.method.rawValue)
                json.add("provider", offer.provider)
                json.add("operator", ifPresent: offer.operatorName)
                json.add("requires", offer.requires)
            }
            json.add("fallback", fallback)
            json.add("correlation_id", phone.correlationID.text)
        }
    }

    private func phone(of request: Request, _ admission: Admission?) throws -> Phone {
        var reader = FieldReader(.form(try request.query))
        let correlationID = reader.correlationID() ?? .random(from: api.useCases.environment.random)
        let platform = reader.value(
            "platform", limit: 16, required: true, demand: "must be android, ios or web", Phone.Platform.init)
        // No method depends on it.
        _ = reader.visibleText("os_version", limit: 32)
        var choice = OperatorChoice(network: reader.network(required: false))
        choice.number = reader.phoneNumber()
        choice.caller = api.terms(of: request, admission)
        // Any page can have its visitors send this, and each look-up by address costs.
        if admission == nil { choice.caller.address = nil }
        // Nobody else may look up the operators of numbers: a program can name any origin.
        if choice.number != nil, admission?.isByKey != true {
            reader.refuse("phone_number", "needs an API key")
        }
        guard reader.problems.isEmpty, let platform else { throw reader.refusal(correlationID) }
        return Phone(platform: platform, choice: choice, correlationID: correlationID)
    }

    static let operation = APIOperation(
        .get, path, "listNumberMethods", .signIn, .open, "List the ways to sign in by phone number",
        """
        Those that this phone has, in the order in which an app tries them, and the providers for a phone that has \
        none or where all have failed. A phone that names no network sends no `mccmnc`, or `65535` or `--`. Then the \
        operator is the only one, that of the `phone_number`, or that of the phone's address, as far as Telco \
        Finder is configured. `phone_number` needs an API key, and the address an API key, or a page of an allowed \
        origin. Another call, such as `POST /auth/{provider}/start`, begins with the `operator` that a method names.
        """,
        parameters: [
            .query(
                "platform", isRequired: true,
                .text("Of the phone.", choices: Phone.Platform.allCases.map(\.rawValue), example: "android")),
            .query("os_version", .text("Of the phone's system.", example: "15")),
        ]
            + (APISchema.networkFields
            + APISchema.fields(optional: [
                "phone_number": APISchema.phoneNumber, "correlation_id": APISchema.correlationID,
            ])).inQuery,
        responses: [
            .json(
                "The ways.", .named("NumberMethods"),
                example: """
                    {"methods": [{"method": "operator_token", "provider": "number", "operator": "northwind", \
                    "requires": "sim"}, {"method": "redirect", "provider": "number", "operator": "northwind", \
                    "requires": "mobile_data"}], "fallback": ["google"], \
                    "correlation_id": "\(APIExample.correlationID)"}
                    """)
        ], refusals: [.invalidAPIKey, .carrierError, .carrierTimeout])

    static let schema = APISchema.object(
        "The ways of a phone to sign in.",
        [
            "methods": .list(
                "Those by number.",
                of: .object(
                    "A way.",
                    [
                        "method": .text("How.", choices: NumberMethod.allCases.map(\.rawValue)),
                        "provider": .text("Its name in paths.", example: "number"),
                        "requires": .text(
                            "What the phone needs: `credential_manager`: a wallet, that of Android 10 or later, for "
                                + "apps and pages; `sim`, also over Wi-Fi; `play_services`: Google's library beside "
                                + "the SIM; `mobile_data`: a connection over the mobile network.",
                            choices: Set(NumberMethod.allCases.map(\.requires)).sorted()),
                    ], optional: ["operator": .text("To send as `operator`.", example: "northwind")])),
            "fallback": .list("The names of other providers in paths.", of: .text("A provider.", example: "google")),
            "correlation_id": APISchema.correlationID,
        ])
}
