import Crypto
import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// Client-initiated backchannel authentication: request, response, and polls of the token endpoint (CIBA Core).
@Suite("Backchannel authentication")
struct BackchannelAuthenticationTests {
    private static let algorithms = "backchannel_authentication_request_signing_alg_values_supported"
    private static let privateKey = P256.Signing.PrivateKey()

    private static let metadata = FakeCarrier.metadata.with(
        "backchannel_authentication_endpoint", "\"\(FakeCarrier.backchannelURL)\""
    )
    .with("backchannel_token_delivery_modes_supported", "[\"poll\",\"ping\",\"push\"]")
    .with("backchannel_user_code_parameter_supported", "true")
    .with(
        "token_endpoint_auth_methods_supported", "[\"client_secret_basic\",\"client_secret_post\",\"private_key_jwt\"]")

    private static func key() throws -> ClientKey {
        try ClientKey(parsing: Secret(privateKey.pemRepresentation)).named("k-1")
    }

    /// A provider, and a client of it.
    private struct Stage {
        let carrier: FakeCarrier
        let relyingParty: RelyingParty
        let subjects: SignInSubjects

        init(
            _ metadata: JSONDraft = BackchannelAuthenticationTests.metadata, response: OutboundResponse? = nil,
            token: OutboundResponse? = nil, _ change: (inout RelyingParty.Configuration) -> Void = { _ in }
        ) throws {
            carrier = FakeCarrier { answers in
                answers.discovery = .json(metadata.text, cacheControl: "max-age=86400")
                answers.backchannelAuthentication =
                    response ?? .json(#"{"auth_req_id":"r-1","expires_in":120,"interval":2}"#)
                if let token { answers.token = token }
            }
            relyingParty = try carrier.relyingParty(ofIssuer: TokenDraft.issuer, change)
            subjects = try SignInSubjects()
        }

        var sent: [OutboundRequest] { carrier.http.requests(to: FakeCarrier.backchannelURL) }

        func provider() async throws -> ProviderMetadata { try await relyingParty.provider(subjects) }

        func authenticate(
            _ authentication: ClientAuthentication = .clientSecretBasic(Secret("s")), signedWith key: ClientKey? = nil,
            _ change: (inout BackchannelAuthenticationRequest) -> Void = { _ in }
        ) async throws -> Result<BackchannelAuthenticationResponse, OIDCError> {
            var request = BackchannelAuthenticationRequest(
                scopes: ["openid", "email"], hint: .loginHint(Secret("+12025550123")))
            change(&request)
            let provider = try await provider()
            do throws(OIDCError) {
                return .success(
                    try await relyingParty.authenticate(
                        request, client: client(authentication), signedWith: key, provider: provider,
                        correlationID: subjects.correlationID))
            } catch {
                return .failure(error)
            }
        }

        func poll(
            _ authentication: ClientAuthentication = .clientSecretBasic(Secret("s")), boundTo key: DPoPKey? = nil,
            requiresIDToken: Bool = true
        ) async throws -> Result<BackchannelTokenResponse, OIDCError> {
            let provider = try await provider()
            do throws(OIDCError) {
                return .success(
                    try await relyingParty.poll(
                        Secret("r-1"), client: client(authentication), boundTo: key, requiresIDToken: requiresIDToken,
                        provider: provider, correlationID: subjects.correlationID))
            } catch {
                return .failure(error)
            }
        }

        private func client(_ authentication: ClientAuthentication) -> ClientCredentials {
            ClientCredentials(clientID: subjects.clientID, authentication: authentication)
        }
    }

    private static func everything(_ request: inout BackchannelAuthenticationRequest) {
        request.bindingMessage = BindingMessage("W4SCT")
        request.acrValues = ["a3", "a1"]
        request.requestedExpiry = 90
        request.userCode = Secret("1234")
        request.notificationToken = Secret("token-1")
    }

    // MARK: Metadata

    @Test("Metadata tells the endpoint, the modes, the algorithms, and whether there are user codes")
    func readMetadata() async throws {
        let stage = try Stage(Self.metadata.with(Self.algorithms, "[\"ES256\",\"HS256\",\"PS256\"]"))
        let found = try #require(try await stage.provider().backchannelAuthentication)
        #expect(found.endpoint.text == FakeCarrier.backchannelURL)
        #expect(found.deliveryModes == [.poll, .ping])
        #expect(found.signingAlgorithms == [.es256, .ps256])
        #expect(found.acceptsUserCode)
    }

    @Test(
        "A provider without an acceptable endpoint gets no authentication request, and can be used otherwise",
        arguments: [nil, "null", "7", "\"http://carrier.example/bc\"", "\"bc-authorize\""])
    func noEndpoint(json: String?) async throws {
        let stage = try Stage(Self.metadata.with("backchannel_authentication_endpoint", json))
        #expect(try await stage.provider().backchannelAuthentication == nil)
        guard case .failure(let error) = try await stage.authenticate() else {
            Issue.record("sent")
            return
        }
        #expect(error.code == .metadataRefused)
        #expect(error.reason.contains("backchannel_authentication_endpoint"))
        #expect(stage.carrier.http.requests.allSatisfy { $0.method == .get })
    }

    @Test("Metadata of carriers has no such endpoint: they have ZenKey's")
    func carriers() async throws {
        let carrier = FakeCarrier { $0.discovery = .json(Self.metadata.text) }
        let subjects = try SignInSubjects()
        #expect(try await carrier.relyingParty().provider(subjects).backchannelAuthentication == nil)
    }

    // MARK: The request (section 7.1)

    @Test(
        "The request has every parameter once, and the client authenticates as at the token endpoint",
        arguments: ["client_secret_basic", "client_secret_post", "private_key_jwt"])
    func form(_ method: String) async throws {
        let authentication: ClientAuthentication =
            switch method {
            case "client_secret_basic": .clientSecretBasic(Secret("s"))
            case "client_secret_post": .clientSecretPost(Secret("s"))
            default: .privateKeyJWT(try Self.key())
            }
        let stage = try Stage()
        _ = try await stage.authenticate(authentication, Self.everything).get()
        #expect(stage.sent.count == 1)
        let request = try #require(stage.sent.first)
        #expect(request.method == .post)
        #expect(request.destination?.step == .backchannelAuthentication)
        let sent = SentForm(request)
        #expect(sent.headers["Content-Type"] == "application/x-www-form-urlencoded")
        var expected = [
            "scope": "openid email", "login_hint": "+12025550123", "binding_message": "W4SCT", "acr_values": "a3 a1",
            "requested_expiry": "90", "user_code": "1234", "client_notification_token": "token-1",
        ].mapValues { [$0] }
        if method != "client_secret_basic" { expected["client_id"] = ["client-1"] }
        switch method {
        case "client_secret_post": expected["client_secret"] = ["s"]
        case "private_key_jwt":
            expected["client_assertion_type"] = ["urn:ietf:params:oauth:client-assertion-type:jwt-bearer"]
            expected["client_assertion"] = sent.form["client_assertion"]
        default: break
        }
        #expect(sent.form == expected)
        #expect(sent.headers["Authorization"] == (method == "client_secret_basic" ? "Basic Y2xpZW50LTE6cw==" : nil))
    }

    @Test(
        "Exactly one hint is sent, and no optional parameter that was not given",
        arguments: [
            (.loginHint(Secret("h")), "login_hint"), (.loginHintToken(Secret("h")), "login_hint_token"),
            (.idTokenHint(Secret("h")), "id_token_hint"),
        ] as [(BackchannelAuthenticationRequest.Hint, String)])
    func hint(_ hint: BackchannelAuthenticationRequest.Hint, _ name: String) async throws {
        let stage = try Stage()
        _ = try await stage.authenticate { $0.hint = hint }.get()
        let request = try #require(stage.sent.first)
        #expect(SentForm(request).form == ["scope": ["openid email"], name: ["h"]])
    }

    @Test(
        "The audience of an assertion is one that section 7.1 has the provider accept",
        arguments: [
            (ClientAssertionAudience.issuer, TokenDraft.issuer), (.tokenEndpoint, FakeCarrier.tokenURL),
            (.endpoint, FakeCarrier.backchannelURL),
        ])
    func audience(_ audience: ClientAssertionAudience, _ expected: String) async throws {
        let stage = try Stage()
        _ = try await stage.authenticate(.privateKeyJWT(try Self.key(), audience: audience)).get()
        let request = try #require(stage.sent.first)
        #expect(try SentForm(request).assertion().claims["aud"]?.string == expected)
    }

    @Test("A user code is sent only to a provider that accepts one", arguments: [nil, "false", "\"true\""])
    func userCode(json: String?) async throws {
        let stage = try Stage(Self.metadata.with("backchannel_user_code_parameter_supported", json))
        let result = try await stage.authenticate { $0.userCode = Secret("1234") }
        #expect(failureCode(result) == .metadataRefused)
        #expect(stage.sent.isEmpty)
        _ = try await stage.authenticate().get()
    }

    @Test("A client whose authentication the provider does not list sends nothing")
    func authenticationNotListed() async throws {
        let stage = try Stage(Self.metadata.with("token_endpoint_auth_methods_supported", "[\"private_key_jwt\"]"))
        #expect(failureCode(try await stage.authenticate()) == .clientRefused)
        #expect(failureCode(try await stage.poll()) == .clientRefused)
        #expect(stage.carrier.http.requests.allSatisfy { $0.method == .get })
    }

    // MARK: Signed requests (section 7.1.1)

    @Test(
        "A request is signed where the provider lists the algorithm of the client's key, and by the setting",
        arguments: [
            (.auto, "[\"ES256\"]", true, true), (.auto, "[\"PS256\"]", true, false), (.auto, nil, true, false),
            (.auto, "[\"ES256\"]", false, false), (.never, "[\"ES256\"]", true, false),
            (.always, "[\"ES256\"]", true, true), (.always, "[\"ES256\"]", false, nil), (.always, nil, true, nil),
            (.always, "[\"PS256\"]", true, nil),
        ] as [(ExtensionUse, String?, Bool, Bool?)])
    func signing(_ setting: ExtensionUse, _ listed: String?, _ hasKey: Bool, _ isSigned: Bool?) async throws {
        let stage = try Stage(Self.metadata.with(Self.algorithms, listed)) { $0.signedBackchannelRequests = setting }
        let result = try await stage.authenticate(signedWith: hasKey ? try Self.key() : nil)
        guard let isSigned else {
            #expect(failureCode(result) == .clientRefused)
            #expect(stage.sent.isEmpty)
            return
        }
        _ = try result.get()
        let first = try #require(stage.sent.first)
        let form = SentForm(first).form
        #expect((form["request"] != nil) == isSigned)
        #expect((form["login_hint"] == nil) == isSigned)
    }

    @Test(
        "A signed request has all parameters and required claims, and nothing but the client's authentication beside it"
    )
    func requestObject() async throws {
        let stage = try Stage(Self.metadata.with(Self.algorithms, "[\"ES256\"]"))
        _ = try await stage.authenticate(.clientSecretPost(Secret("s")), signedWith: try Self.key(), Self.everything)
            .get()
        let first = try #require(stage.sent.first)
        let form = SentForm(first).form
        #expect(Set(form.keys) == ["request", "client_id", "client_secret"])
        let parts = try #require(form["request"]?.first).split(separator: ".").map(String.init)
        let bytes = parts.compactMap { Base64URL.decode($0) }
        try #require(bytes.count == 3)
        let header = try #require(JSONValue(parsing: bytes[0]).object)
        #expect(header["alg"]?.string == "ES256")
        #expect(header["kid"]?.string == "k-1")
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: bytes[2])
        #expect(Self.privateKey.publicKey.isValidSignature(signature, for: Array("\(parts[0]).\(parts[1])".utf8)))
        let claims = try #require(JSONValue(parsing: bytes[1]).object)
        let texts = [
            "iss": "client-1", "aud": TokenDraft.issuer, "scope": "openid email", "login_hint": "+12025550123",
            "binding_message": "W4SCT", "acr_values": "a3 a1", "user_code": "1234",
            "client_notification_token": "token-1",
        ]
        for (name, text) in texts { #expect(claims[name]?.string == text, "\(name)") }
        #expect(claims["requested_expiry"]?.integer == 90)
        #expect(claims["iat"]?.integer == TokenDraft.now)
        #expect(claims["nbf"]?.integer == TokenDraft.now)
        #expect(claims["exp"]?.integer == TokenDraft.now + 300)
        #expect(Base64URL.decode(claims["jti"]?.string ?? "")?.count == 16)
        #expect(
            Set(claims.members.map(\.name)) == Set(texts.keys).union(["requested_expiry", "iat", "nbf", "exp", "jti"]))
    }

    // MARK: The response (section 7.3)

    @Test(
        "The interval is the provider's, and five seconds if it names none",
        arguments: [
            ("", 5), (",\"interval\":null", 5), (",\"interval\":1", 1), (",\"interval\":\"7\"", 7),
            (",\"interval\":0", 1), (",\"interval\":99999999", 3600),
        ] as [(String, Int64)])
    func interval(json: String, seconds: Int64) async throws {
        let stage = try Stage(response: .json(#"{"auth_req_id":"r-1","expires_in":60\#(json)}"#))
        let started = try await stage.authenticate().get()
        #expect(started.interval == seconds)
        #expect(started.expiresIn == 60)
        #expect(started.requestID.exposed == "r-1")
    }

    @Test("An interval that is not a number of seconds is refused", arguments: ["-1", "\"x\"", "[]", "true"])
    func badInterval(json: String) async throws {
        let stage = try Stage(response: .json(#"{"auth_req_id":"r-1","expires_in":60,"interval":\#(json)}"#))
        #expect(failureCode(try await stage.authenticate()) == .unusableResponse)
    }

    @Test(
        "An error of section 13 is the provider's refusal, with its code",
        arguments: [
            ("invalid_request", 400, .carrierRefused), ("invalid_scope", 400, .carrierRefused),
            ("expired_login_hint_token", 400, .carrierRefused), ("unknown_user_id", 400, .carrierRefused),
            ("unauthorized_client", 400, .clientRefused), ("missing_user_code", 400, .carrierRefused),
            ("invalid_user_code", 400, .carrierRefused), ("invalid_binding_message", 400, .carrierRefused),
            ("invalid_client", 401, .clientRefused), ("access_denied", 403, .carrierRefused),
        ] as [(String, Int, OIDCError.Code)])
    func refusal(_ code: String, _ status: Int, _ expected: OIDCError.Code) async throws {
        let stage = try Stage(response: .json(#"{"error":"\#(code)"}"#, status: status))
        guard case .failure(let error) = try await stage.authenticate() else {
            Issue.record("accepted")
            return
        }
        #expect(error.code == expected)
        #expect(error.carrierError == code)
    }

    // MARK: Polls (sections 10.1 and 11)

    @Test("A poll has the grant type, the auth_req_id, and the client's authentication")
    func pollForm() async throws {
        let stage = try Stage()
        guard case .tokens(let tokens) = try await stage.poll().get() else {
            Issue.record("no tokens")
            return
        }
        #expect(tokens.accessToken.exposed == "access-1")
        #expect(tokens.idToken?.exposed == "h.p.s")
        let request = try #require(stage.carrier.http.requests(to: FakeCarrier.tokenURL).first)
        let sent = SentForm(request)
        #expect(sent.form == ["grant_type": ["urn:openid:params:grant-type:ciba"], "auth_req_id": ["r-1"]])
        #expect(sent.headers["Authorization"] == "Basic Y2xpZW50LTE6cw==")
    }

    @Test(
        "A pending request is no error, and every other error is one",
        arguments: [
            ("authorization_pending", 400, .pending, nil), ("slow_down", 400, .slowDown, nil),
            ("slow_down", 429, .slowDown, nil), ("expired_token", 400, nil, .carrierRefused),
            ("access_denied", 400, nil, .carrierRefused), ("access_denied", 403, nil, .carrierRefused),
            ("transaction_failed", 400, nil, .carrierRefused), ("invalid_grant", 400, nil, .carrierRefused),
            ("unauthorized_client", 400, nil, .clientRefused), ("invalid_client", 401, nil, .clientRefused),
            ("authorization_pending", 503, nil, .unusableResponse), ("slow_down", 500, nil, .unusableResponse),
        ] as [(String, Int, BackchannelTokenResponse?, OIDCError.Code?)])
    func pollRefusal(
        _ code: String, _ status: Int, _ response: BackchannelTokenResponse?, _ expected: OIDCError.Code?
    ) async throws {
        let stage = try Stage(token: .json(#"{"error":"\#(code)"}"#, status: status))
        switch try await stage.poll() {
        case .success(let found): #expect(found == response)
        case .failure(let error):
            #expect(error.code == expected)
            #expect(error.carrierError == code)
        }
    }

    @Test("Tokens without an ID token are refused, unless the caller needs none")
    func noIDToken() async throws {
        let stage = try Stage(token: .json(FakeCarrier.tokens.with("id_token", nil).text))
        #expect(failureCode(try await stage.poll()) == .unusableResponse)
        guard case .tokens(let tokens) = try await stage.poll(requiresIDToken: false).get() else {
            Issue.record("no tokens")
            return
        }
        #expect(tokens.idToken == nil)
    }

    @Test("The tokens of a poll are bound to a key where the setting says so")
    func dpop() async throws {
        let bound = OutboundResponse.json(FakeCarrier.tokens.with("token_type", "\"DPoP\"").text)
        let stage = try Stage(token: bound) { $0.extensions.dpop = .always }
        let key = DPoPKey()
        guard case .tokens(let tokens) = try await stage.poll(boundTo: key).get() else {
            Issue.record("no tokens")
            return
        }
        #expect(tokens.accessTokenKey == key)
        let request = try #require(stage.carrier.http.requests(to: FakeCarrier.tokenURL).first)
        #expect(try SentProof(of: request)?.thumbprint == key.thumbprint)
        stage.carrier.change { $0.token = .json(FakeCarrier.tokens.text) }
        #expect(failureCode(try await stage.poll()) == .unusableResponse)
    }

    private func failureCode<Value>(_ result: Result<Value, OIDCError>) -> OIDCError.Code? {
        guard case .failure(let error) = result else { return nil }
        return error.code
    }
}

/// The texts that a user compares on two devices.
struct BindingMessageTests {
    @Test(
        "A binding message is short, and shown as it was sent",
        arguments: [
            ("W4SCT", true), ("a", true), (String(repeating: "é", count: 64), true), ("Pay 10 € to Zoë & Co.", true),
            ("支払い 42", true), ("", false), (String(repeating: "x", count: 65), false), (" a", false), ("a ", false),
            ("a  b", false), ("a\nb", false), ("a\tb", false), ("a\u{0}", false), ("a\u{202E}b", false),
            ("a\u{200B}b", false), ("a\u{A0}b", false), ("a\u{2028}b", false), ("a\u{E000}", false),
        ])
    func text(_ text: String, _ isValid: Bool) {
        #expect((BindingMessage(text)?.text == text) == isValid)
    }
}
