import CarrierSimulator
import LatchkeyConfiguration
import Primitives
import Testing

/// What the CAMARA Security and Interoperability Profile r4.2 demands of API consumers.
enum CAMARARequirements {
    static let all: [CAMARAScenario] = general + ofDPoP
    static var checked: [CAMARAScenario] { all.filter { $0.check != nil } }

    private static let general: [CAMARAScenario] = [
        CAMARAScenario(
            id: "Transport Security", what: "all connections use TLS",
            verdict: "an operator without https is refused when the configuration is read",
            check: refusesPlainHTTP),
        CAMARAScenario(
            id: "Signed Authentication Requests", what: "the mandatory parameters are outside, too, and match",
            verdict: "`scope`, `response_type`, `client_id` and `redirect_uri` have the same values in both places",
            check: repeatsTheMandatoryParametersOutside),
        CAMARAScenario(
            id: "Signed Authentication Requests", what: "the object has `iss`, `aud`, `iat`, `exp` and `jti`",
            verdict: "it has them, is valid for at most 300 seconds, and has no `sub`",
            check: requestObjectHasItsClaims),
        CAMARAScenario(
            id: "Cross-Site Request Forgery Protection", what: "CSRF protection is required, by PKCE",
            verdict: "every authorization request has a challenge, `state` and `nonce` of its own",
            check: everyRequestHasValuesOfItsOwn),
        CAMARAScenario(
            id: "CIBA: Authentication Request", what: "`login_hint` is required, and the only hint",
            verdict: "sends `login_hint` alone, with `operatortoken:` before the token, and authenticates",
            check: sendsLoginHintAlone),
        CAMARAScenario(
            id: "Refresh Token Usage", what: "other flows must not use refresh tokens",
            verdict: "neither asks for a refresh token nor uses one", simSwap: "{if_swapped: report}",
            check: usesNoRefreshTokens),
        CAMARAScenario(
            id: "Access Token Request", what: "client credentials need a scope",
            verdict: "sends the scope of the one API that it calls, and the purpose", simSwap: "{if_swapped: report}",
            check: clientCredentialsHaveAScope),
        CAMARAScenario(
            id: "JWT Bearer Flow", what: "no `scope` parameter, but a `scope` claim",
            verdict: "the scope is in the assertion only, with one purpose", check: scopeIsInTheAssertionOnly),
        CAMARAScenario(
            id: "JWT Bearer Flow", what: "the claims of the assertion",
            verdict: "`iss` is the client, `sub` the operator token, `aud` the endpoint; 300 seconds; fresh `jti`",
            check: assertionHasItsClaims),
        CAMARAScenario(
            id: "Handling of acr_values", what: "consumers should not use `acr_values`",
            verdict: "sends none", check: sendsNoACRValues),
        CAMARAScenario(
            id: "Missing openid scope", what: "consumers should send `openid`",
            verdict: "sends it where a user is authenticated", check: sendsOpenID),
        CAMARAScenario(
            id: "Purpose as a scope", what: "there is exactly one purpose, `dpv:` and its name",
            verdict: "every request has the configured purpose once; others are refused in the configuration",
            simSwap: "{if_swapped: report}", check: sendsOnePurpose),
        CAMARAScenario(
            id: "Client Authentication", what: "`private_key_jwt`, for at most 300 seconds",
            verdict: "every token request has a fresh assertion for its endpoint, for at most 300 seconds",
            simSwap: "{if_swapped: report}", check: authenticatesByFreshAssertions),
        CAMARAScenario(
            id: "Appendix A", what: "`consent_required`", verdict: "refuses the sign-in with `consent_required`",
            check: tellsThatConsentIsRequired),
        CAMARAScenario(
            id: "Appendix A", what: "CIBA: `access_denied`, `expired_token`",
            verdict: "ends the sign-in, and polls no more", check: pollsNoMoreAfterARefusal),
        CAMARAScenario(
            id: "Appendix A", what: "CIBA: `slow_down`", verdict: "waits 5 seconds longer before every further poll",
            otherTest: "LatchkeyAPITests/OperatorTokenTests.backchannel"),
        CAMARAScenario(
            id: "Appendix A", what: "CIBA: `invalid_request`", verdict: "ends the sign-in, and polls no more",
            otherTest: "LatchkeyAPITests/OperatorTokenTests.ended"),
    ]
}

/// What shows them.
extension CAMARARequirements {
    @Sendable fileprivate static func refusesPlainHTTP(_: NumberWalk) async throws {
        _ = try NumberWalk.configuration(nil)
        #expect(throws: (any Error).self) { try NumberWalk.configuration(nil, allowsHTTP: false) }
    }

    @Sendable fileprivate static func repeatsTheMandatoryParametersOutside(_ walk: NumberWalk) async throws {
        walk.set([.requestObjectRequired])
        #expect(try await walk.signIn().result == "success")
        let request = try walk.last(.authorization)
        let claims = try NumberWalk.claims(request["request"])
        for name in ["scope", "response_type", "client_id", "redirect_uri"] {
            #expect(request[name] != nil)
            #expect(claims[name]?.string == request[name], "\(name)")
        }
    }

    @Sendable fileprivate static func requestObjectHasItsClaims(_ walk: NumberWalk) async throws {
        walk.set([.requestObjectRequired])
        #expect(try await walk.signIn().result == "success")
        let claims = try NumberWalk.claims(try walk.last(.authorization)["request"])
        #expect(claims["iss"]?.string == SignInHarness.clientID)
        let issuer = walk.simulator.issuer(of: "northwind") ?? ""
        #expect([issuer, issuer + "/authorize"].contains(claims["aud"]?.string))
        #expect(NumberWalk.lifetime(of: claims) <= 300)
        #expect(claims["jti"]?.string?.isEmpty == false)
        #expect(claims["sub"] == nil)
    }

    @Sendable fileprivate static func everyRequestHasValuesOfItsOwn(_ walk: NumberWalk) async throws {
        for _ in 0..<2 { #expect(try await walk.signIn().result == "success") }
        let requests = walk.all(.authorization)
        #expect(requests.count == 2)
        #expect(requests.allSatisfy { $0["code_challenge_method"] == "S256" })
        for name in ["code_challenge", "state", "nonce"] {
            #expect(Set(requests.map { $0[name] }).count == 2 && requests[0][name] != nil, "\(name)")
        }
    }

    @Sendable fileprivate static func sendsLoginHintAlone(_ walk: NumberWalk) async throws {
        walk.simulator.update("northwind") { $0.operatorProfile?.acceptsJWTBearer = false }
        #expect(try await walk.signInByToken(of: "ravi").result == "success")
        let request = try walk.last(.backchannelAuthentication)
        // A signed request has its parameters inside.
        let claims = request["request"] == nil ? nil : try NumberWalk.claims(request["request"])
        let hint = claims?["login_hint"]?.string ?? request["login_hint"]
        #expect(hint?.hasPrefix("operatortoken:") == true)
        for name in ["login_hint_token", "id_token_hint"] {
            #expect(request[name] == nil && claims?[name] == nil, "\(name)")
        }
        #expect(request["client_assertion"] != nil)
    }

    @Sendable fileprivate static func usesNoRefreshTokens(_ walk: NumberWalk) async throws {
        #expect(try await walk.signIn().result == "success")
        #expect(try await walk.signInByToken().result == "success")
        #expect(walk.all(.token).allSatisfy { $0["grant_type"] != "refresh_token" })
        #expect(walk.all(.authorization).allSatisfy { !($0["scope"] ?? "").contains("offline_access") })
    }

    @Sendable fileprivate static func clientCredentialsHaveAScope(_ walk: NumberWalk) async throws {
        #expect(try await walk.signIn().result == "success")
        let request = try walk.last(.token)
        #expect(request["grant_type"] == "client_credentials")
        let scopes = Set((request["scope"] ?? "").split(separator: " ").map(String.init))
        #expect(scopes == ["dpv:FraudPreventionAndDetection", "sim-swap:check"])
    }

    @Sendable fileprivate static func scopeIsInTheAssertionOnly(_ walk: NumberWalk) async throws {
        #expect(try await walk.signInByToken().result == "success")
        let request = try walk.last(.token)
        #expect(request["scope"] == nil)
        let scope = try NumberWalk.claims(request["assertion"])["scope"]?.string ?? ""
        #expect(scope.split(separator: " ").count { $0.hasPrefix("dpv:") } == 1)
        #expect(scope.contains("number-verification:device-phone-number:read"))
    }

    @Sendable fileprivate static func assertionHasItsClaims(_ walk: NumberWalk) async throws {
        for _ in 0..<2 { #expect(try await walk.signInByToken().result == "success") }
        let all = try walk.all(.token).map { try NumberWalk.claims($0["assertion"]) }
        for claims in all {
            #expect(claims["iss"]?.string == SignInHarness.clientID)
            #expect(claims["sub"]?.string?.hasPrefix("operatortoken:") == true)
            #expect(claims["aud"]?.string == (walk.simulator.issuer(of: "northwind") ?? "") + "/token")
            #expect(NumberWalk.lifetime(of: claims) <= 300)
        }
        #expect(Set(all.map { $0["jti"]?.string }).count == 2)
    }

    @Sendable fileprivate static func sendsNoACRValues(_ walk: NumberWalk) async throws {
        #expect(try await walk.signIn().result == "success")
        #expect(try walk.last(.authorization)["acr_values"] == nil)
    }

    @Sendable fileprivate static func sendsOpenID(_ walk: NumberWalk) async throws {
        #expect(try await walk.signIn().result == "success")
        #expect(try walk.last(.authorization)["scope"]?.hasPrefix("openid ") == true)
    }

    @Sendable fileprivate static func sendsOnePurpose(_ walk: NumberWalk) async throws {
        #expect(try await walk.signIn().result == "success")
        let scopes = [try walk.last(.authorization)["scope"], try walk.last(.token)["scope"]]
        for scope in scopes {
            let purposes = (scope ?? "").split(separator: " ").filter { $0.hasPrefix("dpv:") }
            #expect(purposes == ["dpv:FraudPreventionAndDetection"])
        }
    }

    @Sendable fileprivate static func authenticatesByFreshAssertions(_ walk: NumberWalk) async throws {
        for _ in 0..<2 { #expect(try await walk.signIn().result == "success") }
        let requests = walk.all(.token)
        #expect(requests.count == 4)
        let all = try requests.map { try NumberWalk.claims($0["client_assertion"]) }
        for claims in all {
            #expect(claims["aud"]?.string == (walk.simulator.issuer(of: "northwind") ?? "") + "/token")
            #expect(NumberWalk.lifetime(of: claims) <= 300)
        }
        #expect(Set(all.map { $0["jti"]?.string }).count == 4)
        #expect(requests.allSatisfy { $0["client_secret"] == nil && $0.authorization == nil })
    }

    @Sendable fileprivate static func tellsThatConsentIsRequired(_ walk: NumberWalk) async throws {
        walk.set([.operatorConsentRequired])
        #expect(try await walk.signIn().result == "consent_required")
        #expect(walk.count(.token) == 0)
    }

    @Sendable fileprivate static func pollsNoMoreAfterARefusal(_ walk: NumberWalk) async throws {
        walk.simulator.update("northwind") { $0.operatorProfile?.acceptsJWTBearer = false }
        for fault: CarrierSimulator.Fault in [.operatorBackchannelDenied, .operatorBackchannelExpired] {
            walk.set([fault])
            let before = walk.count(.token)
            let end = try await walk.signInByToken()
            #expect(end.token == nil)
            #expect(end.result != "success")
            #expect(walk.count(.token) == before + 1)
        }
    }
}
