import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import Synchronization
import TestSupport
import Testing

/// The session of a page of this server's own origin, in cookies of the browser: how it starts, is renewed and ends.
@Suite("A page")
struct PageSessionTests {
    private static let origin = "https://login.example"
    private static let day: Int64 = 86_400

    /// The cookies of one browser, and the requesting page.
    final class Page: Sendable {
        let app: TestApp
        private let jar = Mutex<[String: String]>([:])
        var cookies: [String: String] {
            get { jar.withLock { $0 } }
            set { jar.withLock { $0 = newValue } }
        }

        init(_ app: TestApp) { self.app = app }

        var session: String? { cookies["__Host-latchkey_session"] }
        var refreshToken: String? { cookies["__Host-latchkey_refresh"] }

        /// - Parameter origin: The browser's `Origin`; nil if it sends none.
        func send(
            _ method: HTTPRequest.Method, _ path: String, form: String? = nil,
            origin: String? = PageSessionTests.origin, site: String? = nil, apiKey: String? = nil
        ) async throws -> Answer {
            var headers: HTTPFields = [:]
            if !cookies.isEmpty {
                headers[.cookie] = cookies.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
                    .joined(separator: "; ")
            }
            if let origin { headers[.origin] = origin }
            if let site { headers[try #require(HTTPField.Name("Sec-Fetch-Site"))] = site }
            if form != nil { headers[.contentType] = "application/x-www-form-urlencoded" }
            let answer = try await app.send(method, path, headers, body: form ?? "", apiKey: apiKey)
            for cookie in answer.headers[values: .setCookie] { keep(cookie) }
            return answer
        }

        private func keep(_ cookie: String) {
            let pair = cookie.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1).map(String.init)
            guard let name = pair.first, let value = pair.last else { return }
            jar.withLock { $0[name] = cookie.contains("Max-Age=0;") ? nil : value }
        }

        func refresh(origin: String? = PageSessionTests.origin, site: String? = nil) async throws -> Answer {
            try await send(.post, "/auth/token", form: "grant_type=refresh_token", origin: origin, site: site)
        }

        func me() async throws -> Answer { try await send(.get, "/users/me") }

        /// Runs a redirect sign-in and returns its end.
        func signIn(_ fields: String = "client_type=web") async throws -> Answer {
            let uri = "https%3A%2F%2Fapp.example%2Fcb"
            let started = try await send(
                .get, "/auth/zenkey/start?redirect_uri=\(uri)&mccmnc=310410&\(fields)", origin: nil)
            let items = started.outcome
            app.carrier.script { $0.nonce = items["nonce"] }
            let state = try #require(items["state"])
            return try await send(
                .get, "/auth/zenkey/callback?code=CODE-\(state.prefix(8))&state=\(state)", origin: nil)
        }
    }

    private func signedInPage(_ app: TestApp) async throws -> Page {
        let page = Page(app)
        #expect(try await page.signIn().status == 303)
        return page
    }

    @Test("has its session in two cookies, the second valid as long as the session can be renewed")
    func cookies() async throws {
        let done = try await Page(TestApp()).signIn()
        let set = done.headers[values: .setCookie]
        #expect(set.count == 2)
        for (cookie, name, age) in zip3(set, ["session", "refresh"], [3600, 14 * Self.day]) {
            #expect(cookie.hasPrefix("__Host-latchkey_\(name)="))
            #expect(cookie.hasSuffix("; Path=/; HttpOnly; SameSite=Lax; Max-Age=\(age); Secure"))
        }
    }

    private func zip3<A, B, C>(_ first: [A], _ second: [B], _ third: [C]) -> [(A, B, C)] {
        zip(zip(first, second), third).map { ($0.0, $0.1, $1) }
    }

    @Test("renews its session by its cookies, and reads no token")
    func prolonged() async throws {
        let app = try TestApp()
        let page = try await signedInPage(app)
        let old = page.cookies
        app.clock.advance(bySeconds: 3601)
        #expect(try await page.me().error == "invalid_token")
        let answer = try await page.refresh()
        #expect(answer.status == 200)
        #expect(answer.json?.members.map(\.name) == ["expires", "expires_in", "new_user", "correlation_id"])
        #expect(answer.integer("expires") == 3600)
        #expect(page.session != old["__Host-latchkey_session"])
        #expect(page.refreshToken != old["__Host-latchkey_refresh"])
        #expect(try await page.me().status == 200)
        #expect(answer.headers[.cacheControl] == "no-store")
    }

    static let foreign: [(site: String?, origin: String?)] = [
        (nil, nil), ("cross-site", nil), ("same-site", nil), ("none", nil), (nil, "https://evil.example"),
        (nil, "null"), (nil, "https://login.example:444"), ("cross-site", origin), ("same-site", origin),
    ]

    private var required: TestRegistration {
        var rules = TestRegistration()
        rules.isRequired = true
        return rules
    }

    @Test("of another origin cannot use the cookies", arguments: foreign)
    func crossSite(site: String?, origin: String?) async throws {
        let app = try TestApp(registration: required)
        let stranger = Page(app)
        let partial = try await stranger.signIn().outcome
        let registration = "client_type=web&name=Jo&email=jo%40app.example&state_key=" + (partial["state_key"] ?? "")
        let before = stranger.cookies
        #expect(
            try await stranger.send(.post, "/auth/register", form: registration, origin: origin, site: site).status
                == 403)
        #expect(stranger.cookies == before)
        #expect(try await stranger.send(.post, "/auth/register", form: registration).status == 201)

        let held = stranger.cookies
        for (method, path, form) in [
            (.post, "/auth/token", "grant_type=refresh_token"),
            (.post, "/auth/token", "grant_type=refresh_token&client_type=web"),
            (.post, "/auth/session", "session_id=x&client_type=web"), (.delete, "/auth/token", nil),
        ] as [(HTTPRequest.Method, String, String?)] {
            let answer = try await stranger.send(method, path, form: form, origin: origin, site: site)
            #expect(answer.status == 403, "\(path)")
            #expect(stranger.cookies == held)
        }
        app.clock.advance(bySeconds: 31)
        #expect(try await stranger.refresh().status == 200, "a spent token would have ended the session by now")
        #expect(try await stranger.me().status == 200)
    }

    @Test("that refreshes in two tabs at once stays signed in; the same token after a further refresh ends the session")
    func tabs() async throws {
        let app = try TestApp()
        let page = try await signedInPage(app)
        let other = Page(app)
        other.cookies = page.cookies
        let third = Page(app)
        third.cookies = page.cookies
        async let first = page.refresh()
        async let second = other.refresh()
        #expect(try await [first.status, second.status] == [200, 200])
        #expect(page.cookies == other.cookies)
        #expect(try await page.me().status == 200)
        app.clock.advance(bySeconds: 31)
        #expect(try await page.refresh().status == 200)
        let late = try await third.refresh()
        #expect(late.status == 401)
        #expect(late.error == "invalid_grant")
        #expect(late.headers[.setCookie] == nil, "another tab may have signed in meanwhile")
        #expect(try await page.me().status == 401)
        #expect(try await page.refresh().status == 401)
    }

    @Test("is signed out after the idle limit, and after the absolute limit")
    func times() async throws {
        let app = try TestApp()
        let idle = try await signedInPage(app)
        let busy = try await signedInPage(app)
        for day in 1...8 {
            app.clock.advance(bySeconds: 11 * Self.day)
            #expect(try await busy.refresh().status == 200, "after \(11 * day) days")
        }
        #expect(try await idle.refresh().error == "invalid_grant")
        app.clock.advance(bySeconds: Self.day)
        let last = try await busy.refresh()
        #expect(last.headers[values: .setCookie].last?.contains("Max-Age=\(Self.day);") == true)
        app.clock.advance(bySeconds: Self.day)
        #expect(try await busy.refresh().error == "invalid_grant")
    }

    @Test("can sign out after its session token expired, and keeps no cookie")
    func signOut() async throws {
        let app = try TestApp()
        let page = try await signedInPage(app)
        let refreshToken = try #require(page.refreshToken)
        app.clock.advance(bySeconds: 3601)
        page.cookies["__Host-latchkey_session"] = nil
        #expect(try await page.me().error == "invalid_token")
        #expect(try await page.send(.delete, "/auth/token").status == 200)
        #expect(page.session == nil && page.refreshToken == nil)
        #expect(try await app.refresh(refreshToken).error == "invalid_grant")
        #expect(try await page.refresh().status == 401)

        let other = try await signedInPage(app)
        let token = try #require(other.session)
        #expect(try await other.send(.delete, "/auth/token").status == 200)
        #expect(other.session == nil && other.refreshToken == nil)
        #expect(try await app.me(token).status == 401)
    }

    @Test("that signs in again ends its former session")
    func again() async throws {
        let app = try TestApp()
        let page = try await signedInPage(app)
        let former = try #require(page.session)
        #expect(try await page.signIn().status == 303)
        #expect(try await app.me(former).status == 401)
        #expect(try await page.me().status == 200)
        #expect(try await app.sessions(try #require(page.session)).count == 1)
    }

    @Test("gets cookies for a registration or exchange with client_type=web; other callers get tokens")
    func handedOver() async throws {
        let app = try TestApp(client: { $0.clientTypes["https://app.example/cb"] = [.spa] })
        let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        let page = Page(app)
        let done = try await page.signIn("client_type=spa&code_challenge=\(challenge)&code_challenge_method=S256")
        #expect(page.session == nil)
        let sessionID = try #require(done.outcome["session_id"])
        let fields = "session_id=\(sessionID)&code_verifier=\(verifier)"
        #expect(try await page.send(.post, "/auth/session", form: fields).error == "invalid_api_key")
        let taken = try await page.send(.post, "/auth/session", form: fields + "&client_type=web")
        #expect(taken.status == 200)
        #expect(taken.json?.members.map(\.name) == ["expires", "expires_in", "new_user", "correlation_id"])
        #expect(try await page.me().status == 200)

        let next = try await page.signIn("client_type=spa&code_challenge=\(challenge)&code_challenge_method=S256")
        let nextID = try #require(next.outcome["session_id"])
        let tokens = try await page.send(
            .post, "/auth/session", form: "session_id=\(nextID)&code_verifier=\(verifier)&client_type=web",
            apiKey: TestApp.apiKey)
        #expect(tokens.text("token") != nil)
        #expect(tokens.headers[.setCookie] == nil)
    }

    @Test("gets no session that an app began without a challenge, unless it sends an API key")
    func handedOverToAnApp() async throws {
        let app = try TestApp(client: { $0.clientTypes["https://app.example/cb"] = [.ios] })
        let page = Page(app)
        let sessionID = try #require(try await page.signIn("client_type=ios").outcome["session_id"])
        let fields = "session_id=\(sessionID)&client_type=web"
        #expect(try await page.send(.post, "/auth/session", form: fields).status == 400)
        #expect(page.session == nil)
        let tokens = try await page.send(.post, "/auth/session", form: fields, apiKey: TestApp.apiKey)
        #expect(tokens.text("token") != nil)
    }

    @Test("of another origin needs a challenge for its session_id")
    func challengeRequired() async throws {
        let app = try TestApp(client: { $0.clientTypes["https://app.example/cb"] = [.spa] })
        let uri = "https%3A%2F%2Fapp.example%2Fcb"
        let refused = try await app.send(
            .get, "/auth/zenkey/start?client_type=spa&redirect_uri=\(uri)&mccmnc=310410", [.accept: "application/json"],
            apiKey: nil)
        #expect(refused.status == 400)
        #expect(refused.description.contains("code_challenge"))
    }

    @Test("does not lose its session while the store fails")
    func cannotTell() async throws {
        let app = try TestApp()
        let page = try await signedInPage(app)
        let held = page.cookies
        app.storeScript.fail(with: StorageError(.unavailable, reason: "test"))
        for answer in [try await page.refresh(), try await page.send(.delete, "/auth/token")] {
            #expect(answer.status == 503)
            #expect(page.cookies == held)
        }
        app.storeScript.fail(with: nil)
        #expect(try await page.refresh().status == 200)
    }

    @Test("without cookies is not signed in; with an API key it must send the token")
    func noCookies() async throws {
        let app = try TestApp()
        let none = try await Page(app).send(
            .post, "/auth/token", form: "grant_type=refresh_token&client_type=web")
        #expect(none.status == 401)
        #expect(none.error == "invalid_token")
        let page = try await signedInPage(app)
        let keyed = try await page.send(
            .post, "/auth/token", form: "grant_type=refresh_token", apiKey: TestApp.apiKey)
        #expect(keyed.error == "invalid_request")
        let unadmitted = try await page.send(
            .post, "/auth/token", form: "grant_type=refresh_token&refresh_token=\(page.refreshToken ?? "")")
        #expect(unadmitted.error == "invalid_api_key", "a token in the body needs a key as ever")
        #expect(try await page.send(.post, "/auth/token", form: "grant_type=password").status == 400)
    }
}

extension Answer {
    /// The query of the redirect's target.
    fileprivate var outcome: [String: String] {
        var items: [String: String] = [:]
        for item in (headers[.location]?.split(separator: "?").last ?? "").split(separator: "&") {
            let pair = item.split(separator: "=", maxSplits: 1).map(String.init)
            if pair.count == 2 { items[pair[0]] = pair[1] }
        }
        return items
    }
}
