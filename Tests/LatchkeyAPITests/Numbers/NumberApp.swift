import Crypto
import HTTPServer
import HTTPTypes
import LatchkeyAPI
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import Synchronization
import TestSupport
import Testing

@testable import Backchannel
@testable import LatchkeyConfiguration
@testable import PhoneVerification
@testable import Redirects

/// A Latchkey that signs users in by their phone numbers, with two scripted operators.
struct NumberApp: Sendable {
    static let purpose = "dpv:FraudPreventionAndDetection"
    static let redirectURI = "com.example.app://cb"
    /// The one that needs no API key.
    static let origin = "https://web.example"
    static let verifier = "VERIFIER-" + String(repeating: "v", count: 41)

    let clock: ManualClock
    let log = CapturedLog()
    let northwind: FakeOperator
    let southwind: FakeOperator
    /// Telco Finder.
    let finder: FakeOperator
    let firebase: FakeFirebase
    let aggregator: FakeAggregator
    let http: ScriptedHTTPClient
    let useCases: UseCases
    private let api: LatchkeyAPI
    private let redirects: RedirectsFeature
    let testStore: TestStore
    private let handler: Handler
    private let waits = Waits()

    /// The pauses between polls.
    private final class Waits: Sendable {
        let pauses = Mutex<[Duration]>([])
    }

    /// The pauses that were made between polls.
    var pauses: [Duration] { waits.pauses.withLock { $0 } }

    /// - Parameters:
    ///   - keys: Besides ``TestApp/apiKey``, which may use all clients.
    ///   - southwindClient: The client at southwind.
    ///   - other: One whose store and clock it shares, as another server does, and whose Firebase.
    ///   - firebaseRules: Those of the provider `phone`, of kind `firebase_pnv`.
    ///   - aggregatorRules: Those of the provider `carriers`, of kind `aggregator`, which there is only with them.
    ///   - credentialRules: Whom its numbers sign in.
    ///   - firebaseNonce: Who chooses the nonce of its tokens.
    ///   - credentialsOfNorthwind: Whether northwind redeems digital credentials.
    init(
        beside other: NumberApp? = nil, firebaseRules: NumberSignInRules = NumberSignInRules(),
        firebaseNonce: SignInConfiguration.NativeSignInRules.Nonce = .none,
        credentialRules: NumberSignInRules = NumberSignInRules(),
        aggregator aggregatorRules: ((inout AggregatorRules) -> Void)? = nil,
        keys: [String: APIGrant] = [:], southwindClient: String = "latchkey",
        simSwap: SIMSwapPolicy = .init(), registration: TestRegistration = TestRegistration(),
        limits: RequestLimits = RequestLimits(), dpop: ExtensionUse = .auto, takesHashes: Bool = false,
        tokenPrefix: String = "operatortoken:", credentialsOfNorthwind: Bool = false,
        lifetimes: (inout SignInConfiguration.Lifetimes) -> Void = { _ in }, pause: PollPauses? = nil,
        telcoFinder change: ((inout TelcoFinderRules) -> Void)? = nil
    ) throws {
        let clock = other?.clock ?? ManualClock()
        let firebase = other?.firebase ?? FakeFirebase(clock: clock)
        let aggregator = other?.aggregator ?? FakeAggregator(clock: clock)
        (self.clock, self.firebase, self.aggregator) = (clock, firebase, aggregator)
        let (northwind, southwind) = (FakeOperator("northwind", clock: clock), FakeOperator("southwind", clock: clock))
        (self.northwind, self.southwind) = (northwind, southwind)
        let finder = FakeOperator("finder", clock: clock)
        self.finder = finder
        http = ScriptedHTTPClient { request throws(OutboundError) in
            if let response = try northwind.answer(request) { return response }
            if let response = try finder.answer(request) { return response }
            if let response = firebase.answer(request) { return response }
            if let response = try aggregator.answer(request) { return response }
            return try southwind.answer(request) ?? .json("{}", status: 404)
        }
        testStore = try other?.testStore ?? TestStore()
        let key = try ClientKey(parsing: Secret(P256.Signing.PrivateKey().pemRepresentation))
        let fakes = [
            (northwind, ["310010", "310012"], "latchkey"), (southwind, ["310020"], southwindClient),
        ]
        let operators = try fakes.map { [http, clock] (fake, networks, clientID) in
            var mobileOperator = try Self.mobileOperator(fake, networks, simSwap)
            mobileOperator.takesHashes = takesHashes
            mobileOperator.apis.deployment.operatorTokenPrefix = tokenPrefix
            if credentialsOfNorthwind, fake === northwind { mobileOperator.credentials = try Self.credentials() }
            var client = SignInConfiguration.Client(
                id: try #require(ClientID(clientID)), authentication: .privateKeyJWT(key, audience: .endpoint))
            client.redirectURIs = [Self.redirectURI, "https://web.example/done"]
            client.scopes = mobileOperator.scopes
            client.signingKey = key
            var party = RelyingParty.Configuration(issuer: try Self.url(fake.issuer))
            party.requiresIDTokens = false
            party.extensions.dpop = dpop
            return MobileOperator(
                settings: mobileOperator,
                server: AuthorizationServer(
                    RelyingParty(configuration: party, http: http, clock: clock.wallClock), clients: [client]))
        }
        var telcoFinder: OperatorFinder?
        if let change {
            let client = SignInConfiguration.Client(
                id: try #require(ClientID("latchkey")), authentication: .privateKeyJWT(key, audience: .endpoint))
            var rules = TelcoFinderRules(
                issuer: try Self.url(finder.issuer), finder: try #require(TelcoFinder(root: try Self.url(finder.api))),
                client: client)
            change(&rules)
            telcoFinder = OperatorFinder(
                rules: rules,
                relyingParty: RelyingParty(
                    configuration: RelyingParty.Configuration(issuer: try Self.url(finder.issuer)), http: http,
                    clock: clock.wallClock))
        }
        var configuration = SignInConfiguration()
        lifetimes(&configuration.lifetimes)
        configuration.registration = registration.rules
        let context = FeatureContext.test(testStore.store, clock: clock.wallClock)
        redirects = RedirectsFeature(RedirectsSettings(), in: context)
        var feature = PhoneVerificationFeature(PhoneVerificationSettings(), in: context)
        feature.pause =
            pause
            ?? PollPauses { [waits, clock] duration in
                waits.pauses.withLock { $0.append(duration) }
                clock.advance(bySeconds: duration.components.seconds)
                return true
            }
        let group = feature.group("number", operators, telcoFinder)
        let phone = feature.firebase(
            "phone", try FakeFirebase.server(http, clock.wallClock, nonce: firebaseNonce), firebaseRules)
        var providers = [
            Provider(name: "number", title: "My number", kind: .group(group)),
            Provider(name: "phone", title: "My phone", kind: .group(phone)),
        ]
        if let aggregatorRules {
            let carriers = feature.aggregator(
                "carriers", try FakeAggregator.server(http, clock.wallClock), try FakeAggregator.rules(aggregatorRules),
                credentialRules)
            providers.append(Provider(name: "carriers", title: "My carrier", kind: .group(carriers)))
        }
        useCases = UseCases(
            providers: Providers(providers),
            configuration: configuration, store: testStore.store, logger: log.logger, clock: clock.wallClock,
            registrar: registration.registrar(over: testStore.store))
        api = LatchkeyAPI(
            useCases: useCases,
            apiKeys: APIKeys(
                [(TokenHash(sha256Of: TestApp.apiKey), APIGrant())] + keys.map { (TokenHash(sha256Of: $0), $1) }),
            allowedOrigins: [Self.origin], baseURL: BaseURL("https://login.example/base"), limits: limits,
            features: try TestApp.features(over: testStore.store, registration) + [
                BackchannelFeature(BackchannelSettings(), in: context),
                feature, redirects,
            ], logger: log.logger)
        handler = api.handler()
    }

    var redirectSignIn: RedirectSignIn { redirects.redirectSignIn(of: api) }

    private static func mobileOperator(
        _ fake: FakeOperator, _ networks: [String], _ policy: SIMSwapPolicy
    ) throws -> MobileOperatorSettings {
        var mobileOperator = MobileOperatorSettings(
            name: fake.name, networks: Set(networks.compactMap(MCCMNC.init)),
            apis: try #require(OperatorAPIs(root: try url(fake.api))), purpose: try #require(Purpose(purpose)))
        mobileOperator.simSwap = policy
        return mobileOperator
    }

    /// The key that signs requests for digital credentials, and its chain as `x5c` has it. Nobody reads the
    /// certificates.
    static let credentialKey = P256.Signing.PrivateKey()
    static let credentialChain = ["Y2VydGlmaWNhdGU=", "YXV0aG9yaXR5"]

    private static func credentials() throws -> CredentialRequestRules {
        let chain = credentialChain.map { "-----BEGIN CERTIFICATE-----\n\($0)\n-----END CERTIFICATE-----\n" }.joined()
        let moment = Timestamp(secondsSinceEpoch: 0)
        let certificate = TLSClientCertificate(
            chain: Array(chain.utf8), privateKey: Secret(credentialKey.pemRepresentation), subject: "CN=latchkey",
            validity: moment...moment, isSelfIssued: false)
        var rules = CredentialRequestRules(
            origins: [FakeAggregator.origin, FakeAggregator.androidOrigin],
            signer: ClientTLS(try #require(certificate)),
            encryptionKey: #"{"kty":"EC","kid":"operator-1","use":"enc","alg":"ECDH-ES"}"#)
        rules.consent = "Sign in to the shop"
        return rules
    }

    private static func url(_ text: String) throws -> EndpointURL {
        try #require(EndpointURL(text, policy: .httpsOnly))
    }

    func send(
        _ method: HTTPRequest.Method, _ path: String, _ headers: HTTPFields = [:], body: String = "",
        apiKey: String? = TestApp.apiKey, from peer: String = "127.0.0.1"
    ) async throws -> Answer {
        var headers = headers
        headers[try #require(HTTPField.Name("X-API-KEY"))] = apiKey
        if method == .post { headers[.contentType] = "application/json" }
        let response = try await handler(
            Request(
                method, path, headers: headers, body: Array(body.utf8),
                peer: SocketAddress(host: peer, port: 1)))
        try PublishedAPI.hold(response, to: method, path)
        return Answer(response)
    }

    // MARK: The path of an app

    /// The start's query, with `more` after it.
    static func query(_ more: String = "operator=northwind") -> String {
        "/auth/number/start?client_type=ios&redirect_uri=com.example.app%3A%2F%2Fcb&correlation_id=corr-1&" + more
    }

    /// Where the browser is sent.
    struct Authorization: Sendable {
        let location: String
        let parameters: [String: String]

        init(_ location: String) {
            self.location = location
            let items = location.split(separator: "?", maxSplits: 1).last?.split(separator: "&") ?? []
            parameters = Dictionary(
                items.map { item in
                    let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                    return (String(pair[0]), PercentEncoding.decodeForm(pair[1].utf8) ?? "")
                }, uniquingKeysWith: { $0 + " and " + $1 })
        }
    }

    func start(_ more: String = "operator=northwind") async throws -> Authorization {
        let answer = try await send(.get, Self.query(more), [.accept: "application/json"])
        return Authorization(try #require(answer.text("location"), "\(answer.body)"))
    }

    /// The parameters with which the browser arrives at the app.
    func finish(
        _ authorization: Authorization, code: String, issuer: String? = nil
    ) async throws -> [String: String] {
        let state = try #require(authorization.parameters["state"])
        return try await finish("state=\(state)&code=\(code)" + (issuer.map { "&iss=\($0)" } ?? ""))
    }

    func finish(_ query: String) async throws -> [String: String] {
        let answer = try await send(.get, "/auth/number/callback?" + query)
        let location = try #require(answer.headers[.location], "\(answer.body)")
        #expect(location.hasPrefix(Self.redirectURI))
        return Authorization(location).parameters
    }

    /// A whole sign-in: the parameters with which the browser arrives at the app.
    func outcome(at fake: FakeOperator? = nil) async throws -> [String: String] {
        let fake = fake ?? northwind
        let authorization = try await start("operator=\(fake.name)")
        let code = fake.authorize(nonce: try #require(authorization.parameters["nonce"]))
        return try await finish(authorization, code: code)
    }

    /// A whole sign-in: the session's token.
    func token(at fake: FakeOperator? = nil) async throws -> String {
        let outcome = try await outcome(at: fake)
        let id = try #require(outcome["session_id"], "\(outcome)")
        let answer = try await send(.post, "/auth/session", body: #"{"session_id":"\#(id)"}"#)
        return try #require(answer.text("token"))
    }

    /// Posts a sign-in with an operator token; the fields are JSON members.
    func signIn(_ members: String = #""operator_token":"TS43-token","operator":"northwind""#) async throws -> Answer {
        try await send(.post, "/auth/number/sign-in", body: "{" + members + "}")
    }

    func me(_ token: String) async throws -> JSONObject {
        try #require(try await send(.get, "/users/me", [.authorization: "Bearer \(token)"]).json)
    }

    /// How many requests the operators got at a URL.
    func count(_ url: String) -> Int { http.requests(to: url).count }
}
