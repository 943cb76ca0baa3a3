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
        #expect(browser.hasSuffix("; Path=/; HttpOnly; SameSite=Lax; Max-Age=3600; Secure"))
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

    @Test(
        "A start may say how recently the user must have authenticated",
        arguments: [
            // The query, the auth_time after the start, and whether the user is signed in.
            ("max_age=300", "\(-360)", true), ("max_age=300", "\(-361)", false), ("max_age=300", nil, false),
            ("max_age=0", "0", true), ("max_age=0", "-61", false), ("maxAge=31536000", "-31536000", true),
            ("prompt=login", "0", true), ("prompt=login", "-60", true), ("prompt=login", "-61", false),
            ("prompt=login", nil, true), ("prompt=login&max_age=300", nil, false),
            ("prompt=login&max_age=300", "-61", false), ("prompt=consent%20login", "-61", false),
            ("prompt=consent%20select_account", "-86400", true), ("prompt=none", "-86400", true),
        ] as [(String, String?, Bool)])
    func authentication(query: String, authTime: String?, isSignedIn: Bool) async throws {
        let app = try TestApp()
        let uri = "https%3A%2F%2Fapp.example%2Fcb"
        let started = try await app.send(
            .get, "/auth/zenkey/start?client_type=web&redirect_uri=\(uri)&mccmnc=310410&\(query)", apiKey: nil)
        let asked = try #require(started.headers[.location])
        #expect(asked.contains("&max_age=") == query.lowercased().contains("age"))
        let start = app.clock.now.secondsSinceEpoch
        app.carrier.script { $0.claims["auth_time"] = authTime.flatMap(Int64.init).map { "\(start + $0)" } }
        let done = try await app.send(.get, try target(app, started), [.cookie: try pair(started)], apiKey: nil)
        let location = try #require(done.headers[.location])
        #expect(location.contains("status=success") == isSignedIn, "\(location)")
        #expect(location.contains("error=invalid_id_token") == !isSignedIn, "\(location)")
        #expect(location.contains("auth_time") == !isSignedIn, "\(location)")
        #expect((app.log.signIns.last?.metadata["outcome"] == "invalid_id_token") == !isSignedIn)
    }

    @Test("After prompt=login the time counts from the start, however long the user was away")
    func authenticationAfterWait() async throws {
        for (offset, isSignedIn) in [(Int64(-61), false), (-60, true), (300, true)] {
            let app = try TestApp()
            let uri = "https%3A%2F%2Fapp.example%2Fcb"
            let started = try await app.send(
                .get, "/auth/zenkey/start?client_type=web&redirect_uri=\(uri)&mccmnc=310410&prompt=login", apiKey: nil)
            let start = app.clock.now.secondsSinceEpoch
            app.clock.advance(bySeconds: 500)
            app.carrier.script { $0.claims["auth_time"] = "\(start + offset)" }
            let done = try await app.send(.get, try target(app, started), [.cookie: try pair(started)], apiKey: nil)
            #expect(done.headers[.location]?.contains("status=success") == isSignedIn, "\(offset)")
        }
    }

    @Test(
        "A malformed demand is 400 and named",
        arguments: [
            ("max_age=-1", "max_age"), ("max_age=31536001", "max_age"), ("max_age=1e2", "max_age"),
            ("max_age=%2B5", "max_age"), ("max_age=99999999999999999999", "max_age"), ("maxAge=x", "maxAge"),
            ("max_age=1&max_age=1", "max_age"), ("prompt=always", "prompt"), ("prompt=none%20login", "prompt"),
            ("prompt=Login", "prompt"), ("prompt=\(String(repeating: "login%20", count: 13))", "prompt"),
            ("acr_values=\(String(repeating: "a", count: 256))", "acr_values"), ("acr_values=%C3%A9", "acr_values"),
        ])
    func malformedDemand(query: String, name: String) async throws {
        let app = try TestApp()
        let uri = "https%3A%2F%2Fapp.example%2Fcb"
        let answer = try await app.send(
            .get, "/auth/zenkey/start?client_type=web&redirect_uri=\(uri)&mccmnc=310410&\(query)",
            [.accept: "application/json"], apiKey: nil)
        #expect(answer.status == 400)
        #expect(answer.error == "invalid_request")
        #expect(answer.description.hasPrefix(name), "\(answer.description)")
    }
}
