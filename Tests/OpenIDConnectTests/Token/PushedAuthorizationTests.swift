import Crypto
import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// Authorization requests that are pushed to the provider before the browser goes there (RFC 9126).
@Suite("Pushed authorization requests")
struct PushedAuthorizationTests {
    private static let required = "require_pushed_authorization_requests"
    private static let endpointName = "pushed_authorization_request_endpoint"
    /// Metadata that requires pushed requests, and lists every method of client authentication.
    private static let metadata = FakeCarrier.metadata.with(endpointName, "\"\(FakeCarrier.pushURL)\"")
        .with(required, "true")
        .with(
            "token_endpoint_auth_methods_supported",
            "[\"client_secret_basic\",\"client_secret_post\",\"private_key_jwt\",\"none\"]")

    /// A carrier, and what a sign-in sends to it.
    private struct Stage {
        let carrier: FakeCarrier
        let relyingParty: RelyingParty
        let subjects: SignInSubjects

        init(
            _ metadata: JSONDraft = PushedAuthorizationTests.metadata, response: OutboundResponse? = nil,
            _ change: (inout RelyingParty.Configuration) -> Void = { _ in }
        ) throws {
            carrier = FakeCarrier { answers in
                answers.discovery = .json(metadata.text, cacheControl: "max-age=86400")
                if let response { answers.pushedAuthorization = response }
            }
            relyingParty = try carrier.relyingParty(change)
            subjects = try SignInSubjects()
        }

        var pushed: [OutboundRequest] { carrier.http.requests(to: FakeCarrier.pushURL) }

        func request() -> AuthorizationRequest {
            var request = AuthorizationRequest(
                clientID: subjects.clientID, redirectURI: "https://rp.example/cb?x=1&y",
                demand: AuthenticationDemand(scopes: ["openid", "email"]),
                state: Secret("state-1"), nonce: Secret("nonce-1"), codeChallenge: "challenge-1",
                correlationID: subjects.correlationID)
            request.loginHintToken = "hint-token"
            request.demand.loginHint = "jane@example.org"
            request.demand.acrValues = ["a3", "a1"]
            request.demand.context = "Pay 10 €"
            request.demand.prompt = [.login]
            request.demand.maximumAge = 300
            request.responseMode = .formPost
            return request
        }

        func destination(
            _ authentication: ClientAuthentication = .clientSecretBasic(Secret("s"))
        ) async throws -> Result<AuthorizationDestination, OIDCError> {
            let provider = try await relyingParty.provider(subjects)
            let client = ClientCredentials(clientID: subjects.clientID, authentication: authentication)
            do throws(OIDCError) {
                return .success(
                    try await relyingParty.destination(
                        of: request(), client: client, provider: provider, correlationID: subjects.correlationID))
            } catch {
                return .failure(error)
            }
        }

        func error(
            _ authentication: ClientAuthentication = .clientSecretBasic(Secret("s"))
        ) async throws -> OIDCError? {
            guard case .failure(let error) = try await destination(authentication) else { return nil }
            return error
        }
    }

    /// The parameters of every request above, without the client's authentication.
    private static let parameters = [
        "client_id": "client-1", "redirect_uri": "https://rp.example/cb?x=1&y", "response_type": "code",
        "scope": "openid email", "state": "state-1", "nonce": "nonce-1", "code_challenge": "challenge-1",
        "code_challenge_method": "S256", "correlation_id": "corr-1", "login_hint_token": "hint-token",
        "login_hint": "jane@example.org", "acr_values": "a3 a1", "context": "Pay 10 €", "prompt": "login",
        "max_age": "300", "response_mode": "form_post",
    ]

    @Test(
        "Requests are pushed if the metadata requires it and the setting does not forbid it, or the setting demands it",
        arguments: [
            (.auto, "true", true), (.auto, "false", false), (.auto, nil, false), (.auto, "null", false),
            (.auto, "\"true\"", false), (.always, nil, true), (.always, "false", true), (.always, "true", true),
            (.never, nil, false), (.never, "true", false),
        ] as [(ExtensionUse, String?, Bool)])
    func setting(_ setting: ExtensionUse, _ json: String?, _ isPushed: Bool) async throws {
        let stage = try Stage(Self.metadata.with(Self.required, json)) {
            $0.extensions.pushedAuthorizationRequests = setting
        }
        let destination = try await stage.destination().get()
        #expect(stage.pushed.count == (isPushed ? 1 : 0))
        #expect(destination.url.text.contains("request_uri=") == isPushed)
        #expect(destination.url.text.contains("state=state-1") == !isPushed)
        #expect(destination.expiresIn == (isPushed ? 60 : nil))
    }

    @Test(
        "No browser is sent to a provider without an authorization endpoint, and nothing is pushed",
        arguments: ExtensionUse.allCases)
    func withoutBrowsers(_ setting: ExtensionUse) async throws {
        let metadata = Self.metadata.with("authorization_endpoint", nil)
            .with("grant_types_supported", "[\"urn:openid:params:grant-type:ciba\"]")
        let stage = try Stage(metadata) { $0.extensions.pushedAuthorizationRequests = setting }
        let error = try await stage.error()
        #expect(error?.code == .metadataRefused)
        #expect(error?.reason.contains("no authorization_endpoint") == true)
        #expect(stage.pushed.isEmpty)
    }

    @Test("The browser brings client_id and request_uri, and no parameter of the request")
    func browser() async throws {
        let stage = try Stage()
        let url = try await stage.destination().get().url.text
        let uri = "urn%3Aietf%3Aparams%3Aoauth%3Arequest_uri%3Ar-1"
        #expect(url == "\(TokenDraft.issuer)/authorize?client_id=client-1&request_uri=\(uri)")
    }

    @Test(
        "The request has every parameter once, and the client authenticates as at the token endpoint",
        arguments: ["client_secret_basic", "client_secret_post", "private_key_jwt", "none"])
    func form(_ method: String) async throws {
        let key = try ClientKey(parsing: Secret(P256.Signing.PrivateKey().pemRepresentation))
        let authentication: ClientAuthentication =
            switch method {
            case "client_secret_basic": .clientSecretBasic(Secret("s"))
            case "client_secret_post": .clientSecretPost(Secret("s"))
            case "private_key_jwt": .privateKeyJWT(key)
            default: .publicClient
            }
        let stage = try Stage()
        _ = try await stage.destination(authentication).get()
        let request = try #require(stage.pushed.first)
        #expect(stage.pushed.count == 1)
        #expect(request.method == .post)
        let sent = SentForm(request)
        #expect(sent.headers["Content-Type"] == "application/x-www-form-urlencoded")
        var expected = Self.parameters.mapValues { [$0] }
        switch method {
        case "client_secret_post": expected["client_secret"] = ["s"]
        case "private_key_jwt":
            expected["client_assertion_type"] = ["urn:ietf:params:oauth:client-assertion-type:jwt-bearer"]
            expected["client_assertion"] = sent.form["client_assertion"]
            #expect(try sent.assertion().claims["aud"]?.string == FakeCarrier.tokenURL)
        default: break
        }
        #expect(sent.form == expected)
        #expect(sent.headers["Authorization"] == (method == "client_secret_basic" ? "Basic Y2xpZW50LTE6cw==" : nil))
    }

    @Test(
        "The audience of an assertion is the configured one",
        arguments: [
            (ClientAssertionAudience.issuer, TokenDraft.issuer), (.tokenEndpoint, FakeCarrier.tokenURL),
            (.endpoint, FakeCarrier.pushURL),
        ])
    func audience(_ audience: ClientAssertionAudience, _ expected: String) async throws {
        let key = try ClientKey(parsing: Secret(P256.Signing.PrivateKey().pemRepresentation))
        let stage = try Stage()
        _ = try await stage.destination(.privateKeyJWT(key, audience: audience)).get()
        let claims = try SentForm(try #require(stage.pushed.first)).assertion().claims
        #expect(claims["aud"]?.string == expected)
    }

    private static func response(_ requestURI: String, _ expiresIn: String = "60") -> String {
        #"{"request_uri":\#(requestURI),"expires_in":\#(expiresIn)}"#
    }

    private static let longest = "\"urn:" + String(repeating: "u", count: 508) + "\""

    @Test(
        "A response is accepted with any request_uri that is a URI, and an expiry of at least a second",
        arguments: [
            (#""urn:x""#, "1", 1), (#""https://op.example/r?a=b&c#d""#, "90", 90), (#""a+b.c-1:x""#, "\"5\"", 5),
            (longest, "60", 60),
        ] as [(String, String, Int64)])
    func accepted(_ requestURI: String, _ expiresIn: String, _ seconds: Int64) async throws {
        let stage = try Stage(response: .json(Self.response(requestURI, expiresIn), status: 201))
        let destination = try await stage.destination().get()
        #expect(destination.expiresIn == seconds)
        let query = destination.url.text.split(separator: "?").last.map(String.init) ?? ""
        #expect(query.hasPrefix("client_id=client-1&request_uri="))
        #expect(query.filter { $0 == "&" }.count == 1)
    }

    /// Texts of status 201.
    private static let unusable: [String] = [
        "{}", "", "[]", "<html>", #"{"expires_in":60}"#, #"{"request_uri":"urn:x"}"#, response("null"), response("7"),
        response(#"["urn:x"]"#), response(#""""#), response(#""x""#), response(#"":x""#), response(#""urn:""#),
        response(#""1urn:x""#), response(#""u_n:x""#), response(#""urn:a b""#), response(#""urn:a\r\nb""#),
        response(#""urn:a\u0000b""#), response(#""urn:ä""#),
        response("\"urn:" + String(repeating: "u", count: 509) + "\""), response(#""urn:x""#, "0"),
        response(#""urn:x""#, "-1"), response(#""urn:x""#, "null"), response(#""urn:x""#, "\"soon\""),
        response(#""urn:x""#, "1e300"), #"{"request_uri":"urn:x","request_uri":"urn:y","expires_in":60}"#,
    ]

    private static let otherStatuses: [(Int, String)] = [
        (200, response(#""urn:x""#)), (202, response(#""urn:x""#)), (302, response(#""urn:x""#)),
        (500, #"{"error":"server_error"}"#), (503, "down"), (400, "{}"), (400, #"{"error":7}"#),
    ]

    @Test(
        "Any other response is refused, and there is no destination",
        arguments: unusable.map { (201, $0) } + otherStatuses)
    func refused(_ status: Int, _ text: String) async throws {
        let stage = try Stage(response: .json(text, status: status))
        let error = try #require(try await stage.error())
        #expect(error.code == .unusableResponse)
        #expect(error.request?.status == status)
        #expect(error.codeMayBeSpent == false)
        #expect(stage.pushed.count == 1, "a request is not repeated")
    }

    @Test("A success that is labelled a page or a form is refused", arguments: ["text/html", "application/jwt"])
    func label(_ contentType: String) async throws {
        var response = OutboundResponse.json(Self.response(#""urn:x""#), status: 201)
        response.contentType = contentType
        #expect(try await Stage(response: response).error()?.code == .unusableResponse)
    }

    @Test("A response that is too long is refused")
    func length() async throws {
        let padded = #"{"request_uri":"urn:x","expires_in":60,"p":"\#(String(repeating: "p", count: 131_072))"}"#
        #expect(try await Stage(response: .json(padded, status: 201)).error()?.code == .unusableResponse)
    }

    @Test(
        "An error of the provider is passed on with its code",
        arguments: [
            ("invalid_request", 400, .carrierRefused), ("invalid_redirect_uri", 400, .carrierRefused),
            ("access_denied", 403, .carrierRefused), ("invalid_request", 413, .carrierRefused),
            ("temporarily_unavailable", 429, .carrierRefused), ("invalid_client", 401, .clientRefused),
            ("unauthorized_client", 400, .clientRefused),
        ] as [(String, Int, OIDCError.Code)])
    func errors(_ name: String, _ status: Int, _ code: OIDCError.Code) async throws {
        let error = try await Stage(response: .json(#"{"error":"\#(name)"}"#, status: status)).error()
        #expect(error?.code == code)
        #expect(error?.carrierError == name)
        #expect(error?.request?.status == status)
    }

    @Test("A refusal of the client names the encoding of its credentials, if that may be the reason")
    func encoding() async throws {
        let refusal = OutboundResponse.json(#"{"error":"invalid_client"}"#, status: 401)
        let error = try await Stage(response: refusal).error(.clientSecretBasic(Secret("+/=")))
        #expect(error?.reason.contains("client_secret_basic_encoding") == true)
    }

    @Test(
        "Without an acceptable endpoint nothing is sent, and the metadata is asked for again after a minute",
        arguments: [
            nil, "null", "7", "\"/par\"", "\"http://login.carrier.example/par\"", "\"https://evil.example/par\"",
        ])
    func noEndpoint(_ json: String?) async throws {
        let stage = try Stage(Self.metadata.with(Self.endpointName, json))
        #expect(try await stage.error()?.code == .metadataRefused)
        #expect(stage.carrier.http.requests.allSatisfy { $0.method == .get })
        stage.carrier.change { $0.discovery = .json(Self.metadata.text) }
        stage.carrier.clock.advance(bySeconds: 60)
        #expect(try await stage.error() == nil)
    }

    @Test("A bad endpoint does not keep users from signing in whose requests are not pushed")
    func badEndpoint() async throws {
        let stage = try Stage(Self.metadata.with(Self.endpointName, "7").with(Self.required, nil))
        #expect(try await stage.error() == nil)
    }

    @Test("A method of authentication that the provider does not list is not used")
    func method() async throws {
        let stage = try Stage()
        stage.carrier.change {
            $0.discovery = .json(
                Self.metadata.with("token_endpoint_auth_methods_supported", "[\"private_key_jwt\"]").text)
        }
        #expect(try await stage.error()?.code == .clientRefused)
        #expect(stage.pushed.isEmpty)
    }

    @Test(
        "Without a response there is no destination; after five the provider is not asked, and codes are redeemed",
        arguments: [
            (OutboundError.Code.timedOut, OIDCError.Code.timedOut), (.unreachable, .unreachable), (.tls, .unreachable),
            (.closed, .unreachable), (.malformed, .unusableResponse),
        ])
    func silence(_ code: OutboundError.Code, _ expected: OIDCError.Code) async throws {
        let stage = try Stage()
        stage.carrier.change {
            $0.failures[FakeCarrier.pushURL] = OutboundError(code, mayHaveBeenSent: true, reason: "")
        }
        for _ in 0..<5 { #expect(try await stage.error()?.code == expected) }
        #expect(try await stage.error()?.code == .suspended)
        #expect(stage.pushed.count == 5)
        #expect(try await exchange(stage) == nil)
    }

    @Test("Pushed requests leave half of the capacity to sign-ins that have a code")
    func capacity() async throws {
        let stage = try Stage { $0.bulkhead.maximumInFlight = 4 }
        _ = try await stage.relyingParty.provider(stage.subjects)
        let gate = Gate()
        stage.carrier.change { $0.gates[FakeCarrier.pushURL] = gate }
        let waiting = (0..<2).map { _ in Task { try await stage.error() } }
        await gate.untilWaiting(2)
        stage.carrier.change { $0.gates = [:] }
        #expect(try await stage.error()?.code == .overloaded)
        #expect(try await exchange(stage) == nil)
        gate.open()
        for task in waiting { #expect(try await task.value == nil) }
    }

    private func exchange(_ stage: Stage) async throws -> OIDCError? {
        let provider = try await stage.relyingParty.provider(stage.subjects)
        let client = ClientCredentials(
            clientID: stage.subjects.clientID, authentication: .clientSecretBasic(Secret("s")))
        return await failure { () throws(OIDCError) in
            try await stage.relyingParty.exchange(
                code: Secret("c"), redirectURI: "a:/b", codeVerifier: nil, client: client, provider: provider,
                correlationID: stage.subjects.correlationID)
        }
    }
}
