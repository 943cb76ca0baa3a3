import CarrierSimulator
import HTTPServer
import HTTPTypes
import Primitives
import Testing

@Suite("An operator's authorization endpoint")
struct OperatorAuthorizationTests {
    let operators = OperatorHarness()

    @Test("The network authenticates the device, and the code gives a token and an ID token")
    func flow() async throws {
        let response = try await operators.authorize()
        #expect(response.status == .found)
        let (address, query) = try response.destination()
        #expect(address == Harness.redirectURI)
        #expect(query["state"] == "s&1")
        #expect(query["iss"] == OperatorHarness.issuer)
        let tokens = try await operators.redeem(query["code"].required).object()
        #expect(tokens["token_type"]?.string == "Bearer")
        #expect(tokens["expires_in"]?.integer == 300)
        #expect(tokens["refresh_token"] == nil)
        let idToken = try SignedToken(tokens["id_token"]?.string ?? "")
        #expect(idToken.claims["iss"]?.string == OperatorHarness.issuer)
        #expect(idToken.claims["aud"]?.string == "shop")
        #expect(idToken.claims["nonce"]?.string == "n-1")
        let subject = try idToken.claims["sub"].required.string.required
        #expect(!subject.contains("2025550123"), "the sub must not have the number")
        let number = try await operators.share(tokens["access_token"]?.string)
        #expect(try number.object()["devicePhoneNumber"]?.string == "+12025550123")
    }

    @Test("Metadata announces what the profile demands")
    func metadata() async throws {
        let document = try await operators.carriers.get("/operators/northwind/.well-known/openid-configuration")
            .object()
        #expect(document["issuer"]?.string == OperatorHarness.issuer)
        #expect(document["token_endpoint_auth_methods_supported"] == ["private_key_jwt"])
        #expect(document["code_challenge_methods_supported"] == ["S256"])
        #expect(document["backchannel_token_delivery_modes_supported"] == ["poll"])
        #expect(document["request_parameter_supported"]?.bool == true)
        let grants = document["grant_types_supported"]?.array?.compactMap(\.string) ?? []
        #expect(
            grants == ["authorization_code", OperatorHarness.jwtBearer, OperatorHarness.ciba, "client_credentials"])
    }

    struct Connection: Sendable, CustomTestStringConvertible {
        let device: String
        let number: String?
        var testDescription: String { device }
    }

    static let connections = [
        Connection(device: "wifi", number: nil),
        Connection(device: "cellular", number: "+12025550123"),
        Connection(device: "cellular:northwind:ravi", number: "+12025550187"),
        Connection(device: "cellular:harbor:mira", number: nil),
        Connection(device: "cellular:northwind:nobody", number: nil),
    ]

    @Test("Who is behind the connection is known by field, cookie or setting", arguments: connections)
    func devices(_ connection: Connection) async throws {
        let byField = try await operators.authorize(device: connection.device).destination().query
        #expect(byField["error"] == (connection.number == nil ? "login_required" : nil))
        let query = Forms.encode(operators.authorizationQuery())
        let byCookie = try await operators.carriers.get(
            "/operators/northwind/authorize?\(query)",
            headers: [.cookie: "other=1; simulated_device=\(connection.device)"])
        #expect(try byCookie.destination().query["error"] == byField["error"])
        operators.simulator.device = try CarrierSimulator.Device(connection.device).required
        let bySetting = try await operators.authorize().destination().query
        #expect(bySetting["error"] == byField["error"])
        guard let number = connection.number else { return }
        let token = try await operators.redeem(bySetting["code"].required).object()["access_token"]?.string
        #expect(try await operators.share(token).object()["devicePhoneNumber"]?.string == number)
    }

    @Test("A control endpoint sets the device of requests that name none")
    func choosing() async throws {
        let set = try await operators.carriers.post("/demo/device", [("device", "wifi")]).object()
        #expect(set["device"]?.string == "wifi")
        #expect(set["operators"]?.array?.count == 2)
        #expect(operators.simulator.device == .wifi)
        #expect(try await operators.carriers.post("/demo/device", json: #"{"device":"x"}"#).status == .badRequest)
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let what: String
        let changes: [String: String?]
        let error: String
        var testDescription: String { what }
    }

    private static let purpose = "dpv:FraudPreventionAndDetection"

    static let refusals = [
        Case(what: "no PKCE", changes: ["code_challenge": nil], error: "invalid_request"),
        Case(what: "plain PKCE", changes: ["code_challenge_method": "plain"], error: "invalid_request"),
        Case(what: "a challenge that is no hash", changes: ["code_challenge": "short"], error: "invalid_request"),
        Case(what: "another response type", changes: ["response_type": "token"], error: "unsupported_response_type"),
        Case(what: "no scope", changes: ["scope": nil], error: "invalid_scope"),
        Case(
            what: "no purpose", changes: ["scope": "openid number-verification:verify"], error: "invalid_scope"),
        Case(
            what: "two purposes", changes: ["scope": "openid \(purpose) dpv:Marketing number-verification:verify"],
            error: "invalid_scope"),
        Case(what: "an empty purpose", changes: ["scope": "openid dpv: sim-swap:check"], error: "invalid_scope"),
        Case(what: "an unknown scope", changes: ["scope": "openid \(purpose) everything"], error: "invalid_scope"),
        Case(what: "interaction", changes: ["prompt": "login"], error: "invalid_request"),
        Case(what: "a request object that is none", changes: ["request": "x.y.z"], error: "invalid_request_object"),
        Case(what: "a dpop_jkt that is none", changes: ["dpop_jkt": "x"], error: "invalid_request"),
    ]

    @Test("Requests that break a rule are refused, and the client learns it", arguments: refusals)
    func refused(_ row: Case) async throws {
        let response = try await operators.authorize(changing: row.changes)
        #expect(response.status == .found)
        let query = try response.destination().query
        #expect(query["error"] == row.error)
        #expect(query["code"] == nil)
        #expect(query["state"] == "s&1")
        #expect(query["iss"] == OperatorHarness.issuer)
    }

    @Test("Without a trusted client and redirect URI there is no redirect")
    func untrusted() async throws {
        for changes in [["client_id": "nobody"], ["redirect_uri": "https://evil.example/back"]] {
            let response = try await operators.authorize(changing: changes)
            #expect(response.status == .badRequest)
            #expect(response.headers[.location] == nil)
        }
        let twice = Forms.encode(operators.authorizationQuery() + [("state", "2")])
        let response = try await operators.carriers.get("/operators/northwind/authorize?\(twice)")
        #expect(try response.destination().query["error"] == "invalid_request")
    }

    @Test("A client that is not registered for private_key_jwt is refused")
    func otherClient() async throws {
        let query = try await operators.authorize(
            changing: ["client_id": "other", "redirect_uri": "https://other.example/back"]
        ).destination().query
        #expect(query["error"] == "unauthorized_client")
    }

    @Test("acr_values, login_hint and an absent prompt are no error")
    func ignored() async throws {
        let query = try await operators.authorize(
            changing: ["acr_values": "a9", "login_hint": "tel:+12025550187", "prompt": nil]
        ).destination().query
        #expect(query["code"] != nil)
    }

    // MARK: Signed authentication requests

    private func object(_ changes: [String: String?] = [:]) throws -> String {
        try operators.jwt(
            [
                "iss": #""shop""#, "aud": "\"\(OperatorHarness.issuer)/authorize\"",
                "iat": "\(OperatorHarness.start)", "exp": "\(OperatorHarness.start + 300)", "jti": #""r-1""#,
                "client_id": #""shop""#, "redirect_uri": "\"\(Harness.redirectURI)\"", "response_type": #""code""#,
                "scope": "\"\(OperatorHarness.scope)\"", "state": #""inside""#, "prompt": #""none""#,
                "code_challenge": "\"\(Harness.challenge)\"", "code_challenge_method": #""S256""#,
            ], changing: changes, key: Harness.signingKey)
    }

    @Test("Of a signed request only the object counts")
    func signed() async throws {
        let query = try await operators.authorize(
            changing: ["request": try object(), "code_challenge": "another"]
        ).destination().query
        #expect(query["code"] != nil)
        #expect(query["state"] == "inside")
        let byIssuer = try object(["aud": "\"\(OperatorHarness.issuer)\""])
        #expect(try await operators.authorize(changing: ["request": byIssuer]).destination().query["code"] != nil)
    }

    static let objectDefects: [(what: String, changes: [String: String?])] = [
        ("no iss", ["iss": nil]), ("no aud", ["aud": nil]), ("no iat", ["iat": nil]), ("no exp", ["exp": nil]),
        ("no jti", ["jti": nil]), ("another aud", ["aud": #""https://elsewhere.example""#]),
        ("longer than 300 seconds", ["exp": "\(OperatorHarness.start + 301)"]),
        ("issued in the future", ["iat": "\(OperatorHarness.start + 90)"]), ("a sub", ["sub": #""shop""#]),
        ("another scope", ["scope": #""openid dpv:Marketing sim-swap:check""#]),
        ("no redirect_uri", ["redirect_uri": nil]), ("another client", ["client_id": #""other""#]),
    ]

    @Test("A request object that breaks a rule of the profile is refused", arguments: objectDefects.map(\.what))
    func badObject(_ what: String) async throws {
        let changes = try Self.objectDefects.first { $0.what == what }.required.changes
        let query = try await operators.authorize(changing: ["request": try object(changes)]).destination().query
        #expect(query["error"] == "invalid_request_object")
    }

    @Test("An operator that requires signed requests refuses others")
    func requiredObject() async throws {
        operators.simulator.setFaults([.requestObjectRequired], for: "northwind")
        #expect(try await operators.authorize().destination().query["error"] == "invalid_request")
        #expect(try await operators.authorize(changing: ["request": try object()]).destination().query["code"] != nil)
    }
}
