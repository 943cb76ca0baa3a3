import Administration
import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

/// Introspection (RFC 7662) and revocation (RFC 7009) for the operator's other services.
@Suite("A service")
struct TokenServiceTests {
    @Test("learns the user and the expiry of a session token")
    func active() async throws {
        let app = try TestApp()
        let start = app.clock.now.secondsSinceEpoch
        let tokens = try await app.tokens()
        let me = try await app.me(tokens.token)
        let session = try #require(try await app.sessions(tokens.token).first)
        for hint in ["", "&token_type_hint=access_token", "&token_type_hint=other"] {
            let answer = try await app.form("/auth/introspect", "token=\(tokens.token)\(hint)")
            #expect(answer.status == 200)
            #expect(answer.headers[.cacheControl] == "no-store")
            #expect(
                answer.json?.members.map(\.name) == [
                    "active", "token_type", "exp", "client_id", "sub", "user_id", "auth_time", "session_id",
                    "email_verified", "email_verified_at", "email_verified_by", "phone_number_verified",
                    "phone_number_verified_at", "phone_number_verified_by",
                ])
            #expect(answer.json?["active"]?.bool == true)
            #expect(answer.text("token_type") == "bearer")
            #expect(answer.integer("exp") == start + 3600)
            #expect(answer.text("client_id") == "client-1")
            #expect(answer.text("sub") == me.text("zenkey_sub"))
            #expect(answer.integer("user_id") == me.integer("user_id"))
            #expect(answer.text("session_id") == session["id"]?.string)
        }
        let json = try await app.post("/auth/introspect", #"{"token":"\#(tokens.token)"}"#)
        #expect(json.json?["active"]?.bool == true)
    }

    @Test("sees a refresh token as active only with its hint")
    func refreshToken() async throws {
        let app = try TestApp()
        let tokens = try await app.tokens()
        let plain = try await app.form("/auth/introspect", "token=\(tokens.refreshToken)")
        #expect(plain.body == #"{"active":false}"#)
        let hinted = try await app.form(
            "/auth/introspect", "token=\(tokens.refreshToken)&token_type_hint=refresh_token")
        #expect(hinted.json?["active"]?.bool == true)
        #expect(hinted.json?["token_type"] == nil)
        let other = try await app.form("/auth/introspect", "token=\(tokens.token)&token_type_hint=refresh_token")
        #expect(other.body == #"{"active":false}"#)
        _ = try await app.refresh(tokens.refreshToken)
        let spent = try await app.form(
            "/auth/introspect", "token=\(tokens.refreshToken)&token_type_hint=refresh_token")
        #expect(spent.body == #"{"active":false}"#)
    }

    @Test("learns only that an invalid token is inactive")
    func inactive() async throws {
        let app = try TestApp()
        let (ended, expired) = (try await app.token(), try await app.token(SignInBody().code("CODE-2")))
        _ = try await app.asUser(.delete, "/auth/token", ended)
        app.clock.advance(bySeconds: 3600)
        for token in [
            ended, expired, "x", String(repeating: "a", count: 43), "%C3%A4", String(repeating: "a", count: 9_000),
        ] {
            let answer = try await app.form("/auth/introspect", "token=\(token)")
            #expect(answer.status == 200)
            #expect(answer.body == #"{"active":false}"#)
        }
    }

    private static let signedType = "application/token-introspection+jwt"

    private func signed(
        _ app: TestApp, _ body: String, by name: String? = "shop", accept: String = signedType
    ) async throws -> Answer {
        var headers: HTTPFields = [.contentType: "application/x-www-form-urlencoded", .accept: accept]
        if let name { headers[.authorization] = "Basic \(Self.base64("\(name):\(TestApp.apiKey)"))" }
        return try await app.send(
            .post, "/auth/introspect", headers, body: body, apiKey: name == nil ? TestApp.apiKey : nil)
    }

    @Test("gets a signed response if it asks for one", arguments: ["session", "refresh", "unknown"])
    func signed(_ kind: String) async throws {
        let app = try TestApp()
        let tokens = try await app.tokens()
        let body = [
            "session": "token=\(tokens.token)", "refresh": "token=\(tokens.refreshToken)&token_type_hint=refresh_token",
            "unknown": "token=\(tokens.refreshToken)",
        ]
        let question = try #require(body[kind])
        for (sent, name) in [("shop", "shop"), ("https%3A%2F%2Fshop.example", "https://shop.example")] {
            let answer = try await signed(app, question, by: sent)
            #expect(answer.status == 200)
            #expect(answer.headers[.contentType] == Self.signedType)
            #expect(answer.headers[.cacheControl] == "no-store")
            let token = try #require(CompactToken(Secret(answer.body), maximumBytes: 8192))
            let key = try #require(
                try await app.useCases.signingKeys.published().first { $0.id == token.header?["kid"]?.string })
            let claims = try #require(token.claims(ofType: "token-introspection+jwt", signedBy: key.key))
            #expect(claims.members.map(\.name) == ["iss", "aud", "iat", "token_introspection"])
            #expect(claims["iss"]?.string == "https://login.example/base")
            #expect(claims["aud"]?.string == name)
            #expect(claims["iat"]?.integer == app.clock.now.secondsSinceEpoch)
            let plain = try await app.form("/auth/introspect", question)
            #expect(claims["token_introspection"]?.object == plain.json)
            #expect(plain.json?["active"]?.bool == (kind != "unknown"))
        }
    }

    @Test("gets JSON if it does not name itself or the type")
    func unsigned() async throws {
        let app = try TestApp()
        let token = try await app.token()
        for (name, accept) in [
            (nil, Self.signedType), ("", Self.signedType), ("a b", Self.signedType), ("%", Self.signedType),
            (String(repeating: "a", count: 256), Self.signedType), ("shop", "application/json"), ("shop", "*/*"),
            ("shop", Self.signedType + ";q=0"),
        ] {
            let answer = try await signed(app, "token=\(token)", by: name, accept: accept)
            #expect(answer.json?["active"]?.bool == true, "\(name ?? "nil") \(accept)")
        }
        // A name beside an API key says nothing about the service.
        let beside: HTTPFields = [
            .contentType: "application/x-www-form-urlencoded", .accept: Self.signedType,
            .authorization: "Basic \(Self.base64("shop:anything"))",
        ]
        let plain = try await app.send(.post, "/auth/introspect", beside, body: "token=\(token)")
        #expect(plain.json?["active"]?.bool == true)
        // Who may ask does not depend on the form of the response.
        let headers: HTTPFields = [
            .contentType: "application/x-www-form-urlencoded", .accept: Self.signedType,
            .authorization: "Basic \(Self.base64("shop:unknown"))",
        ]
        let refused = try await app.send(.post, "/auth/introspect", headers, body: "token=\(token)", apiKey: nil)
        #expect(refused.error == "invalid_api_key")
    }

    @Test("finds the endpoints in the server's metadata")
    func metadata() async throws {
        let app = try TestApp()
        let answer = try await app.send(.get, "/.well-known/oauth-authorization-server", apiKey: nil)
        #expect(answer.status == 200)
        let base = "https://login.example/base"
        #expect(answer.text("issuer") == base)
        for (name, path) in [
            ("introspection_endpoint", "/auth/introspect"), ("revocation_endpoint", "/auth/revoke"),
            ("jwks_uri", "/.well-known/jwks.json"), ("token_endpoint", "/auth/token"),
        ] { #expect(answer.text(name) == base + path) }
        #expect(answer.json?["introspection_signing_alg_values_supported"]?.array == [.string("ES256")])
        for name in ["introspection", "revocation"] {
            let methods = answer.json?["\(name)_endpoint_auth_methods_supported"]?.array
            #expect(methods == [.string("client_secret_basic")])
        }
    }

    @Test("ends a session at once, with any of its tokens", arguments: ["session", "refresh", "spent", "former"])
    func revoke(_ kind: String) async throws {
        let app = try TestApp()
        let old = try await app.tokens()
        let bystander = try await app.token(SignInBody().code("CODE-2"))
        let new = try #require(Tokens(try await app.refresh(old.refreshToken)))
        #expect(try await app.me(new.token).status == 200)
        let tokens = [
            "session": new.token, "refresh": new.refreshToken, "spent": old.refreshToken, "former": old.token,
        ]
        let token = try #require(tokens[kind])
        for _ in 0..<2 {
            let answer = try await app.form("/auth/revoke", "token=\(token)&token_type_hint=refresh_token")
            #expect(answer.status == 200)
            #expect(answer.body == "{}")
        }
        #expect(try await app.me(new.token).status == 401)
        #expect(try await app.me(old.token).status == 401)
        #expect(try await app.refresh(new.refreshToken).status == 401)
        #expect(try await app.me(bystander).status == 200)
        let events = try await app.store.auditEvents(AuditQuery())
        #expect(events.map(\.event.kind.name) == ["session.revoked"])
        #expect(events.first?.event.actor.name == "client:client-1")
    }

    @Test("gets the same response for an unknown token", arguments: ["x", String(repeating: "a", count: 43)])
    func unknown(_ token: String) async throws {
        let answer = try await TestApp().form("/auth/revoke", "token=\(token)")
        #expect(answer.status == 200)
        #expect(answer.body == "{}")
    }

    /// A key that is another text when it is form-encoded, and also when it is decoded.
    private static let signs = "k+y/%41:z="

    private static func base64(_ text: String) -> String { Base64.encode(Array(text.utf8)) }

    @Test(
        "may send its API key as the password of HTTP Basic",
        arguments: [
            "Basic \(base64("service:\(TestApp.apiKey)"))", "basic  \(base64(":\(TestApp.apiKey)"))",
            "BASIC \(base64("service:\(signs)"))", "Basic \(base64("a:k%2By%2F%2541%3Az%3D"))",
            "Basic \(base64("service:STORED%2Dkey"))",
            "Basic \(base64("\u{E4}:\(TestApp.apiKey)").filter { $0 != "=" })",
        ])
    func basic(_ authorization: String) async throws {
        let app = try TestApp(keys: [Self.signs: APIGrant()])
        let stored = StoredAPIKey(
            name: "stored", hash: TokenHash(sha256Of: "STORED-key"), clients: nil, origins: nil,
            createdAt: app.clock.now)
        #expect(try await app.addAPIKey(stored) == .added)
        let token = try await app.token()
        let headers: HTTPFields = [
            .authorization: authorization, .contentType: "application/x-www-form-urlencoded",
        ]
        let found = try await app.send(.post, "/auth/introspect", headers, body: "token=\(token)", apiKey: nil)
        #expect(found.json?["active"]?.bool == true)
        let revoked = try await app.send(.post, "/auth/revoke", headers, body: "token=\(token)", apiKey: nil)
        #expect(revoked.status == 200)
        #expect(try await app.me(token).status == 401)
        // Only the routes for services take it.
        let other = try await app.send(.get, "/users/me", headers, apiKey: nil)
        #expect(other.status == 401)
        #expect(other.headers[.wwwAuthenticate]?.contains("Basic") == false)
    }

    @Test(
        "gets a challenge for HTTP Basic without a valid key",
        arguments: [
            nil, "Basic", "Basic ", "Basic \(base64(TestApp.apiKey))", "Basic *",
            "Basic \(base64("\(TestApp.apiKey):"))", "Basic \(base64("a:b:\(TestApp.apiKey)"))",
            "Basic \(base64("service:\(TestApp.apiKey)"))=x", "Bearer \(TestApp.apiKey)",
            "Basic \(base64("service:unknown%"))", "Basic \(base64("service: \(TestApp.apiKey)"))",
        ] as [String?])
    func challenge(_ authorization: String?) async throws {
        let app = try TestApp()
        var headers: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]
        headers[.authorization] = authorization
        for path in ["/auth/introspect", "/auth/revoke"] {
            let answer = try await app.send(.post, path, headers, body: "token=x", apiKey: nil)
            #expect(answer.status == 401)
            #expect(answer.error == "invalid_api_key")
            #expect(
                answer.headers[.wwwAuthenticate]
                    == #"ApiKey name="X-API-KEY", Basic realm="latchkey", charset="UTF-8""#)
            // A key in its own field counts, whatever the other one has.
            #expect(try await app.send(.post, path, headers, body: "token=x").status == 200)
        }
    }

    @Test("needs an API key and a token", arguments: ["/auth/introspect", "/auth/revoke"])
    func refused(_ path: String) async throws {
        let app = try TestApp(allowedOrigins: ["https://app.example"])
        let token = try await app.token()
        for key in [nil, "unknown"] as [String?] {
            #expect(try await app.form(path, "token=\(token)", apiKey: key).error == "invalid_api_key")
        }
        // Outside a browser, any client can claim an origin.
        let headers: HTTPFields = [
            .origin: "https://app.example", .contentType: "application/x-www-form-urlencoded",
        ]
        let byOrigin = try await app.send(.post, path, headers, body: "token=\(token)", apiKey: nil)
        #expect(byOrigin.error == "invalid_api_key")
        let missing = try await app.form(path, "token_type_hint=access_token")
        #expect(missing.status == 400)
        #expect(missing.description.contains("token is missing"))
        #expect(try await app.me(token).status == 200)
    }
}
