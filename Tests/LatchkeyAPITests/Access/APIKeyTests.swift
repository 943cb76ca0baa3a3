import Administration
import HTTPTypes
import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel
import TestSupport
import Testing

@testable import Redirects

/// API keys restricted to certain clients or origins.
@Suite("An API key")
struct APIKeyScopeTests {
    private static let mine = "KEY-for-client-1"
    private static let others = "KEY-for-another-client"
    private static let keys = [
        mine: APIGrant(clients: ["client-1", "client-3"]), others: APIGrant(clients: ["client-2"]),
    ]

    private func app(registration: TestRegistration = TestRegistration()) throws -> TestApp {
        try TestApp(keys: Self.keys, registration: registration)
    }

    @Test("for another client cannot sign in, and the code is not posted")
    func signIn() async throws {
        let app = try app()
        let type: HTTPFields = [.contentType: "application/json"]
        for path in ["/auth/zenkey-signin", "/auth/zenkey/sign-in"] {
            let answer = try await app.send(.post, path, type, body: SignInBody().json, apiKey: Self.others)
            #expect(answer.status == 400)
            #expect(answer.error == "unauthorized_client")
        }
        #expect(app.carrier.tokenPosts == 0)
        let answer = try await app.send(
            .post, "/auth/zenkey-signin", type, body: SignInBody().json, apiKey: Self.mine)
        #expect(answer.status == 200)
    }

    /// A call that names a client or a provider, whose client is `client-2` or whose provider has `client-1` only.
    struct Naming: Sendable, CustomTestStringConvertible {
        let method: HTTPRequest.Method
        let path: String
        var body = ""
        var key = APIKeyScopeTests.mine
        /// By the session token, or in a browser by its cookie.
        var headers: @Sendable (_ token: String) -> HTTPFields = { _ in [:] }
        var status = 400
        var testDescription: String { "\(method) \(path.prefix { $0 != "?" })" }
    }

    private static let other = "client_id=client-2&redirect_uri=https%3A%2F%2Fother.example%2Fcb&mccmnc=310410"
    private static let otherSignIn = SignInBody().with("client_id", "\"client-2\"").with(
        "redirect_uri", "\"https://other.example/cb\"")
    private static let bearer: @Sendable (String) -> HTTPFields = { [.authorization: "Bearer \($0)"] }

    static let namings = [
        Naming(method: .post, path: "/auth/zenkey-signin", body: otherSignIn.json),
        Naming(method: .post, path: "/auth/zenkey/sign-in", body: otherSignIn.json),
        Naming(method: .post, path: "/auth/bank/attempts", key: others),
        Naming(method: .get, path: "/auth/zenkey/start?client_type=web&" + other),
        Naming(
            method: .post, path: "/auth/zenkey/start",
            body: #"{"client_type":"ios","client_id":"client-2","redirect_uri":"https://other.example/cb"}"#),
        Naming(
            method: .get, path: "/auth/bank/initiate-login?iss=\(FakeCarrier.issuer)", key: others),
        Naming(
            method: .post, path: "/auth/zenkey/link",
            body: #"{"client_type":"web","client_id":"client-2","redirect_uri":"https://other.example/cb"}"#,
            headers: { [.cookie: "__Host-latchkey_session=\($0)", .origin: "https://login.example"] }),
        Naming(
            method: .post, path: "/users/me/identities",
            body: otherSignIn.code("CODE-2").with("provider", "\"zenkey\"").json, headers: bearer, status: 403),
        Naming(
            method: .post, path: "/auth/zenkey/authorize",
            body: otherSignIn.code("CODE-2").with("context", "\"Pay\"").with("acr_values", "\"a3\"").json,
            headers: bearer, status: 403),
        Naming(
            method: .post, path: "/auth/zenkey-async-signin",
            body: #"{"client_id":"client-2","login_hint":"+13105551234","scope":"openid","mccmnc":"310410","#
                + #""redirect_uri":"https://other.example/cb"}"#, status: 403),
        Naming(
            method: .post, path: "/auth/bank/backchannel", body: #"{"login_hint":"jane@example.com"}"#, key: others,
            status: 403),
    ]

    @Test("for another client cannot spend that client at its provider", arguments: namings)
    func clients(_ row: Naming) async throws {
        let app = try TestApp(
            keys: Self.keys, client: { $0.redirectURIs = ["https://app.example/cb"] }, otherClients: ["client-2"],
            rules: { $0.loginInitiationClient = ClientID("client-1") })
        let token = try await app.token()
        let posts = app.carrier.tokenPosts
        var headers = row.headers(token)
        headers[.accept] = "application/json"
        if row.method == .post { headers[.contentType] = "application/json" }
        let answer = try await app.send(row.method, row.path, headers, body: row.body, apiKey: row.key)
        #expect(answer.status == row.status && answer.error == "unauthorized_client", "\(answer.body)")
        #expect(app.carrier.tokenPosts == posts)
        #expect(app.redirectSignIn.pendingStarts.count == 0)
        let free = try await app.send(row.method, row.path, headers, body: row.body)
        #expect(free.error != "unauthorized_client", "\(free.body)")
    }

    static let calls: [(HTTPRequest.Method, String)] = [
        (.get, "/users/me"), (.patch, "/users/me"), (.delete, "/users/me"), (.get, "/users/me/sessions"),
        (.delete, "/users/me/sessions"), (.delete, "/users/me/sessions/x"), (.get, "/users/me/identities"),
        (.delete, "/users/me/identities/x"), (.delete, "/auth/token"), (.post, "/auth/zenkey/authorize"),
    ]

    @Test("for another client cannot read or change a session", arguments: calls)
    func sessions(_ method: HTTPRequest.Method, _ path: String) async throws {
        let app = try app()
        let token = try await app.token()
        let headers: HTTPFields = [.authorization: "Bearer \(token)", .contentType: "application/json"]
        let before = try await app.me(token).body
        let refused = try await app.send(method, path, headers, body: #"{"name":"Jane"}"#, apiKey: Self.others)
        #expect(refused.status == 403)
        #expect(refused.error == "unauthorized_client")
        #expect(try await app.me(token).body == before)
        let answer = try await app.send(method, path, headers, body: #"{"name":"Jane"}"#, apiKey: Self.mine)
        #expect(answer.error != "unauthorized_client")
    }

    @Test("for another client cannot refresh a session, or end one with a spent token")
    func refresh() async throws {
        let app = try app()
        let tokens = try await app.tokens()
        #expect(try await app.refresh(tokens.refreshToken, apiKey: Self.others).error == "invalid_grant")
        let renewed = try #require(Tokens(try await app.refresh(tokens.refreshToken, apiKey: Self.mine)))
        #expect(try await app.refresh(tokens.refreshToken, apiKey: Self.others).error == "invalid_grant")
        let last = try #require(Tokens(try await app.refresh(renewed.refreshToken, apiKey: Self.mine)))
        #expect(try await app.refresh(tokens.refreshToken, apiKey: Self.others).error == "invalid_grant")
        #expect(try await app.me(last.token).status == 200)
        #expect(try await app.refresh(tokens.refreshToken, apiKey: Self.mine).error == "invalid_grant")
        #expect(try await app.me(last.token).status == 401)
    }

    @Test("for another client cannot introspect or revoke a token")
    func services() async throws {
        let app = try app()
        let tokens = try await app.tokens()
        for hint in ["", "&token_type_hint=refresh_token"] {
            let token = hint.isEmpty ? tokens.token : tokens.refreshToken
            let told = try await app.form("/auth/introspect", "token=\(token)\(hint)", apiKey: Self.others)
            #expect(told.body == #"{"active":false}"#)
            #expect(
                try await app.form("/auth/introspect", "token=\(token)\(hint)", apiKey: Self.mine)
                    .json?["active"]?.bool == true)
        }
        #expect(try await app.form("/auth/revoke", "token=\(tokens.token)", apiKey: Self.others).body == "{}")
        #expect(try await app.me(tokens.token).status == 200)
        #expect(try await app.form("/auth/revoke", "token=\(tokens.token)", apiKey: Self.mine).body == "{}")
        #expect(try await app.me(tokens.token).status == 401)
    }

    @Test("for another client cannot complete a registration, or spend a handle")
    func registration() async throws {
        var rules = TestRegistration()
        rules.isRequired = true
        let app = try app(registration: rules)
        let handle = try #require(try await app.signIn().text("state_key"))
        let (type, body): (HTTPFields, String) = ([.contentType: "application/json"], #"{"state_key":"\#(handle)"}"#)
        for path in ["/users", "/auth/register"] {
            let refused = try await app.send(.post, path, type, body: body, apiKey: Self.others)
            #expect(refused.status == 401)
            #expect(refused.error == "invalid_token")
        }
        #expect(try await app.send(.post, "/users", type, body: body, apiKey: Self.mine).status == 201)
    }

    @Test("for another client cannot start a backchannel authentication")
    func backchannelAuthentication() async throws {
        let app = try app()
        let body = """
            client_id=client-1&login_hint=%2B13105551234&scope=openid&mccmnc=310410&redirect_uri=https://app.example/cb
            """
        let answer = try await app.form("/auth/zenkey-async-signin", body, apiKey: Self.others)
        #expect(answer.status == 403)
        #expect(answer.error == "unauthorized_client")
        #expect(try await app.form("/auth/zenkey-async-signin", body, apiKey: Self.mine).error != "unauthorized_client")
    }

    @Test("for certain origins is valid from these only, and lets them read the response")
    func origins() async throws {
        let key = "KEY-for-a-page"
        let app = try TestApp(
            allowedOrigins: ["https://other.example"],
            keys: [key: APIGrant(origins: ["https://shop.example"])])
        for origin in [
            nil, "https://other.example", "https://shop.example/", "https://shop.example.evil.example", "null",
        ] {
            let headers: HTTPFields = origin.map { [.origin: $0] } ?? [:]
            let answer = try await app.send(.get, "/users/me", headers, apiKey: key)
            #expect(answer.status == 401)
            #expect(answer.error == "invalid_api_key", "\(origin ?? "none")")
        }
        let mine: HTTPFields = [.origin: "https://shop.example"]
        let answer = try await app.send(.get, "/users/me", mine, apiKey: key)
        #expect(answer.error == "invalid_token")
        #expect(answer.headers[.accessControlAllowOrigin] == "https://shop.example")
        #expect(try await app.send(.get, "/users/me", mine, apiKey: nil).error == "invalid_api_key")
        let preflight = try await app.send(
            .options, "/users/me", [.origin: "https://shop.example", .accessControlRequestMethod: "GET"], apiKey: nil)
        #expect(preflight.status == 204)
        #expect(preflight.headers[.accessControlMaxAge] == "7200")
        #expect(preflight.headers[.accessControlAllowMethods]?.contains("PATCH") == true)
    }

    @Test("is not needed from a client's own origin, for that client only")
    func clientOrigins() async throws {
        let app = try TestApp(
            clientOrigins: ["https://one.example": ["client-1"], "https://two.example": ["client-2"]])
        func signIn(from origin: String, code: String) async throws -> Answer {
            try await app.send(
                .post, "/auth/zenkey-signin", [.contentType: "application/json", .origin: origin],
                body: SignInBody().code(code).json, apiKey: nil)
        }
        let token = try #require(try await signIn(from: "https://one.example", code: "CODE-1").text("token"))
        #expect(try await signIn(from: "https://two.example", code: "CODE-2").error == "unauthorized_client")
        #expect(try await signIn(from: "https://three.example", code: "CODE-3").error == "invalid_api_key")
        let rows = [("https://one.example", 200), ("https://two.example", 403), ("https://three.example", 401)]
        for (origin, status) in rows {
            let headers: HTTPFields = [.authorization: "Bearer \(token)", .origin: origin]
            let answer = try await app.send(.get, "/users/me", headers, apiKey: nil)
            #expect(answer.status == status)
            // The requesting page may read a refusal, too, and no other page may.
            #expect(answer.headers[.accessControlAllowOrigin] == (status == 401 ? nil : origin))
        }
    }
}

/// API keys in the database.
@Suite("An API key in the database")
struct StoredAPIKeyTests {
    private static let key = "KEY-in-the-database-" + String(repeating: "k", count: 30)

    private func record(
        _ app: TestApp, name: String = "web", clients: [String]? = nil, origins: [String]? = nil
    ) throws -> StoredAPIKey {
        StoredAPIKey(
            name: name, hash: TokenHash(sha256Of: Self.key), clients: clients, origins: origins,
            createdAt: app.clock.now)
    }

    private func error(_ app: TestApp, _ headers: HTTPFields = [:]) async throws -> String? {
        try await app.send(.get, "/users/me", headers, apiKey: Self.key).error
    }

    @Test("is accepted within five seconds of its creation, and refused within five of its revocation")
    func bound() async throws {
        let app = try TestApp()
        #expect(try await error(app) == "invalid_api_key")
        #expect(try await app.addAPIKey(record(app)) == .added)
        app.clock.advance(bySeconds: 5)
        #expect(try await error(app) == "invalid_token")
        #expect(try await app.revokeAPIKey("web", at: app.clock.now))
        app.clock.advance(bySeconds: 5)
        #expect(try await error(app) == "invalid_api_key")
    }

    @Test("that is unknown costs one read in five seconds")
    func guessing() async throws {
        let app = try TestApp()
        for number in 0..<50 {
            let answer = try await app.send(.get, "/users/me", apiKey: "guess-\(number)")
            #expect(answer.error == "invalid_api_key")
        }
        #expect(app.storeScript.count(of: .apiKeys) == 1)
        app.clock.advance(bySeconds: 5)
        #expect(try await error(app) == "invalid_api_key")
        #expect(app.storeScript.count(of: .apiKeys) == 2)
        // Configured keys need no database.
        #expect(try await app.send(.get, "/users/me").error == "invalid_token")
        #expect(app.storeScript.count(of: .apiKeys) == 2)
    }

    @Test("is neither accepted nor refused while the store fails")
    func cannotTell() async throws {
        let app = try TestApp()
        app.storeScript.fail(with: StorageError(.unavailable, reason: "scripted"))
        let answer = try await app.send(.get, "/users/me", apiKey: Self.key)
        #expect(answer.status == 503)
        #expect(answer.error == "temporarily_unavailable")
        #expect(try await app.send(.get, "/users/me").error == "invalid_token")
        app.storeScript.fail(with: nil)
        #expect(try await error(app) == "invalid_api_key")
    }

    @Test("is restricted to its clients and origins, also in preflights")
    func scope() async throws {
        let app = try TestApp()
        let token = try await app.token()
        #expect(
            try await app.addAPIKey(record(app, clients: ["client-2"], origins: ["https://shop.example"]))
                == .added)
        let mine: HTTPFields = [.origin: "https://shop.example", .authorization: "Bearer \(token)"]
        let preflight = try await app.send(
            .options, "/users/me", [.origin: "https://shop.example", .accessControlRequestMethod: "GET"], apiKey: nil)
        #expect(preflight.status == 204)
        #expect(preflight.headers[.accessControlAllowOrigin] == "https://shop.example")
        #expect(try await error(app) == "invalid_api_key")
        #expect(try await error(app, mine) == "unauthorized_client")
    }
}

extension TestApp {
    func addAPIKey(_ key: StoredAPIKey) async throws -> APIKeyAddition {
        let event = AuditEvent(at: key.createdAt, AuditEvent.Kind("api_key.created"), user: nil, by: .operating("pat"))
        return try await testStore.store.addAPIKey(key, limit: 10, recording: event)
    }

    fileprivate func revokeAPIKey(_ name: String, at now: Timestamp) async throws -> Bool {
        let event = AuditEvent(at: now, AuditEvent.Kind("api_key.revoked"), user: nil, by: .operating("pat"))
        return try await testStore.store.revokeAPIKey(name, at: now, recording: event)
    }
}
