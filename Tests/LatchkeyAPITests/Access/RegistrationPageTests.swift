import HTTPTypes
import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// `/register` on a server at `https://login.example/base`, in a browser without scripts.
@Suite("The registration page")
struct RegistrationPageTests {
    private static let page = "https://login.example/base/sign-in"
    private static let cookieName = "__Host-latchkey_registration"
    private static let scopes = "openid name email phone postal_code"

    private static var rules: TestRegistration {
        var rules = TestRegistration()
        rules.isRequired = true
        rules.requiredAttributes = [.init(.name), .init(.email)]
        rules.blockedEmailDomains = ["blocked.example"]
        return rules
    }

    /// A browser that is at the end of its sign-in.
    private struct Arrival {
        let answer: Answer
        /// The registration's cookie, as the browser sends it; nil if it got none.
        let cookie: String?

        var location: String { answer.headers[.location] ?? "" }
    }

    private func app(_ rules: TestRegistration = rules) throws -> TestApp {
        try TestApp(
            client: { client in
                client.redirectURIs = [
                    Self.page, "https://login.example/base/", "https://app.example/cb", "com.example.app://cb",
                ]
            }, registration: rules)
    }

    private func arrive(
        _ app: TestApp, at uri: String = page, _ more: [(String, String)] = [], clientType: String = "web",
        scope: String = scopes, sending cookie: String? = nil
    ) async throws -> Arrival {
        let items = [("client_type", clientType), ("redirect_uri", uri), ("mccmnc", "310410"), ("scope", scope)] + more
        let query = String(decoding: PercentEncoding.form(items.map { (name: $0.0, value: $0.1) }), as: UTF8.self)
        let started = try await app.send(.get, "/auth/zenkey/start?" + query, apiKey: nil)
        let asked = try #require(started.headers[.location]?.split(separator: "?").last).split(separator: "&")
        func value(_ name: String) -> String {
            asked.first { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.count + 1)) } ?? ""
        }
        app.carrier.script { $0.nonce = value("nonce") }
        var headers: HTTPFields = [:]
        if let browser = started.headers[values: .setCookie].first {
            headers[.cookie] = [Self.pair(browser), cookie].compactMap(\.self).joined(separator: "; ")
        }
        let answer = try await app.send(
            .get, "/auth/zenkey/callback?code=CODE-\(app.carrier.tokenPosts)&state=" + value("state"), headers,
            apiKey: nil)
        let cookie = answer.headers[values: .setCookie].first { $0.hasPrefix(Self.cookieName + "=") }
        return Arrival(answer: answer, cookie: cookie.map(Self.pair))
    }

    private static func pair(_ cookie: String) -> String { String(cookie.prefix { $0 != ";" }) }

    private func show(_ app: TestApp, _ cookie: String?) async throws -> Answer {
        try await app.send(.get, "/register", cookie.map { [.cookie: $0] } ?? [:], apiKey: nil)
    }

    /// The name of the registration in a page's form.
    private func id(_ page: Answer) throws -> String {
        String(try #require(page.body.firstMatch(of: /name="registration" value="([^"]*)"/)?.1))
    }

    private func post(
        _ app: TestApp, _ cookie: String?, _ id: String, _ entries: [(String, String)] = [],
        _ headers: HTTPFields = sameOrigin
    ) async throws -> Answer {
        var headers = headers
        headers[.contentType] = "application/x-www-form-urlencoded"
        if let cookie { headers[.cookie] = cookie }
        let items = ([("registration", id)] + entries).map { (name: $0.0, value: $0.1) }
        let body = String(decoding: PercentEncoding.form(items), as: UTF8.self)
        return try await app.send(.post, "/register", headers, body: body, apiKey: nil)
    }

    private static let site = HTTPField.Name("Sec-Fetch-Site")
    private static var sameOrigin: HTTPFields {
        var headers: HTTPFields = [:]
        if let site { headers[site] = "same-origin" }
        return headers
    }

    private func user(of registered: Answer, _ app: TestApp) async throws -> Answer {
        let session = try #require(registered.headers[values: .setCookie].first { $0.contains("latchkey_session=") })
        return try await app.send(.get, "/users/me", [.cookie: Self.pair(session)], apiKey: nil)
    }

    @Test("is where a sign-in from the sign-in page ends; the handle is in a cookie that scripts cannot read")
    func arrives() async throws {
        let app = try app()
        let arrival = try await arrive(app)
        #expect(arrival.answer.status == 303)
        #expect(arrival.location == "/base/register")
        let cookies = arrival.answer.headers[values: .setCookie]
        #expect(cookies.count == 1, "there is no session yet")
        #expect(cookies[0].hasPrefix(Self.cookieName + "="))
        #expect(cookies[0].hasSuffix("; Path=/; HttpOnly; SameSite=Lax; Max-Age=600; Secure"))
        let page = try await show(app, arrival.cookie)
        #expect(page.status == 200)
        #expect(page.headers[.cacheControl] == "no-store")
        #expect(page.headers[.contentSecurityPolicy]?.hasSuffix("; form-action 'self'") == true)
        // Browsers without Sec-Fetch-Site send only Origin.
        #expect(HTTPField.Name("Referrer-Policy").flatMap { page.headers[$0] } == "same-origin")
        #expect(page.body.contains(#"<form class="fields" method="post" action="/base/register">"#))
        #expect(!page.body.contains("<script"))
        let handle = try #require(arrival.cookie?.dropFirst(Self.cookieName.count + 1).prefix { $0 != "." })
        #expect(handle.count == 43 && !page.body.contains(handle))
    }

    @Test("shows what the carrier sent and will be stored, which of it is verified, and who sent it")
    func shows() async throws {
        let app = try app()
        app.carrier.script {
            $0.userInfo = { _ in
                .json(
                    #"""
                    {"sub":"SUBJECT-of-jane","name":"Jane Doe","given_name":"Jane","email":"jane@mail.example",
                    "email_verified":true,"phone_number":"+13101234567","phone_number_verified":false,
                    "is_adult":true,"is_adult_21":false,"birthdate":"1984-05-17"}
                    """#)
            }
        }
        let arrival = try await arrive(app, scope: Self.scopes + " is_adult is_adult_21 birthdate")
        let page = try await show(app, arrival.cookie).body
        let sent = try #require(page.split(separator: "<dl class=\"facts\">").last?.split(separator: "</dl>").first)
        #expect(
            sent.split(separator: "\n") == [
                "<dt>Name</dt><dd><bdi>Jane Doe</bdi></dd>", "<dt>Given name</dt><dd><bdi>Jane</bdi></dd>",
                "<dt>Email</dt><dd><bdi>jane@mail.example</bdi> <span class=\"given\">· verified</span></dd>",
                "<dt>Phone number</dt><dd><bdi>+13101234567</bdi></dd>",
                // Without a key, a date of birth is not stored.
                "<dt>Adult</dt><dd><bdi>yes</bdi></dd>", "<dt>21 or older</dt><dd><bdi>no</bdi></dd>",
            ])
        #expect(page.contains("The provider (<code>oidc.test.xcijv.com</code>) has identified you"))
        // What was sent can be changed; the rest is asked for.
        let asked = page.split(separator: "<details").first ?? ""
        #expect(asked.contains(#"name="postal_code""#) && asked.contains(#"name="username""#))
        #expect(!asked.contains(#"name="email""#))
        #expect(page.contains(#"name="email" value="jane@mail.example""#))
        #expect(!page.contains(#"name="family_name""#) && !page.contains(" required"))
    }

    @Test("asks for what is missing, if the carrier sent nothing")
    func asks() async throws {
        let app = try app()
        let page = try await show(app, try await arrive(app, scope: "openid").cookie).body
        #expect(page.contains("has sent nothing else about you") && !page.contains("<dl"))
        #expect(page.contains(#"name="name" value="" autocomplete="name" required>"#))
        let email = #"name="email" value="" autocomplete="email" inputmode="email" spellcheck="false" required>"#
        #expect(page.contains(email))
        #expect(page.contains(#"name="phone" value="" autocomplete="tel" type="tel">"#))
        #expect(page.contains("Phone number <span>(optional)</span>"))
    }

    @Test(
        "shows values of the carrier as text",
        arguments: [
            (#"<script>alert(1)</script>"#, "&lt;script&gt;alert(1)&lt;/script&gt;"),
            (#""><img src=x onerror=alert(1)>"#, "&quot;&gt;&lt;img src=x onerror=alert(1)&gt;"),
            ("' autofocus onfocus='alert(1)", "&#39; autofocus onfocus=&#39;alert(1)"),
            ("</dd></dl><form action=//evil.example>", "&lt;/dd&gt;&lt;/dl&gt;&lt;form action=//evil.example&gt;"),
            ("&lt;b&gt;", "&amp;lt;b&amp;gt;"), ("a\u{202E}b", "a\u{202E}b"), ("<", "&lt;"), ("&", "&amp;"),
        ])
    func escapes(value: String, text: String) async throws {
        let app = try app()
        let claims = ["name", "given_name", "family_name", "phone_number", "postal_code", "birthdate", "last_4_social"]
        var json = JSONObjectWriter()
        json.add("sub", "SUBJECT-of-jane")
        for claim in claims { json.add(named: claim, value) }
        let userInfo = String(decoding: json.finish(), as: UTF8.self)
        app.carrier.script { $0.userInfo = { _ in .json(userInfo) } }
        let arrival = try await arrive(app)
        let page = try await show(app, arrival.cookie)
        // Five attributes have a fact and a field each.
        #expect(page.body.ranges(of: "<dd><bdi>\(text)</bdi></dd>").count == 5, "\(page.body)")
        #expect(page.body.ranges(of: #"value="\#(text)""#).count == 5)
        // The same when the user has entered it.
        let entered = try await post(
            app, arrival.cookie, try id(page), [("username", value), ("email", value), ("name", value)])
        #expect(entered.status == 400)
        #expect(entered.body.contains(#"name="username" value="\#(text)""#))
        for page in [page.body, entered.body] {
            #expect(page.ranges(of: value).isEmpty || value == text || value.count == 1, "\(page)")
            for tag in ["<script", "<img", "<b>", " onfocus='"] { #expect(!page.contains(tag)) }
            #expect(page.ranges(of: "<form").count == 1)
        }
    }

    @Test("registers once, signs in, and returns to the page of the sign-in")
    func registers() async throws {
        let app = try app()
        let arrival = try await arrive(app, [("tracking_id", "track-1")])
        let id = try id(try await show(app, arrival.cookie))
        let entries = [
            ("name", "Jane D."), ("email", ""), ("phone", "+13101234567"), ("username", "jane"),
        ]
        let done = try await post(app, arrival.cookie, id, entries)
        #expect(done.status == 303, "\(done.body)")
        #expect(done.headers[.location] == Self.page + "?action=login&status=success&tracking_id=track-1")
        let cookies = done.headers[values: .setCookie]
        #expect(cookies.contains { $0.hasPrefix("__Host-latchkey_session=") && $0.contains("; HttpOnly; ") })
        #expect(cookies.contains { $0.hasPrefix("__Host-latchkey_refresh=") })
        #expect(cookies.contains { $0.hasPrefix(Self.cookieName + "=;") && $0.contains("Max-Age=0") })
        let user = try await user(of: done, app)
        #expect(user.text("name") == "Jane D.")
        #expect(user.text("email") == "jane@mail.example", "an empty field keeps what the carrier sent")
        #expect(user.text("phone_number") == "+13101234567")
        #expect(user.text("username") == "jane")

        // The answer may have been lost, for a minute.
        let same = try await self.user(of: post(app, arrival.cookie, id, entries), app)
        #expect(same.integer("user_id") == user.integer("user_id"))
        app.clock.advance(bySeconds: 60)
        let again = try await post(app, arrival.cookie, id, entries)
        #expect(again.status == 401)
        #expect(again.body.contains("This sign-in cannot continue") && again.body.contains("/base/sign-in"))
        #expect(!again.headers[values: .setCookie].contains { $0.contains("latchkey_session") })
        #expect(try await show(app, arrival.cookie).status == 401)
    }

    @Test("is for the browser of the sign-in: without its cookie, neither the page nor the form works")
    func otherBrowser() async throws {
        let app = try app()
        let arrival = try await arrive(app)
        let id = try id(try await show(app, arrival.cookie))
        let cookie = try #require(arrival.cookie)
        let value = cookie.dropFirst(Self.cookieName.count + 1)
        for other in [
            nil, "\(Self.cookieName)=", "\(Self.cookieName)=\(value.dropFirst())", "latchkey_registration=\(value)",
            "\(cookie); \(cookie)", "\(Self.cookieName)=\(value).x",
            "\(Self.cookieName)=\(String(repeating: "A", count: 43))..aHR0cA.\(String(repeating: "A", count: 43))",
        ] {
            #expect(try await show(app, other).status == 401, "\(other ?? "none")")
            #expect(try await post(app, other, id).status == 401, "\(other ?? "none")")
        }
        #expect(try await post(app, cookie, id).status == 303)
    }

    @Test("accepts no form of another registration, such as that of another tab")
    func otherForm() async throws {
        let app = try app()
        let first = try id(try await show(app, try await arrive(app).cookie))
        app.carrier.script {
            $0.subject = "SUBJECT-of-john"
            $0.userInfo = { _ in .json(#"{"sub":"SUBJECT-of-john","name":"John","email":"john@mail.example"}"#) }
        }
        let second = try await arrive(app).cookie
        for id in [first, ""] {
            let refused = try await post(app, second, id, [("name", "Jane D.")])
            #expect(refused.status == 400)
            #expect(refused.body.contains("This form was for another sign-in"))
            #expect(refused.body.contains("John") && !refused.body.contains("Jane D."))
        }
        #expect(try await post(app, second, try id(try await show(app, second))).status == 303)
    }

    @Test(
        "accepts only forms of this server's pages",
        arguments: [
            (nil, nil, 403), ("same-origin", nil, 303), ("same-site", nil, 403), ("cross-site", nil, 403),
            ("none", nil, 403), (nil, "https://login.example", 303), (nil, "https://evil.example", 403),
            (nil, "null", 403), ("cross-site", "https://login.example", 403),
        ] as [(String?, String?, Int)])
    func crossSite(site: String?, origin: String?, status: Int) async throws {
        let app = try app()
        let arrival = try await arrive(app)
        let id = try id(try await show(app, arrival.cookie))
        var headers: HTTPFields = [:]
        if let site, let name = Self.site { headers[name] = site }
        if let origin { headers[.origin] = origin }
        let answer = try await post(app, arrival.cookie, id, [], headers)
        #expect(answer.status == status)
        #expect(answer.headers[values: .setCookie].contains { $0.contains("latchkey_session") } == (status == 303))
    }

    @Test("works for ten minutes", arguments: [(599, 303), (600, 401)])
    func expiry(seconds: Int64, status: Int) async throws {
        let app = try app()
        let arrival = try await arrive(app)
        let id = try id(try await show(app, arrival.cookie))
        app.clock.advance(bySeconds: seconds)
        #expect(try await post(app, arrival.cookie, id).status == status)
    }

    @Test(
        "shows what is wrong at its field, and keeps the entries",
        arguments: [
            ("email", "jane@", 400, "Email is not an e-mail address."),
            ("email", "jane@blocked.example", 403, "This email address cannot be used here. Please use another one."),
            ("phone", "call me", 400, "Phone number is not a phone number."),
            ("postal_code", "1;2", 400, "Postal code is not a postal code."),
            ("username", String(repeating: "x", count: 65), 400, "Username is longer than 64 bytes."),
            ("name", String(repeating: "x", count: 2000), 400, "Name is longer than 255 bytes."),
        ])
    func problems(field: String, entry: String, status: Int, text: String) async throws {
        let app = try app()
        let arrival = try await arrive(app)
        let id = try id(try await show(app, arrival.cookie))
        let other = field == "username" ? ("name", "Jane <D>") : ("username", "<jane>")
        let refused = try await post(app, arrival.cookie, id, [(field, entry), other])
        #expect(refused.status == status)
        #expect(refused.body.contains(#"<p class="problem" id="\#(field)-problem">\#(text)</p>"#), "\(refused.body)")
        #expect(refused.body.contains(#"name="\#(field)" value="\#(entry)""#))
        #expect(refused.body.contains(#"aria-invalid="true" aria-describedby="\#(field)-problem""#))
        #expect(refused.body.ranges(of: "aria-invalid").count == 1)
        #expect(refused.body.contains(other.1.replacing("<", with: "&lt;").replacing(">", with: "&gt;")))
        let isKnown = !["username"].contains(field) || other.0 == "name"
        #expect(refused.body.contains(#"<details class="wide" open>"#) == isKnown)
        #expect(!refused.headers[values: .setCookie].contains { $0.contains("latchkey_session") })
        let done = try await post(app, arrival.cookie, id, [other])
        #expect(done.status == 303, "the handle is not spent")
    }

    @Test("marks what is missing")
    func missing() async throws {
        let app = try app()
        let arrival = try await arrive(app, scope: "openid")
        let refused = try await post(app, arrival.cookie, try id(try await show(app, arrival.cookie)), [("name", " ")])
        #expect(refused.status == 400)
        for name in ["name", "email"] { #expect(refused.body.contains(#"id="\#(name)-problem""#)) }
        #expect(refused.body.contains("Name is missing.") && refused.body.contains("Email is missing."))
    }

    @Test("takes a value of the carrier that no user may enter, unless it is changed")
    func oddValues() async throws {
        let app = try app()
        app.carrier.script {
            $0.userInfo = { _ in
                .json(#"{"sub":"SUBJECT-of-jane","name":"Jane","email":"j@mail.example","phone_number":"tel:+1310"}"#)
            }
        }
        let arrival = try await arrive(app)
        let id = try id(try await show(app, arrival.cookie))
        #expect(try await post(app, arrival.cookie, id, [("phone", "tel:+1311")]).status == 400)
        let done = try await post(app, arrival.cookie, id, [("phone", "tel:+1310")])
        #expect(try await user(of: done, app).text("phone_number") == "tel:+1310")
    }

    @Test("refuses a user who has registered elsewhere meanwhile")
    func existing() async throws {
        let app = try app()
        let (first, second) = (try await arrive(app), try await arrive(app))
        #expect(try await post(app, first.cookie, try id(try await show(app, first.cookie))).status == 303)
        let refused = try await post(app, second.cookie, try id(try await show(app, second.cookie)))
        #expect(refused.status == 409)
        #expect(refused.body.contains("This already belongs to an account."))
        #expect(refused.headers[values: .setCookie].contains { $0.hasPrefix(Self.cookieName + "=;") })
    }

    @Test("can be opened by another page of this server, which also gets the state_key")
    func ownPages() async throws {
        let app = try app()
        let verifier = String(repeating: "v", count: 43)
        let challenge = try #require(CodeVerifier(verifier)).challenge
        let asked = [("code_challenge", challenge), ("code_challenge_method", "S256")]
        let arrival = try await arrive(app, at: "https://login.example/base/", asked)
        #expect(arrival.location.hasPrefix("https://login.example/base/?action=register&status=partial&state_key="))
        let done = try await post(app, arrival.cookie, try id(try await show(app, arrival.cookie)))
        #expect(done.headers[.location]?.hasPrefix("https://login.example/base/?action=login&status=success") == true)
    }

    @Test(
        "is not for frontends of other origins, nor for apps: they get the state_key and no cookie",
        arguments: [("web", "https://app.example/cb"), ("ios", "com.example.app://cb")])
    func others(clientType: String, uri: String) async throws {
        let app = try app()
        let arrival = try await arrive(app, at: uri, clientType: clientType)
        #expect(arrival.location.hasPrefix(uri + "?action=register&status=partial&state_key="))
        #expect(arrival.cookie == nil)
        let handle = try #require(arrival.location.firstMatch(of: /state_key=([^&]+)/)?.1)
        #expect(try await app.post("/users", #"{"state_key":"\#(handle)"}"#).status == 201)
    }

    @Test("is open to a page that signed in by a call, and not to an app", arguments: [true, false])
    func byCall(isPage: Bool) async throws {
        let app = try app()
        app.carrier.script { $0.nonce = "NONCE-of-the-app" }
        var headers = isPage ? Self.sameOrigin : [:]
        headers[.contentType] = "application/json"
        var body = SignInBody().with("scope", "\"\(Self.scopes)\"").with("redirect_uri", "\"\(Self.page)\"")
        if isPage { body = body.with("client_type", "\"web\"") }
        let answer = try await app.send(
            .post, "/auth/zenkey/sign-in", headers, body: body.json, apiKey: isPage ? nil : TestApp.apiKey)
        #expect(answer.error == "user_not_registered")
        let cookie = answer.headers[values: .setCookie].first.map(Self.pair)
        #expect((cookie != nil) == isPage)
        guard isPage else { return }
        let done = try await post(app, cookie, try id(try await show(app, cookie)))
        #expect(done.headers[.location] == "https://login.example/base/?action=login&status=success")
    }

    @Test("accepts no cookie that this server did not make, though handle and challenge are right")
    func forgedCookie() async throws {
        let app = try app()
        let challenge = try #require(CodeVerifier(String(repeating: "v", count: 43))).challenge
        let asked = [("code_challenge", challenge), ("code_challenge_method", "S256")]
        let uri = "https://login.example/base/"
        let arrival = try await arrive(app, at: uri, asked)
        let handle = try #require(arrival.location.firstMatch(of: /state_key=([^&]+)/)?.1)
        let cookie = try #require(arrival.cookie)
        let id = try id(try await show(app, cookie))
        let location = Base64URL.encode(Array((uri + "?action=login&status=success").utf8))
        let evil = Base64URL.encode(Array("https://evil.example/".utf8))
        let parts = cookie.split(separator: ".").map(String.init)
        let random = parts[3]
        for forged in [
            "\(handle).\(challenge).\(location)", "\(handle).\(challenge).\(location).",
            "\(handle).\(challenge).\(location).\(String(repeating: "A", count: 43))",
            "\(handle).\(challenge).\(evil).\(random)", "\(handle)..\(location).\(random)",
        ] {
            let forged = "\(Self.cookieName)=\(forged)"
            #expect(try await show(app, forged).status == 401, "\(forged)")
            #expect(try await post(app, forged, id).status == 401, "\(forged)")
        }
        #expect(try await post(app, cookie, id).status == 303)
    }

    @Test("ends for this browser when another user signs in or out there")
    func cleared() async throws {
        let app = try app()
        let other = try await arrive(app)
        let registered = try await post(app, other.cookie, try id(try await show(app, other.cookie)))
        #expect(registered.status == 303)
        app.carrier.script {
            $0.subject = "SUBJECT-of-john"
            $0.userInfo = { _ in .json(#"{"sub":"SUBJECT-of-john","name":"John","email":"john@mail.example"}"#) }
        }
        let cookie = try #require(try await arrive(app).cookie)
        func isCleared(_ answer: Answer) -> Bool {
            answer.headers[values: .setCookie].contains { $0.hasPrefix(Self.cookieName + "=;") }
        }
        var headers = Self.sameOrigin
        headers[.cookie] = cookie
        let left = try await app.send(.post, "/sign-out", headers, apiKey: nil)
        #expect(left.status == 303 && isCleared(left))
        app.carrier.script {
            $0.subject = "SUBJECT-of-jane"
            $0.userInfo = { _ in .json(#"{"sub":"SUBJECT-of-jane","name":"Jane","email":"jane@mail.example"}"#) }
        }
        let signedIn = try await arrive(app, sending: cookie).answer
        #expect(signedIn.headers[.location]?.contains("action=login&status=success") == true && isCleared(signedIn))
        let fresh = try await arrive(app).answer
        #expect(!isCleared(fresh))
    }
}
