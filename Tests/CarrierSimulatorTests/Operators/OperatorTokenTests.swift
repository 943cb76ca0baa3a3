import CarrierSimulator
import Crypto
import HTTPServer
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("An operator's token endpoint")
struct OperatorTokenTests {
    let operators = OperatorHarness()

    typealias Change = (what: String, changes: [String: String?])
    private static let start = OperatorHarness.start

    // MARK: Client authentication

    static let assertionDefects: [Change] = [
        ("the issuer as audience", ["aud": "\"\(OperatorHarness.issuer)\""]),
        ("another operator's endpoint as audience", ["aud": "\"\(OperatorHarness.otherIssuer)/token\""]),
        ("no audience", ["aud": nil]), ("no expiry", ["exp": nil]), ("expired", ["exp": "\(start)"]),
        ("valid for more than 300 seconds", ["exp": "\(start + 301)"]),
        ("300 seconds ahead, issued earlier", ["iat": "\(start - 30)", "exp": "\(start + 290)"]),
        ("issued in the future", ["iat": "\(start + 61)"]), ("no jti", ["jti": nil]),
        ("another issuer", ["iss": #""other""#]), ("an unknown client", ["iss": #""x""#, "sub": #""x""#]),
    ]

    @Test("An assertion that breaks a rule of the profile is refused", arguments: assertionDefects.map(\.what))
    func badAssertion(_ what: String) async throws {
        let changes = try Self.assertionDefects.first { $0.what == what }.required.changes
        let response = try await operators.redeem(
            try await operators.code(),
            changing: [
                "client_assertion": try operators.assertion(changing: changes),
                "client_assertion_type": OperatorHarness.assertionType,
            ])
        #expect(try Refused(response) == Refused(401, "invalid_client"))
    }

    @Test("Only private_key_jwt authenticates a client, with its own key and a fresh jti")
    func authentication() async throws {
        let none: [String: String?] = ["client_assertion": nil, "client_id": "shop"]
        #expect(
            try Refused(try await operators.redeem(try await operators.code(), changing: none))
                == Refused(401, "invalid_client"))
        let secret = none.merging(["client_secret": Harness.secret]) { $1 }
        #expect(
            try Refused(try await operators.redeem(try await operators.code(), changing: secret))
                == Refused(401, "invalid_client"))
        let stranger: [String: String?] = [
            "client_assertion": try operators.assertion(key: P256.Signing.PrivateKey()),
            "client_assertion_type": OperatorHarness.assertionType,
        ]
        #expect(
            try Refused(try await operators.redeem(try await operators.code(), changing: stranger))
                == Refused(401, "invalid_client"))
        let once: [String: String?] = [
            "client_assertion": try operators.assertion(), "client_assertion_type": OperatorHarness.assertionType,
        ]
        #expect(try await operators.redeem(try await operators.code(), changing: once).status == .ok)
        #expect(
            try Refused(try await operators.redeem(try await operators.code(), changing: once))
                == Refused(401, "invalid_client"))
    }

    // MARK: Codes

    static let codeDefects: [(what: String, changes: [String: String?], refused: Refused)] = [
        ("no verifier", ["code_verifier": nil], Refused(400, "invalid_request")),
        ("another verifier", ["code_verifier": String(repeating: "v", count: 43)], Refused(400, "invalid_grant")),
        ("another redirect URI", ["redirect_uri": "com.example.shop:/back"], Refused(400, "invalid_grant")),
        ("an unknown code", ["code": "x"], Refused(400, "invalid_grant")),
        ("an unknown grant type", ["grant_type": "password"], Refused(400, "unsupported_grant_type")),
        ("a refresh", ["grant_type": "refresh_token"], Refused(400, "unsupported_grant_type")),
    ]

    @Test("Token requests that break a rule are refused", arguments: codeDefects.map(\.what))
    func badCode(_ what: String) async throws {
        let row = try Self.codeDefects.first { $0.what == what }.required
        let response = try await operators.redeem(try await operators.code(), changing: row.changes)
        #expect(try Refused(response) == row.refused)
    }

    @Test("A code is good once, at its operator; a second use revokes its token")
    func codeOnce() async throws {
        let code = try await operators.code()
        let token = try await operators.redeem(code).object()["access_token"]?.string
        #expect(try Refused(try await operators.redeem(code)) == Refused(400, "invalid_grant"))
        #expect(try Refused(try await operators.share(token)) == Refused(401, "UNAUTHENTICATED"))
        let other = try await operators.redeem(try await operators.code(), at: "harbor")
        #expect(try Refused(other) == Refused(400, "invalid_grant"))
    }

    @Test("Without openid there is no ID token")
    func noOpenID() async throws {
        let scope = "dpv:FraudPreventionAndDetection number-verification:verify"
        let tokens = try await operators.redeem(try await operators.code(scope: scope)).object()
        #expect(tokens["id_token"] == nil)
        #expect(tokens["scope"]?.string == scope)
    }

    // MARK: Client credentials

    static let clientScopes: [(scope: String?, refused: Refused)] = [
        (nil, Refused(400, "invalid_scope")), ("sim-swap:check", Refused(400, "invalid_scope")),
        ("dpv:FraudPreventionAndDetection number-verification:verify", Refused(400, "invalid_scope")),
        ("openid dpv:FraudPreventionAndDetection sim-swap:check", Refused(400, "invalid_scope")),
        ("dpv:FraudPreventionAndDetection sim-swap:check", Refused(200, nil)), ("telcofinder", Refused(200, nil)),
    ]

    @Test("A token without a user needs a scope with a purpose, and none that needs a user")
    func clientCredentials() async throws {
        for row in Self.clientScopes {
            let response = try await operators.token(["grant_type": "client_credentials", "scope": row.scope])
            #expect(try Refused(response) == row.refused, "\(row.scope ?? "-")")
            if row.refused.status == 200 { #expect(try response.object()["id_token"] == nil) }
        }
    }

    // MARK: JWT bearer

    private func grant(
        _ assertion: String, _ changes: [String: String?] = [:]
    ) async throws -> Response {
        try await operators.token(
            ["grant_type": OperatorHarness.jwtBearer, "assertion": assertion, "client_assertion": nil]
                .merging(changes) { $1 })
    }

    private func operatorToken(_ user: String? = nil) throws -> String {
        "operatortoken:" + (try operators.simulator.makeOperatorToken(at: "northwind", user: user).required)
    }

    @Test("An operator token signs its subscriber in over any connection, once")
    func jwtBearer() async throws {
        operators.simulator.device = .wifi
        let subject = try operatorToken("ravi")
        let tokens = try await grant(try operators.grantAssertion(subject)).object()
        #expect(tokens["refresh_token"] == nil)
        let idToken = try SignedToken(tokens["id_token"]?.string ?? "")
        #expect(idToken.claims["nonce"] == nil)
        let number = try await operators.share(tokens["access_token"]?.string)
        #expect(try number.object()["devicePhoneNumber"]?.string == "+12025550187")
        #expect(
            try Refused(try await grant(try operators.grantAssertion(subject))) == Refused(400, "invalid_grant"))
    }

    @Test("A digital credential of the wallet signs its subscriber in, once, and at the subscriber's operator alone")
    func digitalCredential() async throws {
        operators.simulator.device = .wifi
        func presentation(of number: String) async throws -> String {
            let request = try JSONValue(parsing: Array(#"{"data":{"nonce":"N-1"}}"#.utf8)).object.required
            let text = try await operators.simulator.presentCredential(
                for: request, to: "https://shop.example", of: number)
            return "vp_token:" + text
        }
        let subject = try await presentation(of: "+12025550187")
        let tokens = try await grant(try operators.grantAssertion(subject)).object()
        let number = try await operators.share(tokens["access_token"]?.string)
        #expect(try number.object()["devicePhoneNumber"]?.string == "+12025550187")
        for refused in [subject, try await presentation(of: "+12025559999"), "vp_token:a~b"] {
            let answer = try await grant(try operators.grantAssertion(refused))
            #expect(try Refused(answer) == Refused(400, "invalid_grant"))
        }
    }

    static let grantDefects: [(what: String, changes: [String: String?], refused: Refused)] = [
        ("the issuer as audience", ["aud": "\"\(OperatorHarness.issuer)\""], Refused(400, "invalid_grant")),
        ("no audience", ["aud": nil], Refused(400, "invalid_grant")),
        ("no issue time", ["iat": nil], Refused(400, "invalid_grant")),
        ("issued in the future", ["iat": "\(start + 61)"], Refused(400, "invalid_grant")),
        ("no expiry", ["exp": nil], Refused(400, "invalid_grant")),
        ("too far ahead", ["exp": "\(start + 301)"], Refused(400, "invalid_grant")),
        ("a lifetime of 301 seconds", ["iat": "\(start - 2)", "exp": "\(start + 299)"], Refused(400, "invalid_grant")),
        ("no jti", ["jti": nil], Refused(400, "invalid_grant")),
        ("no scope", ["scope": nil], Refused(400, "invalid_scope")),
        ("no purpose", ["scope": #""openid number-verification:verify""#], Refused(400, "invalid_scope")),
        ("a bare subject", ["sub": #""+12025550123""#], Refused(400, "invalid_grant")),
        ("an unknown number", ["sub": #""tel:+12025559999""#], Refused(400, "invalid_grant")),
        ("another issuer", ["iss": #""other""#], Refused(401, "invalid_client")),
    ]

    @Test("An assertion that is no valid grant is refused", arguments: grantDefects.map(\.what))
    func badGrant(_ what: String) async throws {
        let row = try Self.grantDefects.first { $0.what == what }.required
        let assertion = try operators.grantAssertion(try operatorToken(), changing: row.changes)
        #expect(try Refused(try await grant(assertion)) == row.refused)
    }

    @Test("A scope beside the assertion, a repeated assertion and an expired operator token are refused")
    func grantRules() async throws {
        let beside = try await grant(
            try operators.grantAssertion(try operatorToken()), ["scope": OperatorHarness.scope])
        #expect(try Refused(beside) == Refused(400, "invalid_request"))
        let assertion = try operators.grantAssertion("tel:+12025550123")
        #expect(try await grant(assertion).status == .ok)
        #expect(try Refused(try await grant(assertion)) == Refused(400, "invalid_grant"))
        let subject = try operatorToken()
        operators.carriers.clock.advance(bySeconds: 300)
        let late: [String: String?] = [
            "iat": "\(Self.start + 300)", "exp": "\(Self.start + 400)",
        ]
        #expect(
            try Refused(try await grant(try operators.grantAssertion(subject, changing: late)))
                == Refused(400, "invalid_grant"))
        operators.simulator.update("northwind") { $0.operatorProfile?.acceptsJWTBearer = false }
        #expect(try Refused(try await grant(assertion)) == Refused(400, "unauthorized_client"))
    }

    @Test("A number that the client names is no authentication by the network")
    func telephone() async throws {
        let tokens = try await grant(try operators.grantAssertion("tel:+12025550123")).object()
        #expect(
            try Refused(try await operators.share(tokens["access_token"]?.string))
                == Refused(403, "NUMBER_VERIFICATION.USER_NOT_AUTHENTICATED_BY_MOBILE_NETWORK"))
    }
}
