import HTTPServer
import HTTPTypes
import LatchkeyAPI
import Logging
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

/// API keys, origins, and the form of all responses.
@Suite("Access")
struct AccessTests {
    static let keyed: [(HTTPRequest.Method, String)] = [
        (.post, "/auth/zenkey-signin"), (.post, "/auth/zenkey/sign-in"), (.post, "/auth/zenkey/attempts"),
        (.post, "/users"), (.post, "/auth/register"), (.get, "/users/me"), (.delete, "/users/me"),
        (.delete, "/auth/token"),
    ]

    @Test("Every API route checks the API key first", arguments: keyed)
    func apiKey(_ method: HTTPRequest.Method, _ path: String) async throws {
        let app = try TestApp()
        for key in [nil, "", TestApp.apiKey + "x", "api-key-of-the-test"] {
            let answer = try await app.send(method, path, [.authorization: "Bearer x"], body: "?", apiKey: key)
            #expect(answer.status == 401)
            #expect(answer.error == "invalid_api_key")
            #expect(answer.headers[.wwwAuthenticate] != nil)
            #expect(answer.text("request_id") == answer.requestID)
        }
    }

    @Test("A repeated API key is refused, whatever the origin")
    func keyTwice() async throws {
        let app = try TestApp(allowedOrigins: ["https://web.example"])
        var headers: HTTPFields = [.origin: "https://web.example"]
        let name = try #require(HTTPField.Name("X-API-KEY"))
        headers.append(HTTPField(name: name, value: TestApp.apiKey))
        headers.append(HTTPField(name: name, value: TestApp.apiKey))
        #expect(try await app.send(.get, "/users/me", headers, apiKey: nil).error == "invalid_api_key")
    }

    /// Routes for signed-in callers, with a body that is refused or changes nothing that the next row needs.
    static let signedIn: [(method: HTTPRequest.Method, path: String)] = [
        (.get, "/users/me"), (.patch, "/users/me"), (.get, "/users/me/identities"), (.post, "/users/me/identities"),
        (.delete, "/users/me/identities/x"), (.get, "/users/me/sessions"), (.delete, "/users/me/sessions/x"),
        (.delete, "/users/me/sessions"), (.get, "/auth/zenkey/resources/x"), (.post, "/auth/zenkey/authorize"),
        (.post, "/auth/zenkey/logout"), (.delete, "/auth/token"), (.delete, "/users/me"),
    ]

    /// The two other readers of the session are a key for one client and the limit of changes.
    @Test("A signed-in request looks its session up once", arguments: signedIn)
    func oneLookUp(_ method: HTTPRequest.Method, _ path: String) async throws {
        var limits = RequestLimits()
        limits.quotas[.changesPerUser] = .init(count: 100, seconds: 60)
        let app = try TestApp(keys: ["KEY-of-one-client": APIGrant(clients: ["client-1"])], limits: limits)
        let headers: HTTPFields = [
            .authorization: "Bearer \(try await app.token())", .contentType: "application/json",
        ]
        func lookUps() -> UInt64 {
            let statistics = app.useCases.sessions.statistics
            return statistics.cacheHits + statistics.cacheMisses
        }
        let before = lookUps()
        let answer = try await app.send(method, path, headers, body: "{}", apiKey: "KEY-of-one-client")
        #expect(answer.status != 401 && answer.status != 403)
        #expect(lookUps() - before == 1)
    }

    static let openPages: [(String, Int)] = [("/healthz", 200), ("/readyz", 200), ("/", 200), ("/style.css", 200)]

    @Test("Pages and health need no key", arguments: openPages)
    func openPage(_ path: String, _ status: Int) async throws {
        #expect(try await TestApp().send(.get, path, apiKey: nil).status == status)
    }

    static let authorizations: [(String?, String)] = [
        (nil, "Bearer"), ("Basic eDp5", #"Bearer error="invalid_token""#),
        ("Bearer", #"Bearer error="invalid_token""#), ("Bearer a b", #"Bearer error="invalid_token""#),
        ("Bearer a,b", #"Bearer error="invalid_token""#),
        ("Bearer \(String(repeating: "a", count: 513))", #"Bearer error="invalid_token""#),
        ("Bearer \(String(repeating: "a", count: 43))", #"Bearer error="invalid_token""#),
    ]

    @Test("Without a session the response is 401 with a challenge", arguments: authorizations)
    func challenge(_ authorization: String?, _ challenge: String) async throws {
        let headers: HTTPFields = authorization.map { [.authorization: $0] } ?? [:]
        for (method, path) in [(HTTPRequest.Method.get, "/users/me"), (.delete, "/users/me"), (.delete, "/auth/token")]
        {
            let answer = try await TestApp().send(method, path, headers)
            #expect(answer.status == 401)
            #expect(answer.error == "invalid_token")
            #expect(answer.headers[.wwwAuthenticate] == challenge)
        }
    }

    @Test("The scheme is case-insensitive; two Authorization fields are refused")
    func scheme() async throws {
        let app = try TestApp()
        let token = try await app.token()
        #expect(try await app.send(.get, "/users/me", [.authorization: "bEARER \(token)"]).status == 200)
        var twice: HTTPFields = [:]
        twice.append(HTTPField(name: .authorization, value: "Bearer \(token)"))
        twice.append(HTTPField(name: .authorization, value: "Bearer \(token)"))
        #expect(try await app.send(.get, "/users/me", twice).status == 401)
    }

    @Test("An allowed origin needs no key and may read the response; another origin may not")
    func origins() async throws {
        let app = try TestApp(allowedOrigins: ["https://web.example"])
        let mine: HTTPFields = [.origin: "https://web.example"]
        let answer = try await app.send(.get, "/users/me", mine, apiKey: nil)
        #expect(answer.error == "invalid_token")
        #expect(answer.headers[.accessControlAllowOrigin] == "https://web.example")
        #expect(answer.headers[.vary] == "Origin")
        let wrongKey = try await app.send(.get, "/users/me", mine, apiKey: "wrong")
        #expect(wrongKey.error == "invalid_api_key")
        for origin in ["https://web.example.evil.example", "https://web.example/", "http://web.example", "null"] {
            let other = try await app.send(.get, "/users/me", [.origin: origin], apiKey: nil)
            #expect(other.error == "invalid_api_key")
            #expect(other.headers[.accessControlAllowOrigin] == nil)
        }
    }

    @Test("The refusal of a page names allowed_origins, and does not tell which origins and keys there are")
    func refusedPage() async throws {
        let app = try TestApp(
            allowedOrigins: ["https://web.example"],
            keys: ["KEY-of-one-origin": APIGrant(origins: ["https://kiosk.example"])])
        func description(_ headers: HTTPFields, _ key: String?, _ path: String = "/users/me") async throws -> String {
            let answer = try await app.send(.get, path, headers, apiKey: key)
            #expect(answer.status == 401 && answer.error == "invalid_api_key")
            return answer.text("error_description") ?? ""
        }
        let ofApp = try await description([:], nil)
        #expect(!ofApp.contains("allowed_origins"))
        var ofPages: Set<String> = []
        for origin in ["https://other.example", "https://kiosk.example", "https://web.example", "null"] {
            for key in [nil, "wrong"] where key != nil || origin != "https://web.example" {
                ofPages.insert(try await description([.origin: origin], key))
            }
        }
        #expect(ofPages.count == 1)
        #expect(ofPages.first?.contains("allowed_origins") == true)
        #expect(ofPages.first?.contains(".example") == false)
    }

    @Test("Origins are compared by bytes")
    func equivalentOrigin() async throws {
        let app = try TestApp(allowedOrigins: ["https://Kiosk.example"])
        let mine = try await app.send(.get, "/users/me", [.origin: "https://Kiosk.example"], apiKey: nil)
        #expect(mine.error == "invalid_token")
        let kelvin = try await app.send(.get, "/users/me", [.origin: "https://\u{212A}iosk.example"], apiKey: nil)
        #expect(kelvin.error == "invalid_api_key")
    }

    @Test(
        "An origin is one of pages, of an app's shell or of an extension, as browsers write it",
        arguments: [
            ("https://A.example:443", "https://a.example"), ("http://localhost:8100", "http://localhost:8100"),
            ("capacitor://localhost", "capacitor://localhost"), ("ionic://my.app", "ionic://my.app"),
            ("tauri://localhost", "tauri://localhost"), ("http://tauri.localhost", "http://tauri.localhost"),
            ("https://tauri.localhost", "https://tauri.localhost"), ("app://-", "app://-"),
            ("http://tauri.localhost:1430", "http://tauri.localhost:1430"),
            ("http://tauri.localhost:80", "http://tauri.localhost"), ("app://a:80", "app://a:80"),
            ("https://tauri.localhost:443", "https://tauri.localhost"), ("http://localhost:80", "http://localhost"),
            ("http://a.localhost:8080", "http://a.localhost:8080"), ("https://localhost", "https://localhost"),
            ("chrome-extension://aBc", "chrome-extension://aBc"),
            ("moz-extension://3f25-4f89", "moz-extension://3f25-4f89"),
            ("capacitor://localhost/", nil), ("capacitor://", nil), ("null", nil), ("file://", nil), ("file://a", nil),
            ("http://a.example", nil), ("http://localhost.evil.example", nil), ("http://xlocalhost", nil),
            ("javascript://a", nil), ("data:text", nil), ("Capacitor://localhost", nil), ("capacitor://a@b", nil),
            ("capacitor://*", nil), ("a b://c", nil), ("://localhost", nil), ("capacitor://localhost:x", nil),
            ("capacitor://a:1:2", nil), ("https://*", nil), ("https://a b", nil),
        ] as [(String, String?)])
    func origins(text: String, expected: String?) { #expect(Origin(text)?.text == expected) }

    @Test(
        "The origin of an app's shell is admitted", arguments: ["capacitor://localhost", "safari-web-extension://3A"])
    func shells(origin: String) async throws {
        let app = try TestApp(allowedOrigins: [origin])
        let mine = try await app.send(.get, "/users/me", [.origin: origin], apiKey: nil)
        #expect(mine.error == "invalid_token")
        #expect(mine.headers[.accessControlAllowOrigin] == origin)
        let other = try await app.send(.get, "/users/me", [.origin: origin + "a"], apiKey: nil)
        #expect(other.error == "invalid_api_key")
    }

    @Test("A preflight of an allowed origin succeeds; without configured origins there is no CORS")
    func preflights() async throws {
        let headers: HTTPFields = [.origin: "https://web.example", .accessControlRequestMethod: "DELETE"]
        let app = try TestApp(allowedOrigins: ["https://web.example"])
        let answer = try await app.send(.options, "/users/me", headers, apiKey: nil)
        #expect(answer.status == 204)
        #expect(answer.headers[.accessControlAllowMethods]?.contains("DELETE") == true)
        #expect(answer.headers[.accessControlAllowHeaders]?.contains("Authorization") == true)
        #expect(answer.headers[.accessControlAllowOrigin] == "https://web.example")
        func allowed(_ fields: String, of origin: String = "https://web.example") async throws -> String? {
            let asked = altered(headers) {
                $0[.origin] = origin
                $0[.accessControlRequestHeaders] = fields
            }
            let answer = try await app.send(.options, "/users/me", asked, apiKey: nil)
            return answer.headers[.accessControlAllowHeaders]
        }
        let usual = "Authorization, Content-Type, X-API-KEY"
        let tracing = "baggage,sentry-trace, traceparent,x-requested-with"
        #expect(try await allowed(tracing) == "\(usual), \(tracing)")
        #expect(try await allowed(tracing, of: "https://other.example") == nil)
        for malformed in ["", "a;b", "a\u{E9}"] { #expect(try await allowed(malformed) == usual) }
        let requestPrivateNetwork = try #require(HTTPField.Name("Access-Control-Request-Private-Network"))
        let allowPrivateNetwork = try #require(HTTPField.Name("Access-Control-Allow-Private-Network"))
        #expect(answer.headers[allowPrivateNetwork] == nil)
        let rows = [("https://web.example", "true", true), ("https://web.example", "false", false)]
        for (origin, asked, isAllowed) in rows + [("https://other.example", "true", false)] {
            let preflight = altered(headers) {
                $0[.origin] = origin
                $0[requestPrivateNetwork] = asked
            }
            let answer = try await app.send(.options, "/users/me", preflight, apiKey: nil)
            #expect(answer.headers[allowPrivateNetwork] == (isAllowed ? "true" : nil), "\(origin) \(asked)")
        }
        let none = try await TestApp().send(.options, "/users/me", headers, apiKey: nil)
        #expect(none.headers[.accessControlAllowOrigin] == nil)
        #expect(none.headers[.vary] == nil)
    }

    @Test("Readiness depends on the store and on draining; health on neither")
    func readiness() async throws {
        let app = try TestApp()
        app.storeScript.fail(with: StorageError(.unavailable, reason: "scripted"))
        #expect(try await app.send(.get, "/readyz", apiKey: nil).status == 503)
        #expect(try await app.send(.get, "/healthz", apiKey: nil).status == 200)
        app.storeScript.fail(with: nil)
        #expect(try await app.send(.get, "/readyz", apiKey: nil).status == 503)
        app.clock.advance(bySeconds: 1)
        #expect(try await app.send(.get, "/readyz", apiKey: nil).status == 200)
        app.api.beginDraining()
        let draining = try await app.send(.get, "/readyz", apiKey: nil)
        #expect(draining.status == 503)
        #expect(draining.error == "temporarily_unavailable")
        #expect(draining.headers[.retryAfter] != nil)
    }

    @Test("Concurrent readiness checks query the store once")
    func readinessForMany() async throws {
        let app = try TestApp()
        let gate = Gate()
        app.storeScript.hold(before: .check, at: gate)
        let asked = (0..<50).map { _ in Task { try await app.send(.get, "/readyz", apiKey: nil).status } }
        await gate.untilWaiting()
        // After these yields every check has got as far as it can without the store.
        for _ in 0..<200 { await Task.yield() }
        gate.open()
        for task in asked { #expect(try await task.value == 200) }
        #expect(app.storeScript.count(of: .check) == 1)
    }

    @Test("A store that does not answer is not ready, and is not asked again until it does")
    func readinessOfHungStore() async throws {
        let app = try TestApp(readinessPatience: .milliseconds(10))
        let gate = Gate()
        app.storeScript.hold(before: .check, at: gate)
        let asked = (0..<10).map { _ in Task { try await app.send(.get, "/readyz", apiKey: nil).status } }
        for task in asked { #expect(try await task.value == 503) }
        await gate.untilWaiting()
        app.clock.advance(bySeconds: 3600)
        #expect(try await app.send(.get, "/readyz", apiKey: nil).status == 503)
        #expect(app.storeScript.count(of: .check) == 1)
        gate.open()
        try await until { try await app.send(.get, "/readyz", apiKey: nil).status == 200 }
    }

    @Test("An answer that comes after the patience is kept with the time of its question")
    func readinessOfSlowStore() async throws {
        let app = try TestApp(readinessPatience: .milliseconds(10))
        let gate = Gate()
        app.storeScript.hold(before: .check, at: gate)
        #expect(try await app.send(.get, "/readyz", apiKey: nil).status == 503)
        gate.open()
        try await until { try await app.send(.get, "/readyz", apiKey: nil).status == 200 }
        #expect(app.storeScript.count(of: .check) == 1)
    }

    @Test("The patience with the store leaves time for the response within a second")
    func readinessPatience() { #expect(Readiness.patience < .seconds(1)) }

    @Test("Pages have a type and a policy that allows only this server's scripts and styles")
    func pages() async throws {
        let app = try TestApp()
        let page = try await app.send(.get, "/", apiKey: nil)
        #expect(page.headers[.contentType] == "text/html; charset=utf-8")
        let policy = try #require(page.headers[.contentSecurityPolicy])
        #expect(policy.hasPrefix("default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "))
        #expect(policy.contains("frame-ancestors 'none'"))
        #expect(!policy.contains("unsafe"))
        #expect(HTTPField.Name("Referrer-Policy").flatMap { page.headers[$0] } == "no-referrer")
        let style = try await app.send(.get, "/style.css", apiKey: nil)
        #expect(style.headers[.contentType] == "text/css; charset=utf-8")
        let script = try await app.send(.get, "/page.js", apiKey: nil)
        #expect(script.headers[.contentType] == "text/javascript; charset=utf-8")
    }

    @Test("With an https URL every response has HSTS; otherwise none has")
    func strictTransport() async throws {
        let app = try TestApp()
        for path in ["/", "/users/me", "/nothing", "/healthz"] {
            let answer = try await app.send(.get, path)
            #expect(answer.headers[.strictTransportSecurity] == "max-age=31536000", "\(path)")
        }
        for address in [BaseURL(), BaseURL("http://127.0.0.1:8080")] {
            let api = LatchkeyAPI(
                useCases: app.useCases, apiKeys: APIKeys([]), baseURL: address, logger: app.log.logger)
            let answer = Answer(try await api.handler()(Request(.get, "/healthz")))
            #expect(answer.headers[.strictTransportSecurity] == nil)
        }
    }

    @Test("A file cannot replace a route, and an empty API key is refused")
    func precedence() async throws {
        let app = try TestApp()
        let api = LatchkeyAPI(
            useCases: app.useCases, apiKeys: APIKeys([]), logger: app.log.logger)
        #expect(try await app.send(.get, "/healthz").text("status") == "ok")
        let name = try #require(HTTPField.Name("X-API-KEY"))
        let empty = Answer(try await api.handler()(Request(.get, "/users/me", headers: [name: ""])))
        #expect(empty.error == "invalid_api_key")
    }

    @Test("Unknown paths and methods have the common form of errors")
    func notFound() async throws {
        let app = try TestApp()
        let missing = try await app.send(.get, "/nothing")
        #expect(missing.status == 404)
        #expect(missing.error == "not_found")
        #expect(missing.text("error_type") == "invalidRequest")
        let method = try await app.send(.put, "/users/me")
        #expect(method.status == 405)
        #expect(method.error == "method_not_allowed")
        #expect(method.headers[.allow]?.contains("DELETE") == true)
        #expect(missing.requestID != method.requestID)
    }

    @Test("A session that has expired or was revoked is requestDenied; a request without one is invalidRequest")
    func sessionErrorTypes() async throws {
        let app = try TestApp()
        let (revoked, expired) = (try await app.token(), try await app.token(SignInBody().code("CODE-2")))
        _ = try await app.asUser(.delete, "/auth/token", revoked)
        app.clock.advance(bySeconds: 3600)
        for token in [revoked, expired, String(repeating: "a", count: 43)] {
            for (method, path) in [(HTTPRequest.Method.get, "/users/me"), (.delete, "/users/me/sessions")] {
                let answer = try await app.asUser(method, path, token)
                #expect(answer.error == "invalid_token")
                #expect(answer.text("error_type") == "requestDenied")
            }
        }
        #expect(try await app.send(.get, "/users/me").text("error_type") == "invalidRequest")
    }

    static let refusals: [(HTTPResponse.Status, String, String)] = [
        (.badRequest, "invalid_request", "invalidRequest"), (.contentTooLarge, "payload_too_large", "invalidRequest"),
        (.requestTimeout, "request_timeout", "requestTimeout"), (.tooManyRequests, "rate_limited", "serverError"),
        (.serviceUnavailable, "temporarily_unavailable", "serverError"),
        (.internalServerError, "server_error", "serverError"),
    ]

    @Test("Refusals of the server have the common form of errors", arguments: refusals)
    func serverRefusals(_ status: HTTPResponse.Status, _ code: String, _ type: String) throws {
        let api = try TestApp().api
        let error = HTTPError(status, code: code, message: "What to do.", headers: [.retryAfter: "5"])
        let answer = Answer(api.errorRenderer(error, nil))
        #expect(answer.status == status.code)
        #expect(answer.error == code)
        #expect(answer.text("error_type") == type)
        #expect(answer.description == "What to do.")
        #expect(answer.headers[.retryAfter] == "5")
        #expect(answer.headers[.cacheControl] == "no-store")
        #expect(answer.text("request_id") == answer.requestID)
    }

    @Test(
        "No log line has the handle of a backchannel authentication, whatever is mistyped in the path",
        arguments: [
            ("/auth/zenkey-async-signin/HANDLE", "/auth/zenkey-async-signin/-"),
            ("/auth/acme/backchannel/HANDLE", "/auth/acme/backchannel/-"),
            ("/auth/zenkey-async-signin/HANDLE/", "/auth/zenkey-async-signin/-"),
            ("/forward-auth/reset/HANDLE", "/forward-auth/-"), ("/forward-auth/", "/forward-auth/"),
            ("/auth/zenkey-async-signin/HANDLE/notification", "/auth/zenkey-async-signin/-"),
            ("/auth/acme/backchannel/HANDLE/", "/auth/acme/backchannel/-"),
            ("/auth/acme/start/HANDLE/confirmation", "/auth/acme/start/-"), ("/auth/acme/start", "/auth/acme/start"),
            ("/auth/zenkey-async-signin//HANDLE", "/auth/zenkey-async-signin/-"),
            ("/auth//zenkey-async-signin/HANDLE", "/auth//zenkey-async-signin/-"),
            ("/api/Auth/ZenKey-Async-Signin/HANDLE", "/api/Auth/ZenKey-Async-Signin/-"),
            ("/auth/zenkey-async-signin", "/auth/zenkey-async-signin"),
            ("/auth/zenkey-async-signin/notification", "/auth/zenkey-async-signin/notification"),
            ("/auth/acme/backchannel/notification", "/auth/acme/backchannel/notification"),
            ("/auth/acme/backchannel-logout", "/auth/acme/backchannel-logout"),
        ])
    func handleInPath(_ path: String, _ logged: String) async throws {
        let app = try TestApp()
        _ = try await app.send(.get, path)
        let line = try #require(app.log.lines.first { $0.message == "request" })
        #expect(line.metadata["path"] == logged)
        #expect(!app.log.text.contains("HANDLE"))
    }

    @Test("Each request is logged in one line, without its query")
    func accessLog() async throws {
        let app = try TestApp()
        _ = try await app.send(.get, "/nothing%20level=error%C2%85x?secret=QUERY")
        let line = try #require(app.log.lines.first { $0.message == "request" })
        #expect(line.metadata["path"] == "/nothing?level=error??x")
        #expect(line.metadata["status"] == "404")
        #expect(line.level == .debug)
        app.storeScript.fail(with: StorageError(.unavailable, reason: "scripted"))
        _ = try await app.me(String(repeating: "a", count: 43))
        #expect(app.log.lines.last?.level == .info)
        #expect(app.log.lines.last?.metadata["cause"] == "scripted")
        #expect(!app.log.text.contains("QUERY"))
    }

    @Test("A failure of the store in a handler is logged with its cause")
    func storeFailure() async throws {
        let app = try TestApp()
        var router = Router()
        router.get("/notes") { _ in throw StorageError(.corrupt, reason: "a note is cut") }
        let response = try await app.api.handler(with: router)(Request(.get, "/notes"))
        #expect(response.status == .serviceUnavailable)
        #expect(app.log.lines.last?.message == "request")
        #expect(app.log.lines.last?.metadata["cause"] == "a note is cut")
    }
}
