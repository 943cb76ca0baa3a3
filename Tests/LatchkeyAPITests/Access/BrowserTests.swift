import HTTPTypes
import Primitives
import SignIn
import TestSupport
import Testing

/// What browsers send and receive, on a server at `https://login.example/base`.
@Suite struct BrowserTests {
    private static let callback = "/auth/zenkey/callback"

    private func start(_ app: TestApp, _ clientType: String) async throws -> Answer {
        let uri = "https%3A%2F%2Fapp.example%2Fcb"
        return try await app.send(
            .get, "/auth/zenkey/start?client_type=\(clientType)&redirect_uri=\(uri)&mccmnc=310410", apiKey: nil)
    }

    private func cookie(_ answer: Answer) throws -> String { try #require(answer.headers[values: .setCookie].first) }

    private func pair(_ answer: Answer) throws -> String { String(try cookie(answer).prefix { $0 != ";" }) }

    /// The carrier's response to a start, before its ID token.
    private func target(_ app: TestApp, _ start: Answer) throws -> String {
        let location = try #require(start.headers[.location])
        let items = try #require(location.split(separator: "?").last).split(separator: "&")
        func value(_ name: String) -> String {
            items.first { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.count + 1)) } ?? ""
        }
        app.carrier.script { $0.nonce = value("nonce") }
        return Self.callback + "?code=CODE-1&state=" + value("state")
    }

    @Test("Its cookies are for this host and https only, hidden from scripts, and not sent with another site's forms")
    func attributes() async throws {
        let app = try TestApp()
        let started = try await start(app, "web")
        let browser = try cookie(started)
        #expect(browser.hasPrefix("__Host-latchkey_browser="))
        #expect(browser.hasSuffix("; Path=/; HttpOnly; SameSite=Lax; Max-Age=600; Secure"))
        let done = try await app.send(
            .get, try target(app, started), [.cookie: try pair(started)], apiKey: nil)
        #expect(done.status == 303)
        let session = try cookie(done)
        #expect(session.hasPrefix("__Host-latchkey_session="))
        #expect(session.hasSuffix("; Path=/; HttpOnly; SameSite=Lax; Max-Age=3600; Secure"))
        #expect(try await app.send(.get, "/users/me", [.cookie: try pair(done)], apiKey: nil).status == 200)
    }

    @Test("A session cookie with another prefix, or repeated, is ignored")
    func planted() async throws {
        let app = try TestApp()
        let token = try await app.token()
        let name = "__Host-latchkey_session"
        let others = String(repeating: "a=b; ", count: 200)
        for (cookie, status) in [
            ("\(name)=\(token)", 200), ("a=b; \(name)=\(token)", 200), ("latchkey_session=\(token)", 401),
            ("\(name)=\(token); \(name)=\(token)", 401), ("\(name)=\(token)x", 401), ("\(name)=", 401),
            ("a=b\u{37E}\(name)=\(token)", 401), ("a=\u{602}; \(name)=\(token)", 200),
            ("\(name)=\(token); a=\u{602}; \(name)=\(token)", 401), ("\(others)\(name)=\(token)", 200),
            ("\(name)=\(token); \(others)\(name)=\(token)", 401),
        ] {
            let answer = try await app.send(.get, "/users/me", [.cookie: cookie], apiKey: nil)
            #expect(answer.status == status, "\(cookie.replacing(token, with: "…"))")
        }
    }

    @Test(
        "A change by cookie requires that the browser reports a page of this server",
        arguments: [
            (nil, nil, false), ("same-origin", nil, true), ("same-site", nil, false), ("cross-site", nil, false),
            ("none", nil, false), (nil, "https://login.example", true), (nil, "https://login.example:444", false),
            (nil, "https://login.example.evil.example", false), (nil, "null", false),
            ("cross-site", "https://login.example", false), ("same-site", "https://login.example", false),
        ] as [(String?, String?, Bool)])
    func sameOrigin(site: String?, origin: String?, isTaken: Bool) async throws {
        let app = try TestApp()
        let token = try await app.token()
        var headers: HTTPFields = [.cookie: "__Host-latchkey_session=\(token)"]
        if let site, let name = HTTPField.Name("Sec-Fetch-Site") { headers[name] = site }
        if let origin { headers[.origin] = origin }
        #expect(try await app.send(.delete, "/auth/token", headers, apiKey: nil).status == (isTaken ? 200 : 403))
        #expect(try await app.me(token).status == (isTaken ? 401 : 200))
    }

    @Test("Below a path of its host, pages and their forms are below it too")
    func belowPath() async throws {
        let app = try TestApp()
        let passed = try await app.form(Self.callback, "state=s&code=c", apiKey: nil)
        #expect(passed.headers[.location] == nil)
        #expect(passed.body.contains(#"action="/base/auth/zenkey/callback""#))
        #expect(passed.body.contains(#"<script src="/base/auth/form-post.js">"#))
        let failed = try await app.send(.get, Self.callback, apiKey: nil)
        #expect(failed.status == 400)
        #expect(failed.body.contains(#"href="/base/style.css""#))
        let started = try await start(app, "popup")
        let done = try await app.send(.get, try target(app, started), [.cookie: try pair(started)], apiKey: nil)
        #expect(done.status == 200)
        #expect(done.body.contains(#"<script src="/base/auth/popup.js">"#))
    }

    @Test(
        "A sign-in ends only in the browser that began it, in pages and popups", arguments: ["web", "popup"])
    func otherBrowser(clientType: String) async throws {
        let app = try TestApp()
        let started = try await start(app, clientType)
        let other = try await start(app, clientType)
        let answer = try await app.send(
            .get, try target(app, started), [.cookie: try pair(other)], apiKey: nil)
        #expect(answer.status == 400)
        #expect(app.carrier.tokenPosts == 0)
    }

    @Test("A callback with a repeated parameter is refused, and the sign-in can continue")
    func repeated() async throws {
        let app = try TestApp()
        let started = try await start(app, "web")
        let target = try target(app, started)
        let headers: HTTPFields = [.cookie: try pair(started)]
        for name in ["state", "code", "iss"] {
            let twice = target + "&\(name)=x" + (name == "iss" ? "&iss=y" : "")
            #expect(try await app.send(.get, twice, headers, apiKey: nil).status == 400)
        }
        #expect(app.carrier.tokenPosts == 0)
        #expect(try await app.send(.get, target, headers, apiKey: nil).status == 303)
    }

    @Test("The acr_values of the start are required in the ID token")
    func acr() async throws {
        let app = try TestApp()
        let uri = "https%3A%2F%2Fapp.example%2Fcb"
        let started = try await app.send(
            .get, "/auth/zenkey/start?client_type=web&redirect_uri=\(uri)&mccmnc=310410&acr_values=a3", apiKey: nil)
        app.carrier.script { $0.claims["acr"] = "\"a1\"" }
        let done = try await app.send(.get, try target(app, started), [.cookie: try pair(started)], apiKey: nil)
        #expect(done.headers[.location]?.contains("error=invalid_id_token") == true)
        #expect(done.headers[.setCookie] == nil)
    }
}
