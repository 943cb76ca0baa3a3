import BoundTokens
import Crypto
import HTTPTypes
import OpenIDConnect
import Primitives
import Services
import StorageModel
import TestSupport
import Testing

@testable import SignIn

/// Session tokens that are bound to a key of their app (DPoP, RFC 9449; docs/sessions.md).
@Suite("A session token that is bound to a key", .serialized)
struct BoundTokenTests {
    @Test("is given to an app that proves a key, and is good with a proof for it", arguments: [false, true])
    func form(isJWT: Bool) async throws {
        let app = try TestApp.withKeys(.optional, isJWT: isJWT)
        let key = AppKey()
        let answer = try await app.signIn(with: key)
        #expect(answer.status == 200 && answer.text("token_type") == "DPoP")
        let tokens = try #require(Tokens(answer))
        if isJWT {
            #expect(try JWT(tokens.token).claims["cnf"]?.object?["jkt"]?.string == key.thumbprint)
        } else {
            #expect(tokens.token.hasPrefix(key.thumbprint + "~"))
        }
        #expect(try await app.me(tokens.token, key).status == 200)
        let path = "/users/me/sessions"
        #expect(try await app.asUser(.get, path + "?x=1", tokens.token, key, path: path).status == 200)
        let known = try await app.form("/auth/introspect", "token=\(tokens.token)")
        #expect(known.text("token_type") == "DPoP")
        #expect(known.json?["cnf"]?.object?["jkt"]?.string == key.thumbprint)
        let refreshed = try await app.form(
            "/auth/introspect", "token=\(tokens.refreshToken)&token_type_hint=refresh_token")
        #expect(refreshed.json?["cnf"]?.object?["jkt"]?.string == key.thumbprint)
        let metadata = try await app.send(.get, "/.well-known/oauth-authorization-server", apiKey: nil)
        #expect(metadata.json?["dpop_signing_alg_values_supported"]?.array?.compactMap(\.string) == ["ES256"])
        #expect(try await app.form("/auth/revoke", "token=\(tokens.token)").status == 200)
        #expect(try await app.me(tokens.token, key).error == "invalid_token")
    }

    /// What an attacker or a faulty app sends with a session token; all of it is refused.
    private static let proofs: [(name: String, change: @Sendable (inout ProofDraft) -> Void)] = [
        (
            "a foreign key",
            {
                $0.signer = AppKey()
                $0.header["jwk"] = $0.signer.jwk
            }
        ),
        ("the key of another in the header", { $0.signer = AppKey() }),
        ("another method", { $0.claims["htm"] = #""POST""# }),
        ("a method in lower case", { $0.claims["htm"] = #""get""# }),
        ("another path", { $0.claims["htu"] = #""https://login.example/base/users/you""# }),
        ("another host", { $0.claims["htu"] = #""https://evil.example/base/users/me""# }),
        ("another scheme", { $0.claims["htu"] = #""http://login.example/base/users/me""# }),
        ("another port", { $0.claims["htu"] = #""https://login.example:8443/base/users/me""# }),
        ("the path without its base", { $0.claims["htu"] = #""https://login.example/users/me""# }),
        ("no htu", { $0.claims["htu"] = nil }), ("no htm", { $0.claims["htm"] = nil }),
        ("no iat", { $0.claims["iat"] = nil }), ("no jti", { $0.claims["jti"] = nil }),
        ("an empty jti", { $0.claims["jti"] = #""""# }),
        ("an iat that is a text", { $0.claims["iat"] = #""\#($0.claims["iat"] ?? "")""# }),
        ("an old iat", { $0.claims["iat"] = String((Int64($0.claims["iat"] ?? "") ?? 0) - 121) }),
        ("a future iat", { $0.claims["iat"] = String((Int64($0.claims["iat"] ?? "") ?? 0) + 121) }),
        ("an iat that no clock shows", { $0.claims["iat"] = String(Int64.max) }),
        ("no ath", { $0.claims["ath"] = nil }),
        ("the ath of another token", { $0.claims["ath"] = #""\#(AppKey.hash("another"))""# }),
        ("the token itself as ath", { $0.claims["ath"] = #""token""# }),
        (
            "alg none",
            {
                $0.header["alg"] = #""none""#
                $0.signature = []
            }
        ),
        (
            "alg HS256",
            { draft in
                draft.header["alg"] = #""HS256""#
                draft.signature = Array(SHA256.hash(data: [1]))
            }
        ),
        ("alg RS256", { $0.header["alg"] = #""RS256""# }), ("alg ES384", { $0.header["alg"] = #""ES384""# }),
        ("no alg", { $0.header["alg"] = nil }), ("another typ", { $0.header["typ"] = #""JWT""# }),
        ("the typ of session tokens", { $0.header["typ"] = #""at+jwt""# }), ("no typ", { $0.header["typ"] = nil }),
        ("no jwk", { $0.header["jwk"] = nil }), ("the private key", { $0.header["jwk"] = $0.signer.privateJWK }),
        ("a critical header", { $0.header["crit"] = #"["b64"]"# }),
        ("a key that is no point", { $0.header["jwk"] = #"{"crv":"P-256","kty":"EC","x":"AAAA","y":"AAAA"}"# }),
        ("a symmetric key", { $0.header["jwk"] = #"{"kty":"oct","k":"AAAA"}"# }),
        ("no signature", { $0.signature = [] }),
        ("a wrong signature", { $0.signature = [UInt8](repeating: 1, count: 64) }),
        ("more bytes than a proof has", { $0.claims["x"] = "\"" + String(repeating: "x", count: 4096) + "\"" }),
    ]

    @Test("is refused with a proof that does not hold", arguments: proofs.indices)
    func refused(_ index: Int) async throws {
        let (name, change) = Self.proofs[index]
        let app = try TestApp.withKeys(.optional)
        let key = AppKey()
        let token = try await app.token(of: key)
        var draft = ProofDraft(.get, "/users/me", by: key, for: token, at: app.clock.now)
        change(&draft)
        let answer = try await app.send(
            .get, "/users/me", [.authorization: "DPoP \(token)", .dpop: try draft.text])
        #expect(answer.status == 401 && answer.error == "invalid_dpop_proof", "\(name): \(answer.body)")
        #expect(answer.headers[.wwwAuthenticate] == #"DPoP error="invalid_dpop_proof", algs="ES256""#)
        #expect(try await app.me(token, key).status == 200)
    }

    @Test(
        "is good with a proof that says the same in another way",
        arguments: [
            "https://login.example:443/base/users/me", "HTTPS://LOGIN.example/base/users/me",
            "https://login.example/base/users/me?x=1", "https://login.example/base/users/me#x",
            "https://login.example/base/users/%6De",
        ])
    func written(_ url: String) async throws {
        let app = try TestApp.withKeys(.optional)
        let key = AppKey()
        let token = try await app.token(of: key)
        var draft = ProofDraft(.get, "/users/me", by: key, for: token, at: app.clock.now.advanced(bySeconds: -120))
        draft.claims["htu"] = "\"\(url)\""
        let headers: HTTPFields = [.authorization: "dpop \(token)", .dpop: try draft.text]
        #expect(try await app.send(.get, "/users/me", headers).status == 200)
        let again = try await app.send(.get, "/users/me", headers)
        #expect(again.error == "invalid_dpop_proof" && again.description.contains("used before"))
    }

    @Test("is nothing without its proof, in any place")
    func elsewhere() async throws {
        let app = try TestApp.withKeys(.optional, isJWT: false)
        let key = AppKey()
        let tokens = try await app.tokens(of: key)
        let token = tokens.token
        func proof() throws -> String { try ProofDraft(.get, "/users/me", by: key, for: token, at: app.clock.now).text }
        let bare = String(token.dropFirst(key.thumbprint.utf8.count + 1))
        let other = AppKey()
        let rows: [(String, HTTPFields)] = try [
            ("Bearer", [.authorization: "Bearer \(token)"]),
            ("Bearer with a proof", [.authorization: "Bearer \(token)", .dpop: proof()]),
            ("Bearer without the key", [.authorization: "Bearer \(bare)"]),
            ("DPoP without a proof", [.authorization: "DPoP \(token)"]),
            ("the refresh token", [.authorization: "Bearer \(tokens.refreshToken)"]),
            ("the proof as the token", [.authorization: "Bearer \(proof())"]),
            ("the token as the proof", [.authorization: "DPoP \(token)", .dpop: token]),
            ("two proofs", [.authorization: "DPoP \(token)", .dpop: proof(), .dpop: proof()]),
            ("a cookie", [.cookie: "__Host-latchkey_session=\(token)"]),
            ("a cookie with a proof", [.cookie: "__Host-latchkey_session=\(token)", .dpop: proof()]),
            ("a cookie without the key", [.cookie: "__Host-latchkey_session=\(bare)"]),
            (
                "another key in front, with its proof",
                [
                    .authorization: "DPoP \(other.thumbprint)~\(bare)",
                    .dpop: ProofDraft(
                        .get, "/users/me", by: other, for: "\(other.thumbprint)~\(bare)", at: app.clock.now
                    ).text,
                ]
            ),
            (
                "no key in front",
                [
                    .authorization: "DPoP \(bare)",
                    .dpop: ProofDraft(.get, "/users/me", by: key, for: "other", at: app.clock.now).text,
                ]
            ),
        ]
        for (name, headers) in rows {
            let answer = try await app.send(.get, "/users/me", headers)
            #expect(answer.status == 401, "\(name): \(answer.body)")
        }
        let verified = try await app.send(.get, "/auth/verify", [.authorization: "Bearer \(token)"])
        #expect(verified.status == 401)
        let proved = try await app.send(.get, "/auth/verify", [.authorization: "DPoP \(token)", .dpop: proof()])
        #expect(proved.status == 401)
        #expect(try await app.me(token, key).status == 200)
    }

    @Test("of the form JWT is nothing as a bearer token")
    func jwtAsBearer() async throws {
        let app = try TestApp.withKeys(.optional, isJWT: true)
        let (key, other) = (AppKey(), AppKey())
        let token = try await app.token(of: key)
        #expect(try await app.me(token).error == "invalid_token")
        #expect(try await app.me(token, other).error == "invalid_token")
        #expect(try await app.send(.get, "/auth/verify", [.authorization: "Bearer \(token)"]).status == 401)
        let unbound = try await app.token(SignInBody().code("CODE-2"))
        #expect(try await app.me(unbound).status == 200)
        #expect(try await app.me(unbound, key).error == "invalid_token")
        #expect(try await app.me(token, key).status == 200)
    }

    /// What is wrong with the proof of a request that begins or renews a session.
    private static let faults: [(name: String, change: @Sendable (inout ProofDraft) -> Void)] = [
        ("another path", { $0.claims["htu"] = #""https://login.example/base/auth/revoke""# }),
        ("an old iat", { $0.claims["iat"] = String((Int64($0.claims["iat"] ?? "") ?? 0) - 121) }),
        ("the private key", { $0.header["jwk"] = $0.signer.privateJWK }),
        ("a wrong signature", { $0.signature = [UInt8](repeating: 1, count: 64) }),
    ]

    @Test("is not given for a proof that does not hold, and the code stays good", arguments: faults.indices)
    func signInRefused(_ index: Int) async throws {
        let app = try TestApp.withKeys(.optional)
        let key = AppKey()
        let answer = try await app.signIn(with: key, changing: Self.faults[index].change)
        #expect(answer.status == 400 && answer.error == "invalid_dpop_proof", "\(answer.body)")
        #expect(app.carrier.tokenPosts == 0)
        #expect(try await app.signIn(with: key).text("token_type") == "DPoP")
    }

    @Test("is not needed where the client has none: a proof is ignored then")
    func off() async throws {
        let app = try TestApp.withKeys(.off)
        let answer = try await app.signIn(with: AppKey())
        #expect(answer.text("token_type") == "bearer")
        let tokens = try #require(Tokens(answer))
        #expect(try await app.me(tokens.token).status == 200)
        #expect(try await app.refresh(tokens.refreshToken, with: AppKey()).text("token_type") == "bearer")
    }

    @Test(
        "is optional: an app without a key gets a bearer token, and binds it with a refresh",
        arguments: LostAnswerTests.Engine.allCases)
    func upgrade(_ engine: LostAnswerTests.Engine) async throws {
        let app = try TestApp.withKeys(.optional, store: engine.store())
        let key = AppKey()
        let tokens = try await app.tokens()
        #expect(try await app.me(tokens.token).status == 200)
        let bound = try #require(Tokens(try await app.refresh(tokens.refreshToken, with: key)))
        #expect(bound.token.hasPrefix(key.thumbprint))
        // The answer was lost.
        for instance in [app, try TestApp.withKeys(.optional, beside: app)] {
            #expect(Tokens(try await instance.refresh(tokens.refreshToken, with: key)) == bound)
            #expect(try await instance.me(bound.token, key).status == 200)
            let replaced = try await instance.form(
                "/auth/introspect", "token=\(tokens.refreshToken)&token_type_hint=refresh_token")
            #expect(replaced.body == #"{"active":false}"#)
        }
        // The answer to the introspection has ended nothing.
        #expect(try await app.refresh(bound.refreshToken, with: key).status == 200)
    }

    @Test("is refused without its key once no client has any, and its session goes on if one has again")
    func offForAll() async throws {
        let before = try TestApp.withKeys(.optional)
        let key = AppKey()
        let tokens = try await before.tokens(of: key)
        let app = try TestApp.withKeys(.off, beside: before)
        let answer = try await app.refresh(tokens.refreshToken)
        #expect(answer.status == 401 && answer.error == "invalid_grant", "\(answer.body)")
        let after = try TestApp.withKeys(.optional, beside: app)
        #expect(try await after.refresh(tokens.refreshToken, with: key).status == 200)
    }

    @Test(
        "ends the session if the refresh token that it replaced is shown without its key, or with another one",
        arguments: LostAnswerTests.Engine.allCases, [true, false])
    func stolen(_ engine: LostAnswerTests.Engine, hasKey: Bool) async throws {
        let app = try TestApp.withKeys(.optional, store: engine.store())
        let tokens = try await app.tokens()
        // One of the two is a thief.
        let key = AppKey()
        let bound = try #require(Tokens(try await app.refresh(tokens.refreshToken, with: key)))
        let second =
            try await hasKey
            ? app.refresh(tokens.refreshToken, with: AppKey()) : app.refresh(tokens.refreshToken)
        #expect(second.error == "invalid_grant")
        #expect(try await app.me(bound.token, key).error == "invalid_token")
        #expect(try await app.refresh(bound.refreshToken, with: key).error == "invalid_grant")
    }

    @Test("refreshes with its key only, at any instance", arguments: LostAnswerTests.Engine.allCases)
    func refresh(_ engine: LostAnswerTests.Engine) async throws {
        let app = try TestApp.withKeys(.optional, store: engine.store())
        let second = try TestApp.withKeys(.optional, beside: app)
        let (key, other) = (AppKey(), AppKey())
        let tokens = try await app.tokens(of: key)
        let bare = String(tokens.refreshToken.dropFirst(key.thumbprint.utf8.count + 1))
        for instance in [app, second] {
            #expect(try await instance.refresh(tokens.refreshToken).error == "invalid_dpop_proof")
            #expect(try await instance.refresh(tokens.refreshToken, with: other).error == "invalid_dpop_proof")
            #expect(try await instance.me(tokens.token, key).status == 200)
        }
        let draft = ProofDraft(.post, "/auth/token", by: key, at: app.clock.now)
        let renewed = try #require(Tokens(try await app.refresh(tokens.refreshToken, [.dpop: try draft.text])))
        #expect(renewed.token.hasPrefix(key.thumbprint) && renewed.refreshToken.hasPrefix(key.thumbprint))
        // The answer was lost; the same proof counts once, wherever it is sent.
        for instance in [app, second] {
            let replayed = try await instance.refresh(tokens.refreshToken, [.dpop: try draft.text])
            #expect(replayed.status == 400 && replayed.error == "invalid_dpop_proof")
            #expect(try await instance.refresh(tokens.refreshToken).error == "invalid_dpop_proof")
            #expect(try await instance.refresh(tokens.refreshToken, with: other).error == "invalid_dpop_proof")
            #expect(Tokens(try await instance.refresh(tokens.refreshToken, with: key)) == renewed)
            #expect(try await instance.me(renewed.token, key).status == 200)
        }
        // A copy that was used shows that there is a thief, as for every session.
        _ = try #require(Tokens(try await app.refresh(renewed.refreshToken, with: key)))
        #expect(try await app.refresh(tokens.refreshToken, with: key).error == "invalid_grant")
        #expect(try await app.me(renewed.token, key).error == "invalid_token")
        #expect(try await app.refresh(bare, with: key).error == "invalid_grant")
    }

    @Test(
        "is given again for a sign-in whose answer was lost, and with another key nothing is",
        arguments: LostAnswerTests.Engine.allCases)
    func lostSignIn(_ engine: LostAnswerTests.Engine) async throws {
        let app = try TestApp.withKeys(.optional, store: engine.store())
        let key = AppKey()
        let first = try await app.tokens(of: key)
        // A provider redeems a code once.
        app.carrier.script {
            $0.token = { _ throws(OutboundError) in .json(#"{"error":"invalid_grant"}"#, status: 400) }
        }
        let stolen = try await app.signIn(with: AppKey())
        #expect(stolen.status == 401 && Tokens(stolen) == nil, "\(stolen.body)")
        #expect(app.carrier.tokenPosts == 2)
        let again = try await app.tokens(of: key)
        #expect(again.token.hasPrefix(key.thumbprint))
        for tokens in [first, again] { #expect(try await app.me(tokens.token, key).status == 200) }
    }

    @Test("is given again for a registration whose answer was lost", arguments: LostAnswerTests.Engine.allCases)
    func lostRegistration(_ engine: LostAnswerTests.Engine) async throws {
        var rules = TestRegistration()
        rules.isRequired = true
        let app = try TestApp.withKeys(.optional, store: engine.store(), registration: rules)
        let key = AppKey()
        let handle = try #require(try await app.signIn(with: key).text("state_key"))
        func register(_ app: TestApp, _ key: AppKey) async throws -> Answer {
            let proof = try ProofDraft(.post, "/users", by: key, at: app.clock.now).text
            let type = "application/x-www-form-urlencoded"
            return try await app.send(
                .post, "/users", [.contentType: type, .dpop: proof], body: "state_key=\(handle)")
        }
        let first = try #require(Tokens(try await register(app, key)))
        for instance in [app, try TestApp.withKeys(.optional, beside: app, registration: rules)] {
            #expect(try await register(instance, AppKey()).status == 401)
            #expect(Tokens(try await register(instance, key)) == first)
            #expect(try await instance.me(first.token, key).status == 200)
        }
    }

    @Test("is given again for an exchange whose answer was lost", arguments: LostAnswerTests.Engine.allCases)
    func lostExchange(_ engine: LostAnswerTests.Engine) async throws {
        let app = try TestApp.withKeys(.optional, store: engine.store())
        let key = AppKey()
        let challenge = try #require(CodeVerifier(SignInBody.verifier)).challenge
        let started = try await app.send(
            .get,
            "/auth/zenkey/start?client_type=ios&redirect_uri=com.example.app://cb&mccmnc=310410"
                + "&code_challenge=\(challenge)&code_challenge_method=S256", [.accept: "text/html"], apiKey: nil)
        let asked = started.parameters
        app.carrier.script { $0.nonce = asked["nonce"] }
        let cookies = started.newCookies.map { "\($0)=\($1)" }.joined(separator: "; ")
        let done = try await app.send(
            .get, "/auth/zenkey/callback?code=CODE-1&state=\(try #require(asked["state"]))", [.cookie: cookies],
            apiKey: nil)
        let body = "session_id=\(try #require(done.parameters["session_id"]))&code_verifier=\(SignInBody.verifier)"
        func exchange(_ app: TestApp, _ key: AppKey) async throws -> Answer {
            let proof = try ProofDraft(.post, "/auth/session", by: key, at: app.clock.now).text
            let type = "application/x-www-form-urlencoded"
            return try await app.send(.post, "/auth/session", [.contentType: type, .dpop: proof], body: body)
        }
        let first = try #require(Tokens(try await exchange(app, key)))
        for instance in [app, try TestApp.withKeys(.optional, beside: app)] {
            let stolen = try await exchange(instance, AppKey())
            #expect(stolen.status == 401 && Tokens(stolen) == nil, "\(stolen.body)")
            #expect(Tokens(try await exchange(instance, key)) == first)
            #expect(try await instance.me(first.token, key).status == 200)
        }
    }

    @Test("is required: no app gets in without a key, and sessions from before must be bound")
    func required() async throws {
        let before = try TestApp.withKeys(.optional)
        let old = try await before.tokens()
        let app = try TestApp.withKeys(.required, beside: before)
        let key = AppKey()
        let refused = try await app.signIn(SignInBody().code("CODE-2"))
        #expect(refused.status == 400 && refused.error == "invalid_dpop_proof")
        #expect(app.carrier.tokenPosts == 1)
        #expect(try await app.signIn(with: key, SignInBody().code("CODE-2")).text("token_type") == "DPoP")
        #expect(try await app.me(old.token).error == "invalid_token")
        #expect(try await app.form("/auth/introspect", "token=\(old.token)").body == #"{"active":false}"#)
        let cookie = try await app.send(.get, "/users/me", [.cookie: "__Host-latchkey_session=\(old.token)"])
        #expect(cookie.error == "invalid_token")
        #expect(try await app.refresh(old.refreshToken).error == "invalid_dpop_proof")
        let bound = try #require(Tokens(try await app.refresh(old.refreshToken, with: key)))
        #expect(try await app.me(bound.token, key).status == 200)
    }
}

extension TestApp {
    /// A Latchkey whose `client-1` has bound tokens.
    static func withKeys(
        _ rule: SignInConfiguration.BoundTokens, isJWT: Bool = false, beside other: TestApp? = nil,
        store: TestStore? = nil, registration: TestRegistration = TestRegistration()
    ) throws -> TestApp {
        var client = SignInConfiguration.Client(id: try #require(ClientID("client-1")), secret: Secret("s"))
        client.accessToken.audience = [try #require(ClientID("https://api.example"))]
        return try TestApp(
            beside: other, store: store, client: { $0.boundTokens = rule }, registration: registration,
            accessTokenForm: {
                isJWT ? JWTAccessTokens(issuer: "https://login.example/base", clients: [client], keys: $0) : nil
            }, features: [BoundTokensFeature()])
    }

    /// Signs in with a proof of a key.
    func signIn(
        with key: AppKey, _ body: SignInBody = SignInBody(), changing change: (inout ProofDraft) -> Void = { _ in }
    ) async throws -> Answer {
        var draft = ProofDraft(.post, "/auth/zenkey-signin", by: key, at: clock.now)
        change(&draft)
        return try await send(
            .post, "/auth/zenkey-signin", [.contentType: "application/json", .dpop: try draft.text], body: body.json)
    }

    func tokens(of key: AppKey) async throws -> Tokens { try #require(Tokens(try await signIn(with: key))) }

    func token(of key: AppKey) async throws -> String { try await tokens(of: key).token }

    func refresh(_ refreshToken: String, with key: AppKey) async throws -> Answer {
        try await refresh(refreshToken, [.dpop: try ProofDraft(.post, "/auth/token", by: key, at: clock.now).text])
    }

    func me(_ token: String, _ key: AppKey) async throws -> Answer { try await asUser(.get, "/users/me", token, key) }

    /// - Parameter path: Of the proof, if it is another one.
    func asUser(
        _ method: HTTPRequest.Method, _ target: String, _ token: String, _ key: AppKey, path: String? = nil
    ) async throws -> Answer {
        let draft = ProofDraft(method, path ?? target, by: key, for: token, at: clock.now)
        return try await send(method, target, [.authorization: "DPoP \(token)", .dpop: try draft.text])
    }
}
