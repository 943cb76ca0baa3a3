import Crypto
import HTTPTypes
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import Synchronization
import TestSupport
import Testing

/// An aggregator of mobile networks without a network, and the wallet of a phone that answers its requests.
struct FakeAggregator: Sendable {
    static let base = "https://api.aggregator.example"
    static let tokenURL = base + "/token"
    static let prepareURL = base + "/prepare"
    static let processURL = base + "/process"
    static let origin = "https://web.example"
    static let androidOrigin = "android:apk-key-hash:" + String(repeating: "A", count: 43)
    /// That of northwind's subscriber, too.
    static let number = "+14155550101"
    static let linkNetwork = "311480"

    /// What the aggregator responds; nil for the usual response.
    struct Script: Sendable {
        var token: OutboundResponse?
        var prepare: OutboundResponse?
        var process: OutboundResponse?
        /// The network between the server and the aggregator, when a credential is processed.
        var failure: OutboundError?
        /// The members of its finding.
        var finding = #""phone_number":"\#(FakeAggregator.number)""#
        /// Changes the request for the wallet.
        var change: @Sendable (String) -> String = { $0 }
        /// A prepared session, of a request for the wallet.
        var session: @Sendable (String) -> String = { #""strategy":"ts43","request":\#($0)"# }
    }

    private final class State: Sendable {
        let script = Mutex(Script())
        let prepared = Mutex<[JSONObject]>([])
        let processed = Mutex<[JSONObject]>([])
    }

    let clock: ManualClock
    let wallet = TestSigningKey(keyID: "wallet-1")
    let issuer = TestSigningKey(keyID: "carrier-1")
    private let state = State()

    init(clock: ManualClock) { self.clock = clock }

    func script(_ change: (inout Script) -> Void) { state.script.withLock { change(&$0) } }

    /// The bodies of the two calls so far.
    var prepared: [JSONObject] { state.prepared.withLock { $0 } }
    var processed: [JSONObject] { state.processed.withLock { $0 } }

    /// What the provider is made of.
    static func server(_ http: any HTTPClient, _ clock: WallClock) throws -> AuthorizationServer {
        func url(_ text: String) throws -> EndpointURL { try #require(EndpointURL(text, policy: .httpsOnly)) }
        var client = SignInConfiguration.Client(
            id: try #require(ClientID("aggregated")), authentication: .clientSecretPost(Secret("SECRET-1")))
        client.redirectURIs = [NumberApp.redirectURI, "https://web.example/done"]
        var rules = ServerRules()
        rules.endpoints = ["prepare_endpoint": try url(prepareURL), "process_endpoint": try url(processURL)]
        return AuthorizationServer(
            RelyingParty(
                configuration: .init(issuer: try url(base), tokenEndpoint: try url(tokenURL)), http: http,
                clock: clock),
            clients: [client], rules)
    }

    static func rules(_ change: (inout AggregatorRules) -> Void) throws -> AggregatorRules {
        var rules = AggregatorRules()
        rules.credentialOrigins = [origin, androidOrigin]
        rules.linkNetworks = [try #require(MCCMNC(linkNetwork))]
        rules.headers = ["x-key": Secret("KEY-at-aggregator")]
        change(&rules)
        return rules
    }

    /// Nil if the request is for somebody else.
    func answer(_ request: OutboundRequest) throws(OutboundError) -> OutboundResponse? {
        let script = state.script.withLock { $0 }
        switch request.url.text {
        case Self.tokenURL:
            return script.token ?? .json(#"{"access_token":"ACCESS-1","token_type":"bearer","expires_in":300}"#)
        case Self.prepareURL:
            guard let body = body(of: request) else { return .json(#"{"error":"unauthorized"}"#, status: 401) }
            state.prepared.withLock { $0.append(body) }
            return script.prepare ?? .json(prepared(body, script))
        case Self.processURL:
            guard let body = body(of: request) else { return .json(#"{"error":"unauthorized"}"#, status: 401) }
            state.processed.withLock { $0.append(body) }
            if let failure = script.failure { throw failure }
            return script.process ?? .json("{\(script.finding)}")
        default: return nil
        }
    }

    private func body(of request: OutboundRequest) -> JSONObject? {
        let fields = Dictionary(request.headers.map { ($0.name, $0.value) }) { $0 + ", " + $1 }
        guard fields["Authorization"] == "Bearer ACCESS-1", fields["x-key"] == "KEY-at-aggregator" else { return nil }
        return (try? JSONValue(parsing: request.body))?.object
    }

    private func prepared(_ body: JSONObject, _ script: Script) -> String {
        let session = #""session_key":{"key":"SESSION-\#(prepared.count)"}"#
        switch body["strategy"]?.string {
        case "link": return #"{\#(session),"authorization_url":"\#(Self.base)/link?s=\#(prepared.count)"}"#
        case "desktop": return #"{\#(session),"qr_code":"\#(Self.base)/scan/1","expires_in":120}"#
        default:
            let request = Self.request(nonce: body["nonce"]?.string ?? "")
            return "{\(session),\(script.session(script.change(request)))}"
        }
    }

    /// The request for the wallet.
    static func request(nonce: String) -> String {
        """
        {"protocol":"openid4vp-v1-unsigned","data":{"nonce":"\(nonce)","response_type":"vp_token",\
        "response_mode":"dc_api","dcql_query":{"credentials":[{"id":"phone","format":"dc-authorization+sd-jwt",\
        "meta":{"vct_values":["number-verification/device-phone-number/ts43"]}}]}}}
        """
    }

    // MARK: The wallet

    /// What is wrong with a presentation.
    struct Deviation: Sendable {
        var type = "kb+jwt"
        /// Of the key-binding JWT, as JSON texts; nil leaves a claim out.
        var claims: [String: String?] = [:]
        /// Of the issuer's JWT.
        var issuerClaims: [String: String?] = [:]
        /// Signs the key-binding JWT, in place of the wallet's key.
        var signer: TestSigningKey?
        /// What is between the two JWTs.
        var separator = "~"
        /// Changes the whole text once it is signed.
        var changeLate: @Sendable (String) -> String = { $0 }
    }

    /// A presentation: `issuer-jwt~key-binding-jwt`.
    func presentation(
        nonce: String, origin: String = FakeAggregator.origin, _ change: (inout Deviation) -> Void = { _ in }
    ) throws -> String {
        var deviation = Deviation()
        change(&deviation)
        let now = clock.now.secondsSinceEpoch
        let issued = try issuer.token(
            claims: Self.claims(
                [
                    ("iss", #""https://carrier.example""#), ("cnf", #"{"jwk":\#(wallet.jwk)}"#),
                    ("exp", "\(now + 86_400)"),
                ], deviation.issuerClaims), type: "dc-authorization+sd-jwt")
        let bound = issued + deviation.separator
        let hash = Base64URL.encode(Array(SHA256.hash(data: Array(bound.utf8))))
        let binding = try (deviation.signer ?? wallet).token(
            claims: Self.claims(
                [
                    ("aud", "\"\(origin)\""), ("nonce", "\"\(nonce)\""), ("iat", "\(now)"), ("sd_hash", "\"\(hash)\""),
                    ("encrypted_credential", #""eyJ.e.y.J.e""#),
                ], deviation.claims), type: deviation.type)
        return deviation.changeLate(bound + binding)
    }

    private static func claims(_ usual: [(name: String, json: String)], _ changes: [String: String?]) -> String {
        var claims = usual.filter { changes[$0.name] == nil }
        for (name, json) in changes.sorted(by: { $0.key < $1.key }) { if let json { claims.append((name, json)) } }
        return TokenText.object(claims)
    }
}

extension NumberApp {
    /// A sign-in or a verification that waits for the phone.
    struct CredentialStarted: Sendable {
        let id: String
        let nonce: String
        let answer: Answer
    }

    /// Starts a sign-in; `members` are further JSON members.
    func startCredential(_ members: String = "", apiKey: String? = TestApp.apiKey) async throws -> CredentialStarted {
        try await started(
            send(
                .post, "/auth/carriers/start", body: #"{"method":"digital_credential"\#(members)}"#, apiKey: apiKey),
            "sign_in_id")
    }

    /// Starts a verification of the number of a session's user.
    func startVerification(_ session: String, _ members: String = "") async throws -> CredentialStarted {
        try await started(
            send(
                .post, "/users/me/phone/verifications", [.authorization: "Bearer \(session)"],
                body: #"{"method":"digital_credential"\#(members)}"#), "verification_id")
    }

    private func started(_ answer: Answer, _ name: String) throws -> CredentialStarted {
        try #require(answer.status == 201, "\(answer.body)")
        let nonce = answer.json?["request"]?.object?["data"]?.object?["nonce"]?.string
        return CredentialStarted(id: try #require(answer.text(name)), nonce: nonce ?? "", answer: answer)
    }

    /// Posts the end of a sign-in.
    func confirm(_ id: String, _ body: String) async throws -> Answer {
        try await send(.post, "/auth/carriers/start/\(id)/confirmation", body: body)
    }

    /// Posts the end of a sign-in with a presentation.
    func confirm(_ id: String, presenting text: String) async throws -> Answer {
        try await confirm(id, #"{"vp_token":{"phone":"\#(text)"}}"#)
    }

    /// Posts the end of a verification.
    func confirm(_ id: String, of session: String, _ body: String) async throws -> Answer {
        try await send(
            .post, "/users/me/phone/verifications/\(id)/confirmation", [.authorization: "Bearer \(session)"],
            body: body)
    }

    func confirm(_ id: String, of session: String, presenting text: String) async throws -> Answer {
        try await confirm(id, of: session, #"{"vp_token":{"phone":"\#(text)"}}"#)
    }

    /// A whole sign-in.
    func signInWithCredential() async throws -> Answer {
        let started = try await startCredential()
        return try await confirm(started.id, presenting: try aggregator.presentation(nonce: started.nonce))
    }
}
