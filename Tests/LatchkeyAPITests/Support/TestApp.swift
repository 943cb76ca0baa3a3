import HTTPServer
import HTTPTypes
import LatchkeyAPI
import LatchkeyConfiguration
import LatchkeyService
import Linking
import Logging
import NativeSignIn
import OpenIDConnect
import Primitives
import SecurityEvents
import Services
import SignIn
import Storage
import StorageModel
import TestSupport
import Testing

@testable import AccountMigration
@testable import Backchannel
@testable import PhoneVerification
@testable import ProviderLogout
@testable import ProviderResources
@testable import Redirects
@testable import Transactions

/// A whole Latchkey for one test: the API, the use cases, a store of its own and a scripted carrier.
struct TestApp: Sendable {
    static let apiKey = "API-key-of-the-test"
    static let otherAPIKey = "API-key-of-somebody-else"
    /// An OpenID provider, which is the carrier's issuer itself.
    static let provider = "bank"

    let clock: ManualClock
    let uptime = ManualUptime()
    let log: CapturedLog
    let carrier: FakeCarrier
    let store: any Store
    let storeScript: StoreScript
    let useCases: UseCases
    let api: LatchkeyAPI
    let backchannel: BackchannelFeature
    let redirects: RedirectsFeature
    let testStore: TestStore
    private let handler: Handler
    private let site: TemporaryDirectory

    /// - Parameters:
    ///   - other: One whose store, carrier and clock it shares, as another process does.
    ///   - store: One of its own if there is none.
    ///   - otherClients: The ids of more clients of the provider.
    ///   - accessTokenForm: Without one, session tokens are opaque.
    ///   - features: Besides ``features(over:)``.
    ///   - logLevel: Above `debug`, lines that anyone can cause are sampled.
    init(
        beside other: TestApp? = nil, store: TestStore? = nil,
        allowedOrigins: [String] = [], clientOrigins: [String: Set<String>] = [:], keys: [String: APIGrant] = [:],
        vaultKeys: [EncryptionKey] = [], client change: (inout SignInConfiguration.Client) -> Void = { _ in },
        otherClients: [String] = [],
        registration: TestRegistration = TestRegistration(), limits: RequestLimits = RequestLimits(),
        rules changeRules: (inout ServerRules) -> Void = { _ in },
        party changeParty: (inout RelyingParty.Configuration) -> Void = { _ in },
        compatibility: Compatibility = Compatibility(), readinessPatience: Duration = .seconds(60),
        lifetimes: (inout SignInConfiguration.Lifetimes) -> Void = { _ in },
        backchannel: (inout BackchannelSettings) -> Void = { _ in },
        redirects changeRedirects: (inout RedirectsSettings) -> Void = { _ in },
        accessTokenForm: (SigningKeys) -> (any AccessTokenForm)? = { _ in nil }, features: [any APIFeature] = [],
        auditsSignIns: Bool = false, logLevel: Logger.Level = .trace
    ) throws {
        log = CapturedLog(level: logLevel)
        site = try TemporaryDirectory(files: [
            "index.html": "<p>hello</p>", "style.css": "p{}", "page.js": ";", "healthz": "file",
        ])
        clock = other?.clock ?? ManualClock()
        carrier = other?.carrier ?? FakeCarrier(clock: clock)
        testStore = try other?.testStore ?? store ?? TestStore()
        self.store = testStore.store
        storeScript = testStore.script
        var configuration = SignInConfiguration()
        configuration.registration = registration.rules
        configuration.auditsSignIns = auditsSignIns
        lifetimes(&configuration.lifetimes)
        var backchannelSettings = BackchannelSettings()
        backchannel(&backchannelSettings)
        var redirectsSettings = RedirectsSettings()
        changeRedirects(&redirectsSettings)
        let context = FeatureContext.test(testStore.store, clock: clock.wallClock, uptime: uptime.uptime) {
            $0.sessions = configuration.lifetimes
        }
        redirects = RedirectsFeature(redirectsSettings, in: context)
        configuration.vaultKeys = vaultKeys
        var client = SignInConfiguration.Client(
            id: try #require(ClientID("client-1")), secret: Secret("CLIENT-secret"))
        change(&client)
        let issuer = try #require(EndpointURL(FakeCarrier.issuer, policy: .httpsOnly))
        var bankParty = RelyingParty.Configuration(issuer: issuer)
        changeParty(&bankParty)
        var rules = ServerRules()
        rules.backchannelTokenDelivery = .poll
        changeRules(&rules)
        let server = AuthorizationServer(
            RelyingParty(configuration: bankParty, http: carrier.http, clock: clock.wallClock), clients: [client], rules
        )
        useCases = UseCases(
            providers: Providers([
                try Self.carriers(through: carrier, clock, otherClients, change),
                Provider(name: Self.provider, title: "Bank", kind: .openID(server)),
            ]), configuration: configuration, store: testStore.store, logger: log.logger,
            clock: clock.wallClock, uptime: uptime.uptime, readinessPatience: readinessPatience,
            formerIdentitySources: [
                AccountMigrationFeature(PortTokenRules(), in: context).formerIdentities
            ].compactMap(\.self), registrar: registration.registrar(over: testStore.store),
            accessTokenForm: accessTokenForm)
        self.backchannel = BackchannelFeature(backchannelSettings, in: context)
        let phoneVerification = PhoneVerificationFeature(PhoneVerificationSettings(), in: context)
        api = LatchkeyAPI(
            useCases: useCases,
            apiKeys: APIKeys(
                [Self.apiKey, Self.otherAPIKey].map { (TokenHash(sha256Of: $0), APIGrant()) }
                    + keys.map { (TokenHash(sha256Of: $0.key), $0.value) }),
            allowedOrigins: allowedOrigins, clientOrigins: clientOrigins,
            files: StaticFiles(siteIn: site.path, hasConsole: false, logger: log.logger),
            baseURL: BaseURL("https://login.example/base"), compatibility: compatibility, limits: limits,
            uptime: uptime.uptime,
            features: try Self.features(over: testStore.store, registration) + [
                self.backchannel, phoneVerification, redirects,
            ] + features,
            logger: log.logger)
        handler = api.handler()
    }

    var redirectSignIn: RedirectSignIn { redirects.redirectSignIn(of: api) }

    static func features(
        over store: SQLStore, _ registration: TestRegistration = TestRegistration()
    ) throws -> [any APIFeature] {
        let context = FeatureContext.test(store)
        return [
            LinkingFeature(LinkingSettings(), in: context), ProviderLogoutFeature(NoSettings(), in: context),
            NativeSignInFeature(NativeSignInSettings(), in: context),
            ProviderResourcesFeature(NoSettings(), in: context), registration.feature(over: store),
            try SecurityEventsFeature(SecurityEventSettings(), in: context),
            try ServicesFeature(ServicesSettings(), in: context),
            TransactionsFeature(TransactionSettings(), in: context),
        ]
    }

    private static func carriers(
        through carrier: FakeCarrier, _ clock: ManualClock, _ otherClients: [String],
        _ change: (inout SignInConfiguration.Client) -> Void
    ) throws -> Provider {
        var client = SignInConfiguration.Client(
            id: try #require(ClientID("client-1")), secret: Secret("CLIENT-secret"))
        client.redirectURIs = ["https://app.example/cb", "com.example.app://cb"]
        change(&client)
        let discoveryUI = EndpointURL("https://discoveryui.xcijv.com/ui", policy: .httpsOnly)
        let others = otherClients.compactMap(ClientID.init).map {
            var other = SignInConfiguration.Client(id: $0, secret: Secret("SECRET-of-another"))
            other.redirectURIs = ["https://other.example/cb"]
            return other
        }
        let url = try #require(EndpointURL(FakeCarrier.discoveryURL, policy: .httpsOnly))
        let party = RelyingParty(
            configuration: RelyingParty.Configuration(discoveryURL: url), http: carrier.http, clock: clock.wallClock)
        return Provider(
            name: "zenkey", title: "ZenKey",
            kind: .carriers(
                (discoveryUI, nil), AuthorizationServer(party, clients: [client] + others)))
    }

    /// Sends a request and reads the response.
    func send(
        _ method: HTTPRequest.Method, _ path: String, _ headers: HTTPFields = [:], body: String = "",
        apiKey: String? = TestApp.apiKey, from peer: String = "127.0.0.1"
    ) async throws -> Answer {
        var headers = headers
        if let apiKey { headers[try #require(HTTPField.Name("X-API-KEY"))] = apiKey }
        let address = SocketAddress(host: peer, port: 1)
        let response = try await handler(
            Request(method, path, headers: headers, body: Array(body.utf8), peer: address))
        try PublishedAPI.hold(response, to: method, path)
        return Answer(response)
    }

    /// Sends a JSON body.
    func post(_ path: String, _ body: String) async throws -> Answer {
        try await send(.post, path, [.contentType: "application/json"], body: body)
    }

    func signIn(_ body: SignInBody = SignInBody()) async throws -> Answer {
        try await post("/auth/zenkey-signin", body.json)
    }

    /// Signs in and returns the session's token.
    func token(_ body: SignInBody = SignInBody()) async throws -> String {
        try #require(try await signIn(body).text("token"))
    }

    /// Signs in with a `User-Agent`.
    func signIn(_ body: SignInBody = SignInBody(), userAgent: String) async throws -> Answer {
        try await send(
            .post, "/auth/zenkey-signin", [.contentType: "application/json", .userAgent: userAgent], body: body.json)
    }

    /// The objects under `sessions` in a user's list.
    func sessions(_ token: String) async throws -> [JSONObject] {
        try #require(try await asUser(.get, "/users/me/sessions", token).json?["sessions"]?.array)
            .compactMap(\.object)
    }

    func patch(_ token: String, _ body: String, type: String = "application/json") async throws -> Answer {
        try await send(
            .patch, "/users/me", [.authorization: "Bearer \(token)", .contentType: type], body: body)
    }

    /// Sends a form.
    func form(_ path: String, _ body: String, apiKey: String? = TestApp.apiKey) async throws -> Answer {
        try await send(
            .post, path, [.contentType: "application/x-www-form-urlencoded"], body: body, apiKey: apiKey)
    }

    /// Signs in and returns the session's two tokens.
    func tokens(_ body: SignInBody = SignInBody()) async throws -> Tokens {
        try #require(Tokens(try await signIn(body)))
    }

    /// Exchanges a refresh token.
    func refresh(
        _ refreshToken: String, client: String? = nil, apiKey: String? = TestApp.apiKey, _ headers: HTTPFields = [:]
    ) async throws -> Answer {
        var members = [("grant_type", "\"refresh_token\""), ("refresh_token", "\"\(refreshToken)\"")]
        if let client { members.append(("client_id", "\"\(client)\"")) }
        var headers = headers
        headers[.contentType] = "application/json"
        let body = TokenText.object(members.map { (name: $0.0, json: $0.1) })
        return try await send(.post, "/auth/token", headers, body: body, apiKey: apiKey)
    }

    /// Ends a session as another process does.
    func endSessionElsewhere(_ token: String) async throws {
        let found = try #require(await store.session(TokenHash(ofSessionToken: token), at: clock.now))
        let revocation = try await store.revokeSession(
            id: found.session.id, of: found.user.id, in: nil, recording: nil)
        #expect(revocation == .revoked)
    }

    func asUser(_ method: HTTPRequest.Method, _ path: String, _ token: String) async throws -> Answer {
        try await send(method, path, [.authorization: "Bearer \(token)"])
    }

    func me(_ token: String) async throws -> Answer { try await asUser(.get, "/users/me", token) }
}

/// The tokens that an app has.
struct Tokens: Sendable, Hashable {
    let token: String
    let refreshToken: String

    /// Nil for a response without both.
    init?(_ answer: Answer) {
        guard let token = answer.text("token"), let refreshToken = answer.text("refresh_token") else { return nil }
        self.token = token
        self.refreshToken = refreshToken
    }
}

/// A response with its body as JSON.
struct Answer: Sendable {
    let status: Int
    let headers: HTTPFields
    let body: String
    let json: JSONObject?

    init(_ response: Response) {
        status = response.status.code
        headers = response.sentFields
        body = String(decoding: response.body, as: UTF8.self)
        json = (try? JSONValue(parsing: response.body))?.object
    }

    func text(_ name: String) -> String? { json?[name]?.string }
    func integer(_ name: String) -> Int64? { json?[name]?.integer }
    var requestID: String? { headers[.requestID] }
    var error: String? { text("error") }
    var description: String { text("error_description") ?? "" }
}

/// The JSON body of a sign-in, valid until a test changes it.
struct SignInBody: Sendable {
    /// Values as JSON.
    private(set) var members: [(name: String, json: String)] = [
        ("client_id", "\"client-1\""), ("code", "\"CODE-1\""), ("mccmnc", "\"310410\""),
        ("redirect_uri", "\"https://app.example/cb\""), ("code_verifier", "\"\(SignInBody.verifier)\""),
        ("nonce", "\"NONCE-of-the-app\""), ("correlation_id", "\"corr-1\""),
    ]

    static let verifier = "VERIFIER-" + String(repeating: "v", count: 41)

    /// With another value, as JSON; nil omits the field.
    func with(_ name: String, _ json: String?) -> SignInBody {
        var copy = self
        let place = copy.members.firstIndex { $0.name == name }
        switch (place, json) {
        case (let place?, let json?): copy.members[place].json = json
        case (let place?, nil): copy.members.remove(at: place)
        case (nil, let json?): copy.members.append((name, json))
        case (nil, nil): break
        }
        return copy
    }

    /// With another code: another sign-in.
    func code(_ code: String) -> SignInBody { with("code", "\"\(code)\"") }

    /// With a field under another name.
    func renamed(_ name: String, _ other: String) -> SignInBody {
        with(other, members.first { $0.name == name }?.json).with(name, nil)
    }

    var json: String { TokenText.object(members) }
}

extension Response {
    /// The fields as a client receives them.
    var sentFields: HTTPFields {
        var fields = headers
        if let requestID { fields[.requestID] = requestID }
        return fields
    }
}

extension HTTPField.Name {
    // The text is a token, so the fallback is never used.
    fileprivate static let requestID = HTTPField.Name("X-Request-Id") ?? .from
}
