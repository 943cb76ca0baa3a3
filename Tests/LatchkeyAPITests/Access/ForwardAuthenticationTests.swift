import HTTPServer
import HTTPTypes
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

@testable import LatchkeyAPI
@testable import Redirects
@testable import Services

/// `GET /auth/verify`, as reverse proxies call it.
@Suite("A proxy")
struct ForwardAuthenticationTests {
    private static let proxy = "192.0.2.99"
    private static let browser = "text/html,application/xhtml+xml,*/*;q=0.8"
    private static let page = "https://login.example/base/sign-in"

    private func app(keys: [String: APIGrant] = [:], allowedOrigins: [String] = []) throws -> TestApp {
        try TestApp(
            allowedOrigins: allowedOrigins, keys: keys,
            client: { $0.redirectURIs = ["https://app.example/cb", Self.page] }, limits: try Self.trustingProxy())
    }

    private static func trustingProxy() throws -> RequestLimits {
        var limits = RequestLimits()
        limits.proxies = TrustedProxies(ranges: [try #require(IPAddressRange(proxy))])
        return limits
    }

    private func fields(_ fields: [(String, String)]) throws -> HTTPFields {
        var all = HTTPFields()
        for (name, value) in fields {
            all.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
        }
        return all
    }

    /// Sends a request as the trusted proxy does, for a client of its own.
    private func verify(
        _ app: TestApp, _ more: [(String, String)] = [], at path: String = "/auth/verify",
        _ method: HTTPRequest.Method = .get
    ) async throws -> Answer {
        let fields = try fields([("X-Forwarded-For", "203.0.113.7")] + more)
        return try await app.send(method, path, fields, apiKey: nil, from: Self.proxy)
    }

    private func told(_ answer: Answer, _ name: String) throws -> String? {
        answer.headers[try #require(HTTPField.Name(name))]
    }

    @Test("learns the user and the session of a cookie and of a bearer token")
    func identity() async throws {
        let app = try app()
        for code in ["CODE-1", "CODE-2"] {
            let token = try await app.token(SignInBody().code(code))
            let user = try #require(try await app.me(token).text("sub"))
            let session = try #require(
                try await app.sessions(token).first { $0["current"]?.bool == true }?["id"]?.string)
            for field in [
                ("Authorization", "Bearer \(token)"), ("Cookie", "a=b; __Host-latchkey_session=\(token)"),
            ] {
                for method in [HTTPRequest.Method.get, .head] {
                    let answer = try await verify(app, [field], method)
                    #expect(answer.status == 200)
                    #expect(answer.body.isEmpty)
                    #expect(answer.headers[.cacheControl] == "no-store")
                    #expect(try told(answer, "X-Auth-User") == user)
                    #expect(try told(answer, "X-Auth-Session") == session)
                    #expect(try told(answer, "X-Auth-Email") == nil)
                }
            }
        }
    }

    /// Who asks, and the error; nil for an identity.
    private static let callerRows: [(peer: String, fields: [(String, String)], key: String?, error: String?)] = [
        (proxy, [("X-Forwarded-For", "203.0.113.7")], nil, nil),
        (proxy, [("X-Forwarded-For", "203.0.113.7")], TestApp.apiKey, nil),
        ("192.0.2.1", [], TestApp.apiKey, nil), ("192.0.2.1", [("X-Forwarded-For", "203.0.113.7")], "mine", nil),
        (proxy, [], nil, "invalid_api_key"), (proxy, [("Forwarded", "for=203.0.113.7")], nil, "invalid_api_key"),
        ("192.0.2.1", [("X-Forwarded-For", "203.0.113.7")], nil, "invalid_api_key"),
        ("127.0.0.1", [("X-Forwarded-For", "203.0.113.7")], nil, "invalid_api_key"),
        ("192.0.2.1", [("Origin", "https://app.example")], nil, "invalid_api_key"),
        // A key that is sent counts, also one of the client's that the proxy lets through.
        (proxy, [("X-Forwarded-For", "203.0.113.7")], "unknown", "invalid_api_key"),
        ("192.0.2.1", [], "other", "unauthorized_client"),
    ]

    @Test("needs an API key unless it is trusted and forwards", arguments: callerRows.indices)
    func callers(_ index: Int) async throws {
        let row = Self.callerRows[index]
        let app = try app(
            keys: ["mine": APIGrant(clients: ["client-1"]), "other": APIGrant(clients: ["client-2"])],
            allowedOrigins: ["https://app.example"])
        let token = try await app.token()
        for session in [("Authorization", "Bearer \(token)"), ("Cookie", "__Host-latchkey_session=\(token)")] {
            let answer = try await app.send(
                .get, "/auth/verify", try fields(row.fields + [session, ("Accept", Self.browser)]), apiKey: row.key,
                from: row.peer)
            #expect(answer.error == row.error)
            #expect(answer.status == (row.error == nil ? 200 : row.error == "invalid_api_key" ? 401 : 403))
            #expect(try told(answer, "X-Auth-User") == nil || row.error == nil)
            // A proxy passes the challenge on, and a browser would ask its user for a password.
            #expect(answer.headers[.wwwAuthenticate]?.contains("Basic") != true)
        }
    }

    /// What a request without a valid session has.
    private static let strangerRows: [[(String, String)]] = [
        [], [("Authorization", "Bearer \(String(repeating: "a", count: 48))")], [("Authorization", "Bearer ENDED")],
        [("Cookie", "__Host-latchkey_session=ENDED")], [("Cookie", "latchkey_session=LIVE")],
        [("Cookie", "__Host-latchkey_session=LIVE; __Host-latchkey_session=LIVE")],
        [("Cookie", "__Host-latchkey_refresh=LIVE")],
        // The credentials that a request names count, and no others.
        [("Authorization", "Basic YTpi"), ("Cookie", "__Host-latchkey_session=LIVE")],
        [("Authorization", "Bearer ENDED"), ("Cookie", "__Host-latchkey_session=LIVE")],
        [("Authorization", "Bearer LIVE"), ("Authorization", "Bearer LIVE")],
    ]

    @Test("sends browsers to the sign-in page and refuses others, without a session", arguments: strangerRows.indices)
    func strangers(_ index: Int) async throws {
        let app = try app()
        let (ended, live) = (try await app.token(), try await app.token(SignInBody().code("CODE-2")))
        _ = try await app.asUser(.delete, "/auth/token", ended)
        let row = Self.strangerRows[index].map { name, value in
            (name, value.replacing("ENDED", with: ended).replacing("LIVE", with: live))
        }
        for accept in ["*/*", "application/json", "image/avif,*/*;q=0.8"] {
            let answer = try await verify(app, row + [("Accept", accept)])
            #expect(answer.status == 401)
            #expect(answer.error == "invalid_token")
            #expect(answer.headers[.wwwAuthenticate]?.hasPrefix("Bearer") == true)
            #expect(answer.headers[.location] == nil)
        }
        let sent = try await verify(app, row + [("Accept", Self.browser)])
        #expect(sent.status == 303)
        #expect(sent.headers[.location] == Self.page)
        #expect(sent.headers[.cacheControl] == "no-store")
        // The browser keeps its cookies.
        #expect(sent.headers[.setCookie] == nil)
        let forNginx = try await verify(app, row + [("Accept", Self.browser)], at: "/auth/verify?redirect=false")
        #expect(forNginx.status == 401)
        #expect(forNginx.headers[.location] == Self.page)
        for answer in [sent, forNginx] { #expect(try told(answer, "X-Auth-User") == nil) }
    }

    @Test("that keeps the method is not told that anybody may send OPTIONS")
    func options() async throws {
        let app = try app(allowedOrigins: ["https://app.example"])
        let token = try await app.token()
        let preflight = [("Origin", "https://app.example"), ("Access-Control-Request-Method", "POST")]
        for fields in [[], preflight] {
            #expect(try await verify(app, fields, .options).status == 401)
            let known = try await verify(app, fields + [("Authorization", "Bearer \(token)")], .options)
            #expect(known.status == 200)
            #expect(try told(known, "X-Auth-User") != nil)
        }
        for method in [HTTPRequest.Method.post, .put, .patch, .delete] {
            let answer = try await verify(app, [("Authorization", "Bearer \(token)")], method)
            #expect(answer.status == 405)
            #expect(answer.headers[.allow] == "GET, HEAD, OPTIONS")
        }
        // Everywhere else a browser gets its preflight.
        let usual = try await app.send(.options, "/auth/introspect", try fields(preflight), apiKey: nil)
        #expect(usual.status == 204)
    }

    private static let here = [
        ("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "login.example"), ("X-Forwarded-Uri", "/app?a=b&c=%20"),
    ]
    private static let returned = page + "?rd=https%3A%2F%2Flogin.example%2Fapp%3Fa%3Db%26c%3D%2520"

    /// What the proxy says of a browser's request, and where the browser is sent.
    private static let returnRows: [(path: String, fields: [(String, String)], location: String)] = [
        ("", here, returned), ("", here + [("X-Forwarded-Method", "GET")], returned),
        ("", here + [("X-Forwarded-Method", "HEAD")], returned), ("", Array(here.dropFirst()), page),
        // A form cannot be sent again.
        ("", here + [("X-Forwarded-Method", "POST")], page),
        ("", here + [("X-Forwarded-Host", "login.example")], page),
        ("?rd=https%3A%2F%2Flogin.example%2Fx", here, page + "?rd=https%3A%2F%2Flogin.example%2Fx"),
        ("?rd=https%3A%2F%2Fshop.example", [], page + "?rd=https%3A%2F%2Fshop.example"),
        ("?rd=https%3A%2F%2FSHOP.example%3A443%2Fx", [], page + "?rd=https%3A%2F%2FSHOP.example%3A443%2Fx"),
    ]
    private static let refusedURLs = [
        "https://evil.example/", "http://login.example/", "https://login.example:8443/",
        "https://login.example@evil.example/", "https://login.example.evil.example/", "https://login.example\\@evil/",
        "https://evil.example\\.login.example/", "https://evil.example#https://login.example/", "//login.example/",
        "javascript:alert(1)", "/app", "login.example", "https://", "https://login.example/a b",
        "https://login.example/\u{E9}", "https://login.example/" + String(repeating: "a", count: 2048),
    ]

    @Test("has browsers come back to where they were, on allowed origins only")
    func returns() async throws {
        let api = try api(ServicesSettings(), try app())
        func location(_ path: String, _ fields: [(String, String)], from peer: String = Self.proxy) async throws
            -> String?
        {
            let all = [("X-Forwarded-For", "203.0.113.7"), ("Accept", Self.browser)] + fields
            let answer = try await send(api, .get, "/auth/verify" + path, all, from: peer)
            #expect(answer.status == 303)
            return answer.headers[.location]
        }
        for row in Self.returnRows { #expect(try await location(row.path, row.fields) == row.location) }
        for url in Self.refusedURLs {
            let query = String(decoding: PercentEncoding.form([(name: "rd", value: url)]), as: UTF8.self)
            #expect(try await location("?" + query, []) == Self.page, "\(url)")
        }
        for (name, value) in [
            ("X-Forwarded-Host", "evil.example"), ("X-Forwarded-Host", "login.example, evil.example"),
            ("X-Forwarded-Proto", "http"), ("X-Forwarded-Proto", "javascript"),
            ("X-Forwarded-Host", "evil.example/login.example"), ("X-Forwarded-Uri", "@evil.example/"),
            ("X-Forwarded-Uri", ".evil.example/"),
        ] {
            let fields = Self.here.filter { $0.0 != name } + [(name, value)]
            #expect(try await location("", fields) == Self.page, "\(name): \(value)")
        }
        // With a key, a proxy says who asks, and not that its fields are its own.
        let key = ("X-API-KEY", TestApp.apiKey)
        #expect(try await location("", Self.here + [key], from: "192.0.2.1") == Self.page)
        let named = "?rd=https%3A%2F%2Flogin.example%2Fx"
        #expect(try await location(named, [key], from: "192.0.2.1") == Self.page + named)
    }

    /// An API with other settings of its features than ``TestApp`` has, on the same store.
    private func api(_ settings: ServicesSettings, _ app: TestApp) throws -> LatchkeyAPI {
        let shop = try #require(Origin("https://shop.example"))
        return LatchkeyAPI(
            useCases: app.useCases, apiKeys: APIKeys([(TokenHash(sha256Of: TestApp.apiKey), APIGrant())]),
            baseURL: BaseURL("https://login.example/base"), limits: try Self.trustingProxy(),
            features: [
                try ServicesFeature(settings, in: .test(app.testStore.store)),
                RedirectsFeature(
                    RedirectsSettings(), in: .test(app.testStore.store) { $0.allowedOrigins = [shop] }),
            ], logger: app.log.logger)
    }

    private func send(
        _ api: LatchkeyAPI, _ method: HTTPRequest.Method, _ path: String, _ fields: [(String, String)],
        from peer: String = Self.proxy
    ) async throws -> Answer {
        let request = try Request(
            method, path, headers: try self.fields(fields), body: [], peer: SocketAddress(host: peer, port: 1))
        return Answer(try await api.handler()(request))
    }

    @Test("of Envoy's kind keeps the method, and has the path of the request after its own")
    func appendedPath() async throws {
        let app = try app()
        let api = try api(ServicesSettings(), app)
        let token = try await app.token()
        let methods: [HTTPRequest.Method] = [.get, .head, .post, .put, .patch, .delete, .options]
        for (method, path) in methods.flatMap({ method in ["/", "/app", "/a/b%20c?rd=x"].map { (method, $0) } }) {
            let forwarded = [("X-Forwarded-For", "203.0.113.7")]
            let session = [("Cookie", "__Host-latchkey_session=\(token)")]
            let known = try await send(api, method, "/forward-auth" + path, forwarded + session)
            #expect(known.status == 200, "\(method) \(path)")
            #expect(try told(known, "X-Auth-User") != nil)
            #expect(try await send(api, method, "/forward-auth" + path, forwarded).status == 401, "\(method) \(path)")
            #expect(try await send(api, method, "/forward-auth" + path, session).error == "invalid_api_key")
        }
        #expect(try await send(api, .get, "/forward-authentication", []).status == 404)
        let navigation = [
            ("X-Forwarded-For", "203.0.113.7"), ("X-Forwarded-Proto", "https"), ("Host", "login.example"),
            ("Accept", Self.browser),
        ]
        // The query is the application's, and says nothing to this server.
        let path = "/forward-auth/a/b%20c?rd=https%3A%2F%2Fshop.example&redirect=false"
        let sent = try await send(api, .get, path, navigation)
        #expect(sent.status == 303)
        let original = "https://login.example/a/b%20c?rd=https%3A%2F%2Fshop.example&redirect=false"
        let query = String(decoding: PercentEncoding.form([(name: "rd", value: original)]), as: UTF8.self)
        #expect(sent.headers[.location] == Self.page + "?" + query)
        #expect(try await send(api, .post, path, navigation).headers[.location] == Self.page)
    }

    @Test("of Envoy's kind never gets a response of another route, whatever the application's path is")
    func appendedRoutes() async throws {
        let app = try app(allowedOrigins: ["https://app.example"])
        let handler = app.api.handler()
        let fields = try fields([
            ("X-Forwarded-For", "203.0.113.7"), ("Accept", Self.browser), ("Origin", "https://app.example"),
        ])
        let paths = app.api.routePatterns.flatMap { pattern in
            let path = pattern.replacing(/\{[a-z_]+\}/, with: "verify")
            // As it is, and as the application's part of it.
            return [path]
                + path.split(separator: "/").indices.map {
                    "/" + path.split(separator: "/")[$0...].joined(separator: "/")
                }
        }
        #expect(paths.contains("/logged-out") && paths.contains("/callback") && paths.count > 50)
        for path in Set(paths + ["/", "/index.html", "/healthz"]) {
            for method in [HTTPRequest.Method.get, .head, .post, .put, .patch, .delete, .options] {
                let request = try Request(
                    method, "/forward-auth" + path, headers: fields, peer: SocketAddress(host: Self.proxy, port: 1))
                let status = try await handler(request).status
                #expect(status == .seeOther, "\(method) \(path)")
            }
        }
    }

    @Test("learns the attributes that are configured, and of addresses only those that a provider has verified")
    func attributes() async throws {
        let app = try app()
        var settings = ServicesSettings()
        settings.attributes = ForwardedAttribute.allCases
        let api = try api(settings, app)
        func attributes(_ token: String) async throws -> [String: String] {
            let answer = try await send(
                api, .get, "/auth/verify",
                [
                    ("X-Forwarded-For", "203.0.113.7"), ("Authorization", "Bearer \(token)"),
                    // What a client claims is never told.
                    ("X-Auth-User", "u_1"), ("X-Auth-Email", "root@mail.example"),
                ])
            #expect(answer.status == 200)
            return Dictionary(
                answer.headers.filter { $0.name.rawName.hasPrefix("X-Auth-") }.map { ($0.name.rawName, $0.value) }
            ) { "\($0), \($1)" }
        }
        app.carrier.script {
            $0.userInfo = { _ throws(OutboundError) in
                .json(
                    #"""
                    {"sub":"SUBJECT-of-jane","name":"Zoë 100%","email":"jane@mail.example","email_verified":true,
                    "phone_number":"+13101234567"}
                    """#)
            }
        }
        let token = try await app.token(SignInBody().with("scope", "\"openid name email phone\""))
        let me = try await app.me(token)
        let all = try await attributes(token)
        #expect(
            all.keys.sorted() == [
                "X-Auth-Client-Id", "X-Auth-Email", "X-Auth-Family-Name", "X-Auth-Given-Name", "X-Auth-Name",
                "X-Auth-Phone-Number", "X-Auth-Postal-Code", "X-Auth-Session", "X-Auth-User", "X-Auth-User-Id",
                "X-Auth-Username",
            ])
        #expect(all["X-Auth-User"] == me.text("sub"))
        #expect(all["X-Auth-User-Id"] == me.integer("user_id").map(String.init))
        #expect(all["X-Auth-Client-Id"] == "client-1")
        #expect(all["X-Auth-Email"] == "jane@mail.example")
        #expect(all["X-Auth-Name"] == "Zo%C3%AB 100%25")
        // Not verified, and not known: empty, so that a proxy replaces what the client sent.
        #expect(all["X-Auth-Phone-Number"]?.isEmpty == true)
        #expect(all["X-Auth-Username"]?.isEmpty == true)
        // An address that the user writes may be another user's.
        #expect(try await app.patch(token, #"{"email":"root@mail.example","username":"root"}"#).status == 200)
        let edited = try await attributes(token)
        #expect(edited["X-Auth-Email"]?.isEmpty == true)
        #expect(edited["X-Auth-Username"] == "root")
    }

    @Test(
        "gets values in printable ASCII only",
        arguments: [
            ("", ""), ("Jane Doe", "Jane Doe"), ("100%", "100%25"), ("a\r\nX-Auth-User: b", "a%0D%0AX-Auth-User: b"),
            ("\u{7F}\t\0", "%7F%09%00"), ("Zoë", "Zo%C3%AB"), ("\u{1F600}~", "%F0%9F%98%80~"),
        ])
    func texts(text: String, field: String) {
        #expect(ForwardedRequest.fieldText(text) == field)
    }

    @Test("is not told that a user is signed out while the store cannot be asked")
    func outage() async throws {
        let app = try app()
        let token = try await app.token()
        let session = [("Authorization", "Bearer \(token)"), ("Accept", Self.browser)]
        app.clock.advance(bySeconds: 6)
        app.storeScript.fail(with: StorageError(.unavailable, reason: "scripted"))
        let answer = try await verify(app, session)
        #expect(answer.status == 503)
        #expect(answer.error == "temporarily_unavailable")
        app.storeScript.fail(with: nil)
        #expect(try await verify(app, session).status == 200)
    }

    // MARK: The sign-in page

    @Test("gets a browser back from the sign-in page, once, and a user who is signed in has a link")
    func returnOfBrowser() async throws {
        let app = try app()
        let page = PageSessionTests.Page(app)
        let there = "/sign-in?rd=https%3A%2F%2Flogin.example%2Fapp%3Fa%3Db"
        func signIn() async throws -> Answer {
            let started = try await page.send(
                .get, "/auth/zenkey/start?client_type=web&redirect_uri=/sign-in&mccmnc=310410", origin: nil)
            let items = try #require(
                Query(started.headers[.location]?.split(separator: "?", maxSplits: 1).last.map(String.init) ?? ""))
            app.carrier.script { $0.nonce = items["nonce"] }
            let state = try #require(items["state"])
            let done = try await page.send(
                .get, "/auth/zenkey/callback?code=CODE-\(state.prefix(8))&state=\(state)", origin: nil)
            let end = try #require(done.headers[.location])
            #expect(end.hasPrefix(Self.page + "?"))
            return try await page.send(.get, String(end.dropFirst("https://login.example/base".count)), origin: nil)
        }
        let asked = try await page.send(.get, there, origin: nil)
        #expect(asked.status == 200)
        #expect(!asked.body.contains("login.example/app"))
        #expect(page.cookies["__Host-latchkey_destination"] != nil)
        let done = try await signIn()
        #expect(done.status == 303)
        #expect(done.headers[.location] == "https://login.example/app?a=b")
        #expect(page.cookies["__Host-latchkey_destination"] == nil)
        // A browser that is signed in already is not sent anywhere by itself: it could come back at once, for ever.
        let again = try await page.send(.get, there, origin: nil)
        #expect(again.status == 200)
        #expect(again.body.contains("href=\"https://login.example/app?a=b\""))
        #expect(page.cookies["__Host-latchkey_destination"] == nil)
        #expect(
            try await page.send(.get, "/sign-in?rd=https%3A%2F%2Fevil.example", origin: nil).body.contains("evil")
                == false)
    }

    @Test("does not get a browser back that came to the sign-in page for another reason, or with a made-up cookie")
    func returnGivenUp() async throws {
        let page = PageSessionTests.Page(try app())
        _ = try await page.send(.get, "/sign-in?rd=https%3A%2F%2Flogin.example%2Fapp", origin: nil)
        #expect(page.cookies["__Host-latchkey_destination"] != nil)
        #expect(try await page.send(.get, "/sign-in?action=login&status=success", origin: nil).status == 200)
        #expect(page.cookies["__Host-latchkey_destination"] != nil, "without a session it waits")
        _ = try await page.send(.get, "/sign-in", origin: nil)
        #expect(page.cookies["__Host-latchkey_destination"] == nil)
        _ = try await page.signIn()
        #expect(page.session != nil)
        page.cookies["__Host-latchkey_destination"] = Base64URL.encode(Array("https://evil.example/".utf8))
        let made = try await page.send(.get, "/sign-in?action=login&status=success", origin: nil)
        #expect(made.status == 200)
        #expect(!made.body.contains("evil"))
    }

    @Test("gets a browser back whose session has to be renewed, without a sign-in", arguments: [false, true])
    func renewal(_ hasEnded: Bool) async throws {
        let app = try app()
        let page = PageSessionTests.Page(app)
        _ = try await page.signIn()
        let former = try #require(page.session)
        if hasEnded { try await app.endSessionElsewhere(former) }
        app.clock.advance(bySeconds: 3601)
        #expect(!(try await page.send(.get, "/sign-in", origin: nil)).body.contains("form-post.js"))
        let asked = try await page.send(.get, "/sign-in?rd=https%3A%2F%2Flogin.example%2Fapp", origin: nil)
        #expect(asked.body.contains("<form class=\"ways\" method=\"post\" action=\"/base/sign-in\">"))
        #expect(asked.body.contains("<script src=\"/base/auth/form-post.js\"></script>"))
        // Chromium applies the policy also to where the browser goes in the end.
        #expect(asked.headers[.contentSecurityPolicy]?.contains("form-action") == false)
        for origin in [nil, "https://evil.example"] {
            #expect(try await page.send(.post, "/sign-in", form: "", origin: origin).status == 403)
        }
        let renewed = try await page.send(.post, "/sign-in", form: "")
        #expect(renewed.status == 303)
        let location = try #require(renewed.headers[.location])
        let end = try await page.send(.get, String(location.dropFirst("/base".count)), origin: nil)
        if hasEnded {
            #expect(location == "/base/sign-in?action=login&status=failure&error=invalid_grant")
            #expect(end.status == 200)
            #expect(end.body.contains("<code>invalid_grant</code>"))
            // Otherwise the script would try for ever.
            #expect(!end.body.contains("form-post.js"))
            #expect(page.refreshToken != nil)
        } else {
            #expect(end.headers[.location] == "https://login.example/app")
            #expect(page.session != former)
            #expect(try await page.me().status == 200)
        }
    }

    @Test("A browser without a session has none to renew")
    func nothingToRenew() async throws {
        let page = PageSessionTests.Page(try app())
        let answer = try await page.send(.post, "/sign-in", form: "")
        #expect(answer.status == 303)
        #expect(answer.headers[.location] == "/base/sign-in")
    }
}
