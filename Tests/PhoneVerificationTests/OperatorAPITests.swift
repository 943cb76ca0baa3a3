import Crypto
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import TestSupport
import Testing

@testable import PhoneVerification

/// The CAMARA APIs of mobile operators: what is sent, and which responses are believed.
@Suite("The APIs of a mobile operator")
struct OperatorAPITests {
    private static let root = "https://api.carrier.example/camara"
    private static let shareURL = root + "/number-verification/v2/device-phone-number"
    private static let verifyURL = root + "/number-verification/v2/verify"
    private static let swapURL = root + "/sim-swap/v2/check"
    private static let privateKey = P256.Signing.PrivateKey()
    private static let issuer = "https://op.carrier.example"
    private static let tokenURL = issuer + "/token"
    private static let now: Int64 = 1_800_000_000

    private static let metadata = """
        {"issuer": "\(issuer)", "authorization_endpoint": "\(issuer)/authorize", "token_endpoint": "\(tokenURL)", \
        "jwks_uri": "\(issuer)/jwks", "response_types_supported": ["code"], \
        "id_token_signing_alg_values_supported": ["RS256", "ES256"], \
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "private_key_jwt"]}
        """

    private static func tokens(type: String = "Bearer") -> String {
        """
        {"access_token": "access-1", "token_type": "\(type)", "refresh_token": "refresh-1", "expires_in": 3600, \
        "scope": "openid"}
        """
    }

    /// The error of a step, or nil if it succeeds.
    private func failure<Value>(_ step: () async throws(OIDCError) -> Value) async -> OIDCError? {
        do throws(OIDCError) {
            _ = try await step()
            return nil
        } catch {
            return error
        }
    }

    /// An operator whose APIs respond as a test says.
    private struct Stage {
        let http: ScriptedHTTPClient
        let relyingParty: RelyingParty
        let provider: ProviderMetadata
        let client: ClientCredentials
        var apis: OperatorAPIs
        let number: MSISDN
        let correlationID: CorrelationID

        init(
            _ response: OutboundResponse, token: OutboundResponse? = nil, correlationID: String = "corr-1",
            dpop: ExtensionUse = .never, requiresIDTokens: Bool = false
        ) async throws {
            let clientID = try #require(ClientID("client-1"))
            self.correlationID = try #require(CorrelationID(correlationID))
            http = ScriptedHTTPClient { request throws(OutboundError) in
                switch request.url.text {
                case let url where url.hasPrefix(OperatorAPITests.root): response
                case OperatorAPITests.tokenURL: token ?? .json(OperatorAPITests.tokens())
                default: .json(OperatorAPITests.metadata)
                }
            }
            let issuer = try #require(EndpointURL(OperatorAPITests.issuer, policy: .httpsOnly))
            var configuration = RelyingParty.Configuration(issuer: issuer)
            configuration.requiresIDTokens = requiresIDTokens
            configuration.extensions.dpop = dpop
            relyingParty = RelyingParty(
                configuration: configuration, http: http,
                clock: ManualClock(secondsSinceEpoch: OperatorAPITests.now).wallClock)
            provider = try await relyingParty.provider(
                for: nil, clientID: clientID, correlationID: self.correlationID)
            let key = try ClientKey(parsing: Secret(OperatorAPITests.privateKey.pemRepresentation))
            client = ClientCredentials(
                clientID: clientID, authentication: .privateKeyJWT(key, audience: .endpoint))
            let root = try #require(EndpointURL(OperatorAPITests.root + "/", policy: .httpsOnly))
            apis = try #require(OperatorAPIs(root: root))
            number = try #require(MSISDN("+14155550101"))
        }

        func tokens() async throws(OIDCError) -> TokenResponse {
            try await relyingParty.exchange(
                code: Secret("code-1"), redirectURI: "https://rp.example/cb", codeVerifier: nil, client: client,
                provider: provider, correlationID: correlationID)
        }

        func deviceNumber() async throws(OIDCError) -> MSISDN {
            try await relyingParty.devicePhoneNumber(
                at: apis, with: try await tokens(), provider: provider, correlationID: correlationID)
        }

        func verification(hashed: Bool = false) async throws(OIDCError) -> Bool {
            try await relyingParty.isDevicePhoneNumber(
                number, hashed: hashed, at: apis, with: try await tokens(), provider: provider,
                correlationID: correlationID)
        }

        func swap() async throws(OIDCError) -> Bool {
            guard let purpose = Purpose("dpv:FraudPreventionAndDetection") else { return false }
            let settings = MobileOperatorSettings(name: "northwind", networks: [], apis: apis, purpose: purpose)
            return try await relyingParty.isSIMSwapped(
                of: number, withinHours: 72, scopes: settings.scopes(for: .checkSIMSwap), at: apis, client: client,
                provider: provider, correlationID: correlationID)
        }

        /// The one request to the operator's APIs.
        func sent() throws -> (request: OutboundRequest, headers: [String: String], body: String) {
            let requests = http.requests(to: OperatorAPITests.root)
            try #require(requests.count == 1)
            let headers = Dictionary(requests[0].headers.map { ($0.name, $0.value) }) { $0 + $1 }
            return (requests[0], headers, String(decoding: requests[0].body, as: UTF8.self))
        }
    }

    @Test(
        "A number is + and 5 to 15 digits, and does not begin with 0",
        arguments: [
            ("+12345", true), ("+123456789012345", true), ("+1234", false), ("+1234567890123456", false),
            ("+0123456789", false), ("123456789", false), ("+12345 6789", false), ("+1234567a9", false), ("", false),
            ("+", false), ("++123456789", false), ("+١٢٣٤٥٦", false), ("tel:+123456789", false),
            ("+\u{301}123456789", false), ("+1\u{301}23456789", false), ("\u{FF0B}123456789", false),
            ("+\u{FF11}23456789", false),
        ])
    func number(_ text: String, isValid: Bool) {
        #expect((MSISDN(text) != nil) == isValid)
    }

    @Test("A number is hashed with its +, and is never printed")
    func hash() throws {
        // printf %s +123456789 | sha256sum
        let number = try #require(MSISDN("+123456789"))
        #expect(number.hashed == "b49f9168e8a886ffd61a090b51a26e117717f5f6fa804af49ea67043a2bfa4f0")
        #expect(!"\(number)".contains("123456789"))
    }

    private static func sha256(of text: String) -> String {
        SHA256.hash(data: Array(text.utf8)).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    @Test(
        "A purpose is dpv: and a name",
        arguments: [
            ("dpv:FraudPreventionAndDetection", true), ("dpv:X1", true), ("dpv:", false), ("FraudPrevention", false),
            ("DPV:Fraud", false), ("dpv:1Fraud", false), ("dpv:Fraud Prevention", false), ("dpv:Fraud,Other", false),
            ("dpv:" + String(repeating: "a", count: 60), true), ("dpv:" + String(repeating: "a", count: 61), false),
        ])
    func purpose(_ text: String, isValid: Bool) {
        #expect(Purpose(text)?.scope == (isValid ? text : nil))
    }

    @Test("The number is asked for once, with the access token and the correlation id, and nothing else")
    func share() async throws {
        let stage = try await Stage(.json(#"{"devicePhoneNumber":"+14155550101"}"#))
        #expect(try await stage.deviceNumber() == stage.number)
        let (request, headers, body) = try stage.sent()
        #expect(request.method == .get)
        #expect(request.url.text == Self.shareURL)
        #expect(
            headers == ["Authorization": "Bearer access-1", "Accept": "application/json", "x-correlator": "corr-1"])
        #expect(body.isEmpty)
        #expect(request.destination == .init(carrier: Self.issuer, step: .numberVerification))
    }

    @Test("A correlation id with characters that x-correlator cannot have is hashed")
    func correlator() async throws {
        let stage = try await Stage(.json(#"{"devicePhoneNumber":"+14155550101"}"#), correlationID: "a#b")
        _ = try await stage.deviceNumber()
        #expect(try stage.sent().headers["x-correlator"] == Self.sha256(of: "a#b"))
    }

    @Test("A number is verified in plain text or as its hash, never both", arguments: [false, true])
    func verify(_ hashed: Bool) async throws {
        let stage = try await Stage(.json(#"{"devicePhoneNumberVerified":false}"#))
        #expect(try await stage.verification(hashed: hashed) == false)
        let (request, headers, body) = try stage.sent()
        #expect(request.method == .post)
        #expect(request.url.text == Self.verifyURL)
        #expect(headers["Content-Type"] == "application/json")
        let hash = #"{"hashedPhoneNumber":"\#(Self.sha256(of: "+14155550101"))"}"#
        #expect(body == (hashed ? hash : #"{"phoneNumber":"+14155550101"}"#))
    }

    @Test("The SIM is asked for with a token of the client's own, for one purpose")
    func swap() async throws {
        let stage = try await Stage(.json(#"{"swapped":true}"#))
        #expect(try await stage.swap())
        let (request, headers, body) = try stage.sent()
        #expect(request.method == .post)
        #expect(request.url.text == Self.swapURL)
        #expect(headers["x-correlator"] == "corr-1")
        #expect(body == #"{"phoneNumber":"+14155550101","maxAge":72}"#)
        let token = SentForm(try #require(stage.http.requests(to: Self.tokenURL).first))
        #expect(token.form["grant_type"] == ["client_credentials"])
        #expect(token.form["scope"] == ["dpv:FraudPreventionAndDetection sim-swap:check"])
        let claims = try token.assertion().claims
        #expect(claims["aud"]?.string == Self.tokenURL)
        let times = (claims["iat"]?.integer ?? 0, claims["exp"]?.integer ?? 0)
        #expect((1...300).contains(times.1 - times.0))
    }

    static let deployments: [(change: @Sendable (inout OperatorDeployment) -> Void, number: String, swap: String)] = [
        ({ _ in }, "/number-verification/v2/", "/sim-swap/v2/check"),
        ({ $0.numberVerification = "v0" }, "/number-verification/v0/", "/sim-swap/v2/check"),
        ({ $0.simSwap = "v1" }, "/number-verification/v2/", "/sim-swap/v1/check"),
        (
            { ($0.numberVerification, $0.simSwap, $0.prefix) = ("v031", "v040", "/camara") },
            "/camara/number-verification/v031/", "/camara/sim-swap/v040/check"
        ),
        (
            { $0.prefix = "/aggregator/v031" }, "/aggregator/v031/number-verification/v2/",
            "/aggregator/v031/sim-swap/v2/check"
        ),
    ]

    @Test("The prefix and the version of each API are in its path", arguments: deployments.indices)
    func deployedPaths(_ index: Int) async throws {
        let (change, number, swap) = Self.deployments[index]
        let calls: [(path: String, call: (Stage) async throws -> Void)] = [
            (number + "device-phone-number", { _ = try await $0.deviceNumber() }),
            (number + "verify", { _ = try await $0.verification() }), (swap, { _ = try await $0.swap() }),
        ]
        for (path, call) in calls {
            var stage = try await Stage(
                .json(
                    #"{"devicePhoneNumber":"+14155550101","devicePhoneNumberVerified":true,"swapped":false}"#))
            change(&stage.apis.deployment)
            try await call(stage)
            #expect(try stage.sent().request.url.text == Self.root + path)
        }
    }

    @Test("The header fields of a deployment are in calls of the APIs, and in no other request")
    func deployedHeaders() async throws {
        var stage = try await Stage(.json(#"{"swapped":true}"#))
        stage.apis.deployment.headers = ["x-api-key": Secret("key-1"), "x-tenant": Secret("shop")]
        #expect(try await stage.swap())
        let headers = try stage.sent().headers
        #expect(headers["x-api-key"] == "key-1" && headers["x-tenant"] == "shop")
        #expect(headers["Authorization"] == "Bearer access-1" && headers["x-correlator"] == "corr-1")
        let others = stage.http.requests.filter { !$0.url.text.hasPrefix(Self.root) }
        #expect(others.contains { $0.url.text == Self.tokenURL })
        #expect(others.allSatisfy { !$0.headers.contains { $0.name.hasPrefix("x-") && $0.value == "key-1" } })
        #expect(!"\(stage.apis)".contains("key-1") && !String(reflecting: stage.apis).contains("key-1"))
    }

    @Test(
        "The scopes of a call have the operator's form",
        arguments: [
            (
                .separate,
                [
                    "dpv:X number-verification:device-phone-number:read", "dpv:X number-verification:verify",
                    "dpv:X sim-swap:check",
                ]
            ),
            (
                .combined,
                [
                    "dpv:X#number-verification:device-phone-number:read", "dpv:X#number-verification:verify",
                    "dpv:X#sim-swap:check",
                ]
            ),
            (
                .combinedV0,
                [
                    "dpv:X#number-verification-share-read", "dpv:X#number-verification-verify-read",
                    "dpv:X#check-sim-swap",
                ]
            ),
            (.purpose, ["dpv:X", "dpv:X", "dpv:X"]),
        ] as [(OperatorDeployment.ScopeForm, [String])])
    func scopes(_ form: OperatorDeployment.ScopeForm, _ expected: [String]) throws {
        let root = try #require(EndpointURL(Self.root, policy: .httpsOnly))
        var settings = MobileOperatorSettings(
            name: "northwind", networks: [], apis: try #require(OperatorAPIs(root: root)),
            purpose: try #require(Purpose("dpv:X")))
        settings.apis.deployment.scopeForm = form
        let operations: [OperatorScope] = [.devicePhoneNumber, .verify, .checkSIMSwap]
        #expect(operations.map { settings.scopes(for: $0).joined(separator: " ") } == expected)
        #expect(settings.scopes.joined(separator: " ") == "openid " + expected[0])
        let number = try #require(MSISDN("+14155550101"))
        #expect(settings.scopes(toVerify: number).joined(separator: " ") == "openid " + expected[1])
    }

    @Test("A token that is bound to a key is sent with its proof")
    func bound() async throws {
        let token = OutboundResponse.json(Self.tokens(type: "DPoP"))
        let stage = try await Stage(.json(#"{"devicePhoneNumber":"+14155550101"}"#), token: token, dpop: .always)
        _ = try await stage.deviceNumber()
        let headers = try stage.sent().headers
        #expect(headers["Authorization"] == "DPoP access-1")
        #expect(headers["DPoP"] != nil)
    }

    @Test(
        "A response that does not have the schema is refused",
        arguments: [
            "{}", "[]", "", #"{"devicePhoneNumber":null}"#, #"{"devicePhoneNumber":4155550101}"#,
            #"{"devicePhoneNumber":"14155550101"}"#, #"{"devicePhoneNumber":"+1 415 555 0101"}"#,
            #"{"phoneNumber":"+14155550101"}"#, #"{"devicePhoneNumberVerified":"true"}"#,
            #"{"devicePhoneNumberVerified":1}"#, #"{"devicePhoneNumberVerified":null}"#, #"{"swapped":"false"}"#,
            #"{"swapped":0}"#, #"{"swapped":null}"#,
        ])
    func malformed(_ body: String) async throws {
        let stage = try await Stage(.json(body))
        let shared = await failure { () async throws(OIDCError) in try await stage.deviceNumber() }
        let verified = await failure { () async throws(OIDCError) in try await stage.verification() }
        let swapped = await failure { () async throws(OIDCError) in try await stage.swap() }
        for error in [shared, verified, swapped] {
            #expect(error?.code == .unusableResponse)
            #expect(error?.codeMayBeSpent == true)
        }
    }

    @Test(
        "An error of the API has its meaning",
        arguments: [
            (403, "NUMBER_VERIFICATION.USER_NOT_AUTHENTICATED_BY_MOBILE_NETWORK", .notAuthenticatedByNetwork),
            (403, "NUMBER_VERIFICATION.INVALID_TOKEN_CONTEXT", .noNumberInToken),
            (401, "UNAUTHENTICATED", .unauthenticated), (403, "PERMISSION_DENIED", .permissionDenied),
            (429, "QUOTA_EXCEEDED", .tooManyRequests), (429, "TOO_MANY_REQUESTS", .tooManyRequests),
            (404, "NOT_FOUND", .unknownNumber), (404, "IDENTIFIER_NOT_FOUND", .unknownNumber),
            (400, "INVALID_ARGUMENT", .other), (400, "OUT_OF_RANGE", .other),
            (422, "MISSING_IDENTIFIER", .other), (422, "UNNECESSARY_IDENTIFIER", .other),
            (418, "SOMETHING_ELSE", .other),
        ] as [(Int, String, OperatorAPIRefusal)])
    func refusal(_ status: Int, _ code: String, _ meaning: OperatorAPIRefusal) async throws {
        var response = OutboundResponse.json(
            #"{"status":\#(status),"code":"\#(code)","message":"for developers"}"#, status: status)
        response.retryAfter = "7"
        let stage = try await Stage(response)
        let error = await failure { () async throws(OIDCError) in try await stage.deviceNumber() }
        #expect(error?.code == .apiRefused)
        #expect(error?.carrierError == code)
        #expect(error?.retryAfter == 7)
        #expect(error?.reason.contains("for developers") == false)
        #expect(OperatorAPIRefusal(code: code) == meaning)
        #expect(stage.http.requests(to: Self.root).count == 1)
    }

    @Test(
        "The wait that an operator demands is a number of seconds, and an hour at most",
        arguments: [
            ("0", 0), ("3600", 3600), ("3601", 3600), ("-1", nil), ("1.5", nil), ("Sat, 28 Nov 2026 07:00:00 GMT", nil),
        ] as [(String, Int64?)])
    func wait(_ field: String, _ seconds: Int64?) async throws {
        var response = OutboundResponse.json(#"{"code":"TOO_MANY_REQUESTS"}"#, status: 429)
        response.retryAfter = field
        let stage = try await Stage(response)
        let error = await failure { () async throws(OIDCError) in try await stage.deviceNumber() }
        #expect(error?.code == .apiRefused)
        #expect(error?.retryAfter == seconds)
    }

    @Test(
        "What is no error of the APIs is not taken for one",
        arguments: [
            (500, #"{"status":500,"code":"INTERNAL","message":"m"}"#), (403, "{}"), (403, #"{"code":7}"#),
            (403, #"{"code":"a b"}"#), (403, #"{"code":"14155550101"}"#), (302, ""), (204, ""),
            (201, #"{"devicePhoneNumber":"+14155550101"}"#),
        ])
    func noError(_ status: Int, _ body: String) async throws {
        let stage = try await Stage(.json(body, status: status))
        let error = await failure { () async throws(OIDCError) in try await stage.deviceNumber() }
        #expect(error?.code == .unusableResponse)
    }

    @Test("An operator token is exchanged with an assertion that authenticates the client, too, and without a scope")
    func operatorToken() async throws {
        let stage = try await Stage(.json("{}"))
        _ = try await stage.relyingParty.tokens(
            about: Secret("operatortoken:TS43 token"), scopes: ["openid", "dpv:FraudPreventionAndDetection", "a:b"],
            client: stage.client, provider: stage.provider, correlationID: stage.correlationID)
        let requests = stage.http.requests(to: Self.tokenURL)
        try #require(requests.count == 1)
        let sent = SentForm(requests[0])
        #expect(sent.form.keys.sorted() == ["assertion", "grant_type"])
        #expect(sent.form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"])
        #expect(sent.headers["Authorization"] == nil)
        let parts = try #require(sent.form["assertion"]?.first).split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        let claims = try #require(JSONValue(parsing: Base64URL.decode(parts[1]) ?? []).object)
        #expect(claims["iss"]?.string == "client-1")
        #expect(claims["sub"]?.string == "operatortoken:TS43 token")
        #expect(claims["aud"]?.string == Self.tokenURL)
        #expect(claims["scope"]?.string == "openid dpv:FraudPreventionAndDetection a:b")
        #expect(claims["jti"]?.string.flatMap(Base64URL.decode)?.count == 16)
        let times = (claims["iat"]?.integer ?? 0, claims["exp"]?.integer ?? 0)
        #expect(times.0 == Self.now && (1...300).contains(times.1 - times.0))
        let signature = try P256.Signing.ECDSASignature(
            rawRepresentation: try #require(Base64URL.decode(parts[2])))
        #expect(
            Self.privateKey.publicKey.isValidSignature(signature, for: Array("\(parts[0]).\(parts[1])".utf8)))
    }

    @Test("Only where the number names the user may the response to a code have no ID token", arguments: [false, true])
    func withoutIDToken(_ isRequired: Bool) async throws {
        let stage = try await Stage(.json("{}"), requiresIDTokens: isRequired)
        let error = await failure { () async throws(OIDCError) in try await stage.tokens() }
        #expect(error?.code == (isRequired ? .unusableResponse : nil))
    }

    @Test("A root with a query is none, and one with a slash at its end is the same")
    func root() throws {
        func url(_ text: String) throws -> EndpointURL { try #require(EndpointURL(text, policy: .httpsOnly)) }
        #expect(OperatorAPIs(root: try url("https://api.example?x=1")) == nil)
        #expect(OperatorAPIs(root: try url("https://api.example")) != nil)
    }
}
