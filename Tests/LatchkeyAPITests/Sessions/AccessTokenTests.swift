import Crypto
import HTTPTypes
import OpenIDConnect
import Primitives
import Services
import StorageModel
import TestSupport
import Testing

@testable import SignIn

/// Session tokens that services verify without a request (RFC 9068), of a client with `access_token: jwt`.
@Suite("A session token that is a JWT")
struct AccessTokenTests {
    @Test("has the claims of RFC 9068 and no more, and is signed by a published key")
    func form() async throws {
        let app = try TestApp.withJWTs()
        let now = app.clock.now.secondsSinceEpoch
        let answer = try await app.signIn()
        #expect(answer.status == 200)
        let token = try #require(answer.text("token"))
        #expect(answer.text("access_token") == token)
        #expect(answer.text("token_type") == "bearer")
        #expect(answer.integer("expires") == 600 && answer.integer("expires_in") == 600)
        #expect(token.utf8.count < 1024)
        let me = try await app.me(token)
        #expect(me.status == 200)
        let session = try #require(try await app.sessions(token).first)
        let jwt = try JWT(token)
        let header = try #require(jwt.header)
        #expect(header.members.map(\.name) == ["alg", "typ", "kid"])
        #expect(header["alg"]?.string == "ES256" && header["typ"]?.string == "at+jwt")
        #expect(
            jwt.claims.members.map(\.name) == [
                "iss", "sub", "aud", "client_id", "iat", "exp", "auth_time", "jti", "sid",
            ])
        #expect(jwt.claims["iss"]?.string == "https://login.example/base")
        #expect(jwt.claims["sub"]?.string == me.text("sub"))
        #expect(jwt.claims["aud"]?.string == "https://api.example")
        #expect(jwt.claims["client_id"]?.string == "client-1")
        #expect(jwt.claims["iat"]?.integer == now && jwt.claims["auth_time"]?.integer == now)
        #expect(jwt.claims["exp"]?.integer == now + 600)
        #expect(jwt.claims["sid"]?.string == session["id"]?.string)
        #expect(jwt.claims["jti"]?.string?.utf8.count == 43)

        let set = try await app.send(.get, "/.well-known/jwks.json", apiKey: nil).json?["keys"]?.array
        let key = try #require(set?.compactMap(\.object).first { $0["kid"]?.string == header["kid"]?.string })
        #expect(key["alg"]?.string == "ES256" && key["use"]?.string == "sig")
        let point = ["x", "y"].flatMap { key[$0]?.string.flatMap { Base64URL.decode($0) } ?? [] }
        let verifier = try P256.Signing.PublicKey(rawRepresentation: point)
        let signature = try P256.Signing.ECDSASignature(
            rawRepresentation: try #require(Base64URL.decode(jwt.parts[2])))
        #expect(verifier.isValidSignature(signature, for: Array("\(jwt.parts[0]).\(jwt.parts[1])".utf8)))
    }

    @Test(
        "lasts ten minutes, or less if others do, or as long as the client's setting says",
        arguments: [(3600, nil, 600), (300, nil, 300), (3600, 7200, 7200), (300, 900, 900)] as [(Int64, Int64?, Int64)])
    func lifetime(_ general: Int64, _ own: Int64?, _ expected: Int64) async throws {
        let app = try TestApp.withJWTs(client: { $0.sessions.access = own }, lifetimes: { $0.access = general })
        let first = try await app.signIn()
        let second = try await app.refresh(try #require(first.text("refresh_token")))
        for answer in [first, second] {
            #expect(answer.integer("expires_in") == expected)
            let token = try #require(answer.text("token"))
            #expect(try JWT(token).claims["exp"]?.integer == app.clock.now.secondsSinceEpoch + expected)
        }
        let token = try #require(second.text("token"))
        app.clock.advance(bySeconds: expected - 1)
        #expect(try await app.me(token).status == 200)
        app.clock.advance(bySeconds: 1)
        #expect(try await app.me(token).error == "invalid_token")
    }

    @Test("has a list of audiences if there are several")
    func audiences() async throws {
        let app = try TestApp.withJWTs(audience: ["https://api.example", "https://shop.example"])
        let audience = try JWT(try await app.token()).claims["aud"]?.array
        #expect(audience?.map(\.string) == ["https://api.example", "https://shop.example"])
    }

    @Test("is good at every route and every instance, as an opaque one is")
    func everywhere() async throws {
        let app = try TestApp.withJWTs()
        for instance in [app, try TestApp.withJWTs(beside: app)] {
            let token = try await app.token(SignInBody().code("CODE-\(app.carrier.tokenPosts)"))
            #expect(try await instance.me(token).status == 200)
            #expect(try await instance.patch(token, #"{"name":"Jane"}"#).status == 200)
            let verified = try await instance.asUser(.get, "/auth/verify", token)
            #expect(verified.status == 200)
            let claims = try JWT(token).claims
            #expect(try verified.headers[#require(HTTPField.Name("X-Auth-User"))] == claims["sub"]?.string)
            #expect(try verified.headers[#require(HTTPField.Name("X-Auth-Session"))] == claims["sid"]?.string)
            let known = try await instance.form("/auth/introspect", "token=\(token)")
            #expect(known.json?["active"]?.bool == true)
            #expect(known.integer("exp") == claims["exp"]?.integer && known.text("sub") == claims["sub"]?.string)
            let refresh = try await instance.form("/auth/introspect", "token=\(token)&token_type_hint=refresh_token")
            #expect(refresh.body == #"{"active":false}"#)
            #expect(try await instance.asUser(.delete, "/users/me/sessions", token).status == 200)
        }
    }

    /// How a session ends.
    private static let ends: [(String, @Sendable (TestApp, String, String) async throws -> Answer)] = [
        ("signed out", { app, token, _ in try await app.asUser(.delete, "/auth/token", token) }),
        ("revoked by the token", { app, token, _ in try await app.form("/auth/revoke", "token=\(token)") }),
        ("revoked by the refresh token", { app, _, other in try await app.form("/auth/revoke", "token=\(other)") }),
        (
            "ended from the list",
            { app, token, _ in
                let id = try #require(try JWT(token).claims["sid"]?.string)
                return try await app.asUser(.delete, "/users/me/sessions/\(id)", token)
            }
        ),
        ("erased", { app, token, _ in try await app.asUser(.delete, "/users/me", token) }),
    ]

    @Test("of a session that has ended is refused at once, while services take it until it expires", arguments: 0..<5)
    func ended(_ index: Int) async throws {
        let (name, end) = Self.ends[index]
        let app = try TestApp.withJWTs()
        let tokens = try await app.tokens()
        #expect(try await app.me(tokens.token).status == 200)
        #expect(try await end(app, tokens.token, tokens.refreshToken).status == 200, "\(name)")
        for instance in [app, try TestApp.withJWTs(beside: app)] { try await expectRefused(tokens.token, at: instance) }
    }

    @Test("is replaced by a refresh, whose repetition anywhere gets the same session token in another signature")
    func refreshed() async throws {
        let app = try TestApp.withJWTs()
        let first = try await app.tokens()
        #expect(first.refreshToken.utf8.count == 48)
        app.clock.advance(bySeconds: 5)
        let second = try #require(Tokens(try await app.refresh(first.refreshToken)))
        let again = try #require(Tokens(try await TestApp.withJWTs(beside: app).refresh(first.refreshToken)))
        #expect(second.refreshToken == again.refreshToken && second.refreshToken.utf8.count == 92)
        #expect(second.token != again.token)
        let claims = try [first, second, again].map { try JWT($0.token).claims }
        #expect(claims[1] == claims[2])
        for name in ["sub", "sid", "auth_time", "client_id"] { #expect(claims[0][name] == claims[1][name]) }
        #expect(claims[0]["jti"] != claims[1]["jti"])
        for tokens in [first, second, again] { #expect(try await app.me(tokens.token).status == 200) }
        // The old one stays valid for the grace period, as an opaque one.
        app.clock.advance(bySeconds: 31)
        #expect(try await app.me(first.token).error == "invalid_token")
        #expect(try await app.me(second.token).status == 200)
    }

    @Test("comes with each response that gives an app a session", arguments: ["retry", "registration", "exchange"])
    func given(_ how: String) async throws {
        let answer: Answer
        let app: TestApp
        switch how {
        case "retry":
            app = try TestApp.withJWTs()
            _ = try await app.signIn()
            answer = try await app.signIn()
        case "registration":
            var registration = TestRegistration()
            registration.isRequired = true
            app = try TestApp.withJWTs(registration: registration)
            let handle = try #require(try await app.signIn().text("state_key"))
            answer = try await app.post("/users", #"{"state_key":"\#(handle)"}"#)
        default:
            app = try TestApp.withJWTs(client: { $0.clientTypes["https://app.example/cb"] = [.ios] })
            let page = PageSessionTests.Page(app)
            let done = try await page.signIn("client_type=ios")
            let end = try #require(done.headers[.location]?.split(separator: "session_id=").last)
            let sessionID = end.prefix { $0 != "&" }
            answer = try await app.form("/auth/session", "session_id=\(sessionID)")
        }
        let token = try #require(answer.text("token"), "\(answer.body)")
        #expect(try JWT(token).header?["typ"]?.string == "at+jwt")
        #expect(try await app.me(token).status == 200)
    }

    @Test("is for its client alone: others, and all pages of this server, have opaque ones")
    func others() async throws {
        let app = try TestApp.withJWTs(otherClients: ["client-2"])
        let body = SignInBody().code("CODE-2").with("client_id", "\"client-2\"").with(
            "redirect_uri", "\"https://other.example/cb\"")
        app.carrier.script { $0.claims = ["aud": "\"client-2\""] }
        let token = try await app.token(body)
        app.carrier.script { $0.claims = [:] }
        #expect(token.utf8.count == 48)
        #expect(try await app.me(token).status == 200)
        let page = PageSessionTests.Page(try TestApp.withJWTs())
        #expect(try await page.signIn().status == 303)
        #expect(page.session?.utf8.count == 48)
        #expect(try await page.me().status == 200)
        #expect(try await page.refresh().status == 200)
        #expect(page.session?.utf8.count == 48)
    }

    @Test("is refused where no client has any")
    func withoutSetting() async throws {
        let app = try TestApp.withJWTs()
        let tokens = try await app.tokens()
        let other = try TestApp(beside: app)
        try await expectRefused(tokens.token, at: other)
        // The session goes on.
        let opaque = try #require(Tokens(try await other.refresh(tokens.refreshToken)))
        #expect(opaque.token.utf8.count == 48)
        #expect(try await other.me(opaque.token).status == 200)
        #expect(try await app.me(opaque.token).status == 200)
    }

    @Test("holds its session where the store asks for it: links and approvals")
    func holding() async throws {
        let app = try TestApp.withJWTs()
        let token = try await app.token()
        app.carrier.script { $0.subject = "SUBJECT-of-jane-at-the-bank" }
        let body = SignInBody().code("CODE-link").with("provider", "\"bank\"").with("mccmnc", nil)
        let headers: HTTPFields = [.authorization: "Bearer \(token)", .contentType: "application/json"]
        let linked = try await app.send(.post, "/users/me/identities", headers, body: body.json)
        #expect(linked.status == 201, "\(linked.body)")

        let time = app.clock.now.secondsSinceEpoch
        app.carrier.script {
            $0.subject = "SUBJECT-of-jane"
            $0.claims = ["context": "\"CONTEXT-1\"", "auth_time": "\(time)"]
        }
        let approval = SignInBody().code("CODE-t").with("acr_values", "\"a3\"").with("context", "\"CONTEXT-1\"")
        let approved = try await app.send(.post, "/auth/zenkey/authorize", headers, body: approval.json)
        #expect(approved.status == 200, "\(approved.body)")
    }

    @Test("outlives the rotation of the keys, and not the removal of its own")
    func rotation() async throws {
        let app = try TestApp.withJWTs()
        let keys = app.useCases.signingKeys
        try await keys.maintain()
        app.clock.advance(bySeconds: 29 * 86_400)
        try await keys.maintain()
        app.clock.advance(bySeconds: 86_400 - 60)
        try await keys.maintain()
        let old = try await app.token()
        app.clock.advance(bySeconds: 120)
        try await keys.maintain()
        let new = try await app.token(SignInBody().code("CODE-2"))
        let ids = try [old, new].map { try JWT($0).header?["kid"]?.string }
        #expect(ids[0] != ids[1])
        for token in [old, new] { #expect(try await app.me(token).status == 200) }
        let published = try await keys.published().map(\.id)
        #expect(ids.allSatisfy { id in published.contains { $0 == id } })

        _ = try await app.store.removeSigningKeys([try #require(ids[0])]) { id in
            AuditEvent(
                at: app.clock.now, .signingKeyRemoved, user: nil, by: .latchkey,
                details: AuditDetails { $0.add("kid", id) })
        }
        app.clock.advance(bySeconds: 61)
        #expect(try await app.me(old).error == "invalid_token")
        #expect(try await app.me(new).status == 200)
    }

    // MARK: Attacks

    @Test("is refused if it is not exactly what this server has signed", arguments: Forgery.all.indices)
    func forged(_ index: Int) async throws {
        let forgery = Forgery.all[index]
        let app = try TestApp.withJWTs(otherClients: ["client-2"])
        let tokens = try await app.tokens()
        let victim = try await app.token(SignInBody().code("CODE-2"))
        let key = try await app.useCases.signingKeys.signer()
        let forged = try forgery.make(
            Forgery.Material(
                own: JWT(tokens.token), other: JWT(victim), keyID: key.id,
                key: P256.Signing.PrivateKey(rawRepresentation: key.rawRepresentation), now: app.clock.now))
        try await expectRefused(forged, at: app)
        // Neither session has ended by it.
        for token in [tokens.token, victim] { #expect(try await app.me(token).status == 200) }
        #expect(try await app.refresh(tokens.refreshToken).status == 200)
    }

    @Test("signed again with the same header and claims is good, so that each row above is refused for its own reason")
    func signedAgain() async throws {
        let app = try TestApp.withJWTs()
        let token = try await app.token()
        let key = try await app.useCases.signingKeys.signer()
        let material = Forgery.Material(
            own: try JWT(token), other: try JWT(token), keyID: key.id,
            key: try P256.Signing.PrivateKey(rawRepresentation: key.rawRepresentation), now: app.clock.now)
        let again = try material.signed()
        #expect(again != token)
        #expect(try await app.me(again).status == 200)
        let padded = try material.signed(claims: ["padding": #""\#(String(repeating: "a", count: 2_000))""#])
        #expect(padded.utf8.count < 4096)
        #expect(try await app.me(padded).status == 200)
    }

    @Test("is nothing else: no refresh token, cookie, receipt, ID token, logout token or registration")
    func elsewhere() async throws {
        let native = try #require(ClientID("client-1"))
        let app = try TestApp.withJWTs(client: {
            $0.native.audiences = [native]
            $0.native.nonce = .none
        })
        let token = try await app.token()
        let refusals = [
            try await app.refresh(token),
            try await app.form("/auth/token", "grant_type=refresh_token&refresh_token=\(token)"),
            try await app.form("/auth/receipts/redeem", "receipt=\(token)"),
            try await app.form("/auth/bank/native", "id_token=\(token)"),
            try await app.form("/auth/bank/backchannel-logout", "logout_token=\(token)", apiKey: nil),
            try await app.form("/users", "state_key=\(token)&name=Jane&email=jane@mail.example"),
            try await app.form("/auth/session", "session_id=\(token)"),
        ]
        for answer in refusals {
            #expect([400, 401].contains(answer.status), "\(answer.body)")
            #expect(answer.text("token") == nil)
        }
        let page = PageSessionTests.Page(app)
        for name in ["__Host-latchkey_session", "__Host-latchkey_refresh"] {
            page.cookies = [name: token]
            #expect(try await page.me().status == 401)
            #expect(try await page.refresh().status == 401)
        }
        #expect(try await app.me(token).status == 200)
    }

    @Test("is not any other text that the same key has signed", arguments: ["receipt", "introspection"])
    func otherTexts(_ kind: String) async throws {
        let app = try TestApp.withJWTs()
        let token = try await app.token()
        let text: String
        switch kind {
        case "receipt":
            let time = app.clock.now.secondsSinceEpoch
            app.carrier.script { $0.claims = ["context": "\"CONTEXT-1\"", "auth_time": "\(time)"] }
            let approval = SignInBody().code("CODE-t").with("acr_values", "\"a3\"").with("context", "\"CONTEXT-1\"")
            let headers: HTTPFields = [.authorization: "Bearer \(token)", .contentType: "application/json"]
            let approved = try await app.send(.post, "/auth/zenkey/authorize", headers, body: approval.json)
            text = try #require(approved.text("receipt"))
        default:
            let headers: HTTPFields = [
                .contentType: "application/x-www-form-urlencoded", .accept: "application/token-introspection+jwt",
                .authorization: "Basic \(Base64.encode(Array("shop:\(TestApp.apiKey)".utf8)))",
            ]
            text = try await app.send(.post, "/auth/introspect", headers, body: "token=\(token)", apiKey: nil).body
        }
        #expect(try JWT(text).header?["kid"] == JWT(token).header?["kid"])
        try await expectRefused(text, at: app)
    }

    @Test("is for clients that the caller may access")
    func admission() async throws {
        let app = try TestApp.withJWTs(keys: ["of-client-2": APIGrant(clients: ["client-2"])])
        let token = try await app.token()
        let headers: HTTPFields = [.authorization: "Bearer \(token)"]
        for path in ["/users/me", "/auth/verify"] {
            #expect(try await app.send(.get, path, headers, apiKey: "of-client-2").status == 403)
        }
        let asked = try await app.form("/auth/introspect", "token=\(token)", apiKey: "of-client-2")
        #expect(asked.body == #"{"active":false}"#)
        #expect(try await app.form("/auth/revoke", "token=\(token)", apiKey: "of-client-2").status == 200)
        #expect(try await app.me(token).status == 200)
    }
}

/// Expects that this server refuses a session token wherever it takes one.
private func expectRefused(_ token: String, at app: TestApp) async throws {
    for (method, path) in [
        (HTTPRequest.Method.get, "/users/me"), (.get, "/auth/verify"), (.delete, "/auth/token"),
        (.delete, "/users/me/sessions"),
    ] {
        let answer = try await app.asUser(method, path, token)
        #expect(answer.status == 401 && answer.error == "invalid_token", "\(path) \(answer.body)")
    }
    let body = #"{"token":"\#(token)"}"#
    let asked = try await app.post("/auth/introspect", body)
    #expect(asked.body == #"{"active":false}"#)
    #expect(try await app.post("/auth/revoke", body).body == "{}")
}

extension TestApp {
    /// A Latchkey whose `client-1` has JWTs.
    static func withJWTs(
        beside other: TestApp? = nil, audience: [String] = ["https://api.example"], keys: [String: APIGrant] = [:],
        client change: (inout SignInConfiguration.Client) -> Void = { _ in }, otherClients: [String] = [],
        registration: TestRegistration = TestRegistration(),
        lifetimes: (inout SignInConfiguration.Lifetimes) -> Void = { _ in }
    ) throws -> TestApp {
        var client = SignInConfiguration.Client(id: try #require(ClientID("client-1")), secret: Secret("s"))
        client.accessToken.form = .jwt
        client.accessToken.audience = audience.compactMap(ClientID.init)
        let rules = client.accessToken
        return try TestApp(
            beside: other, keys: keys,
            client: {
                $0.accessToken = rules
                change(&$0)
            }, otherClients: otherClients, registration: registration, lifetimes: lifetimes,
            accessTokenForm: {
                JWTAccessTokens(issuer: "https://login.example/base", clients: [client], keys: $0)
            })
    }
}

/// The parts of a JWT, unverified.
struct JWT {
    let parts: [String]
    let claims: JSONObject
    var header: JSONObject? {
        Base64URL.decode(parts[0]).flatMap { (try? JSONValue(parsing: $0))?.object }
    }

    init(_ text: String) throws {
        parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        try #require(parts.count == 3)
        claims = try #require(Base64URL.decode(parts[1]).flatMap { JSONObject(claims: $0) })
    }
}
