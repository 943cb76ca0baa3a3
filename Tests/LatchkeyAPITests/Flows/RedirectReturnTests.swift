import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// What browsers do with the address that a provider sends them to.
@Suite("A browser that comes back from a provider")
struct RedirectReturnTests {
    private static let callback = "/auth/zenkey/callback"
    private static let page = "https://app.example/cb"

    /// A browser with the cookies of its start.
    private struct Walk {
        let app: TestApp
        let state: String
        var cookies: [String: String]

        init(
            _ app: TestApp, _ clientType: String = "web", _ more: String = "&mccmnc=310410", to page: String = page
        ) async throws {
            self.app = app
            let answer = try await app.send(
                .get, "/auth/zenkey/start?client_type=\(clientType)&redirect_uri=\(page)\(more)", apiKey: nil)
            let location = try #require(answer.headers[.location])
            func parameter(_ name: String) -> String {
                location.split(separator: "&").first { $0.hasPrefix(name + "=") }
                    .map { String($0.dropFirst(name.utf8.count + 1)) } ?? ""
            }
            state = parameter("state")
            cookies = Self.cookies(of: answer)
            app.carrier.script { $0.nonce = parameter("nonce") }
        }

        static func cookies(of answer: Answer) -> [String: String] {
            answer.headers[values: .setCookie].reduce(into: [:]) { cookies, field in
                let pair = field.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1).map(String.init)
                cookies[pair[0]] = pair.count == 2 ? pair[1] : nil
            }
        }

        func field(_ cookies: [String: String]) -> HTTPFields {
            cookies.isEmpty ? [:] : [.cookie: cookies.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: "; ")]
        }

        func come(_ query: String, _ other: [String: String]? = nil) async throws -> Answer {
            try await app.send(
                .get, "\(callback)?state=\(state)&\(query)", field(other ?? cookies), apiKey: nil)
        }

        func post(_ body: String, _ cookies: [String: String]) async throws -> Answer {
            var headers = field(cookies)
            headers[.contentType] = "application/x-www-form-urlencoded"
            return try await app.send(.post, callback, headers, body: "state=\(state)&" + body, apiKey: nil)
        }
    }

    private static let session = "__Host-latchkey_session"

    @Test("a second time gets the same end, and the cookies again if it has not got them")
    func again() async throws {
        let walk = try await Walk(TestApp())
        let first = try await walk.come("code=CODE-1")
        let location = try #require(first.headers[.location])
        #expect(first.status == 303 && location.hasPrefix(Self.page + "?action=login&status=success"))
        let session = try #require(Walk.cookies(of: first)[Self.session])

        let lost = try await walk.come("code=CODE-1")
        #expect(lost.headers[.location] == location && Walk.cookies(of: lost)[Self.session] == session)
        let signedIn = walk.cookies.merging([Self.session: session]) { $1 }
        let restored = try await walk.come("code=CODE-1", signedIn)
        #expect(restored.headers[.location] == location && restored.headers[values: .setCookie].isEmpty)
        #expect(walk.app.carrier.tokenPosts == 1)

        #expect(try await walk.app.asUser(.delete, "/auth/token", session).status == 200)
        #expect(try await walk.come("code=CODE-1").status == 400, "the user has signed out")
        #expect(walk.app.carrier.tokenPosts == 1)
    }

    @Test("a second time gets the same failure, and a popup the same page")
    func failureAgain() async throws {
        let denied = try await Walk(TestApp())
        let first = try await denied.come("error=access_denied")
        #expect(first.headers[.location]?.contains("status=failure") == true)
        #expect(try await denied.come("error=access_denied").headers[.location] == first.headers[.location])
        let popup = try await Walk(TestApp(), "popup")
        let page = try await popup.come("code=CODE-1")
        #expect(page.status == 200 && page.body.contains("session_id"))
        #expect(try await popup.come("code=CODE-1").body == page.body)
        #expect(try await popup.come("code=CODE-1", [:]).status == 400)
        // The session_id in the page is good for two minutes.
        popup.app.clock.advance(bySeconds: 120)
        #expect(try await popup.come("code=CODE-1").status == 400)
        #expect(popup.app.carrier.tokenPosts == 1)
    }

    @Test("a second time gets the same end, although an app's sign-in may come back in any browser")
    func appAgain() async throws {
        let walk = try await Walk(TestApp(), "ios", to: "com.example.app://cb")
        let location = try #require(try await walk.come("code=CODE-1").headers[.location])
        #expect(location.contains("&session_id="))
        #expect(try await walk.come("code=CODE-1").headers[.location] == location)
        #expect(try await walk.come("code=CODE-1", [:]).status == 400)
        let elsewhere = try await Walk(walk.app, "ios", to: "com.example.app://cb")
        #expect(try await elsewhere.come("code=CODE-2", [:]).status == 303)
    }

    @Test("twice at once gets one end")
    func atOnce() async throws {
        let walk = try await Walk(TestApp())
        let gate = Gate()
        defer { gate.open() }
        walk.app.carrier.script { script in
            script.token = { [carrier = walk.app.carrier] _ async throws(OutboundError) in
                await gate.pass()
                return carrier.tokens()
            }
        }
        async let first = walk.come("code=CODE-1")
        async let second = walk.come("code=CODE-1")
        await gate.untilWaiting()
        gate.open()
        let locations = [try await first.headers[.location], try await second.headers[.location]]
        #expect(locations[0]?.contains("status=success") == true && locations[0] == locations[1])
        #expect(walk.app.carrier.tokenPosts == 1)
    }

    @Test("without the cookie, or with another browser's, uses nothing up", arguments: ["web", "popup"])
    func withoutCookie(clientType: String) async throws {
        let walk = try await Walk(TestApp(), clientType)
        let other = try await Walk(walk.app, clientType)
        for cookies in [[:], other.cookies] { #expect(try await walk.come("code=CODE-1", cookies).status == 400) }
        #expect(walk.app.carrier.tokenPosts == 0)
        let done = try await walk.come("error=access_denied")
        #expect(done.status == (clientType == "web" ? 303 : 200) && !done.body.contains("cannot continue"))
    }

    @Test(
        "with parameters that nobody knows, however they are written, succeeds",
        arguments: [
            "scope=[a]|{b}^`\\\"<c>", "x=1&x=2", "session_state=%", "x=100%&y=%zz", "hd=M%FCller", "%FC=%C3",
            "x=%CC%81",
            "x=a" + String(repeating: "%CC%81", count: 40), "mcc=1&mnc=2", "hd=M\u{FC}ller", "x=%00",
            "user=a&user=b",
        ])
    func unknown(more: String) async throws {
        let walk = try await Walk(TestApp())
        let done = try await walk.come("code=CODE-1&" + more)
        #expect(done.headers[.location]?.contains("status=success") == true, "\(done.body)")
    }

    @Test("by a form that has the user twice is sent again, with the cookie")
    func userTwice() async throws {
        let walk = try await Walk(TestApp())
        let first = try await walk.app.send(
            .post, "/auth/zenkey/callback", [.contentType: "application/x-www-form-urlencoded"],
            body: "state=\(walk.state)&code=CODE-1&user=a&user=b", apiKey: nil)
        #expect(first.status == 200 && first.body.contains("sent_again"), "\(first.body)")
    }

    @Test(
        "begins from a link with parameters that are not known",
        arguments: ["utm_source=a&utm_source=b", "q=M%FCller", "q=\u{FC}|", "q=100%", "%zz=1", "q=%00"])
    func unknownAtStart(more: String) async throws {
        let walk = try await Walk(TestApp(), "web", "&mccmnc=310410&" + more)
        #expect(try await walk.come("code=CODE-1").status == 303)
        let repeated = try await walk.app.send(
            .get, "/auth/zenkey/start?client_type=web&redirect_uri=\(Self.page)&mccmnc=310410&mccmnc=310410",
            apiKey: nil)
        #expect(repeated.status == 400 && repeated.body.contains("mccmnc is repeated"))
        let many = String(repeating: "a=b&", count: 100)
        let tooMany = try await walk.app.send(
            .get, "/auth/zenkey/start?\(many)client_type=web&redirect_uri=\(Self.page)", apiKey: nil)
        #expect(tooMany.status == 400 && tooMany.body.contains("at most 100"), "\(tooMany.body)")
    }

    @Test(
        "with an error in any text tells the frontend",
        arguments: [
            ("error=access_denied&error_description=Zugriff%20verweigert%FC", "access_denied"),
            ("error=login_required&error_description=a&error_description=b|c", "login_required"),
            ("error=login_required&error_description=\u{FC}", "login_required"), ("code=a%00", "carrier_error"),
            ("error=%FC", "access_denied"), ("error=" + String(repeating: "e", count: 3000), "access_denied"),
            ("error=access_denied&mccmnc=1", "access_denied"),
            ("code=a%07", "carrier_error"), ("code=%E9", "carrier_error"), ("code=C&mccmnc=31041", "issuer_mismatch"),
            ("code=C&mccmnc=1", "carrier_error"),
            ("code=C&iss=" + String(repeating: "i", count: 2049), "carrier_error"),
        ])
    func failures(query: String, error: String) async throws {
        let walk = try await Walk(TestApp())
        walk.app.carrier.script { script in
            script.discovery = { [carrier = walk.app.carrier] request throws(OutboundError) in
                request.url.text.contains("310410") ? carrier.discovered() : .json("{}", status: 404)
            }
        }
        let location = try #require(try await walk.come(query).headers[.location])
        #expect(location.hasPrefix(Self.page + "?action=login&status=failure"))
        #expect(location.contains("&error=\(error)&"), "\(location)")
        #expect(walk.app.carrier.tokenPosts == 0)
    }

    @Test(
        "with a repeated parameter that counts is refused, and uses nothing up",
        arguments: ["code=a&code=b", "state=x"])
    func repeated(more: String) async throws {
        let walk = try await Walk(TestApp())
        #expect(try await walk.come("code=CODE-1&" + more).status == 400)
        #expect(try await walk.come("code=CODE-1").headers[.location]?.contains("status=success") == true)
    }

    @Test("too late can start again with one click, as it started, or as the client's pages start")
    func restart() async throws {
        let walk = try await Walk(TestApp(), "web", "&mccmnc=310410&tracking_id=t-7")
        walk.app.clock.advance(bySeconds: 3600)
        let late = try await walk.come("code=CODE-1")
        #expect(late.status == 400)
        let start = "/base/auth/zenkey/start?client_type=web&amp;"
        #expect(
            late.body.contains(
                "<a href=\"\(start)redirect_uri=\(Self.page)&amp;mccmnc=310410&amp;tracking_id=t-7\">Start again</a>"),
            "\(late.body)")
        let usual = "\(start)client_id=client-1&amp;redirect_uri=https%3A%2F%2Fapp.example%2Fcb\">Start again</a>"
        for forged in [
            nil, "x", Base64URL.encode(Array("//evil.example/zenkey/".utf8)), Base64URL.encode([0xFF, 0x22]),
            Base64URL.encode(Array(#"/\evil.example/zenkey/"#.utf8)),
        ] {
            var cookies = walk.cookies
            cookies["__Host-latchkey_start"] = forged
            #expect(try await walk.come("code=CODE-1", cookies).body.contains(usual))
        }
        let several = try await Walk(
            TestApp(otherClients: ["client-2"]), "web", "&mccmnc=310410&client_id=client-1")
        #expect(try await several.come("code=CODE-1", [:]).body.contains("Back to the sign-in page"))
    }

    @Test("with the user's name in a form keeps it, as do the form that is sent again and an app")
    func name() async throws {
        let app = try TestApp()
        let user = "%7B%22name%22%3A%7B%22firstName%22%3A%22Ada%22%2C%22lastName%22%3A%22Lovelace%22%7D%7D"
        func name(_ answer: Answer) async throws -> String? {
            let cookie = try #require(Walk.cookies(of: answer)[Self.session])
            return try await app.me(cookie).text("name")
        }
        app.carrier.script { $0.subject = "of-form" }
        let walk = try await Walk(app)
        let again = try await walk.post("code=CODE-1&user=\(user)&other=x", [:])
        #expect(again.body.contains("name=\"user\" value=\"{&quot;name&quot;:{&quot;firstName&quot;"), "\(again.body)")
        #expect(!again.body.contains("name=\"other\""))
        #expect(try await name(walk.post("code=CODE-1&user=\(user)&sent_again=true", walk.cookies)) == "Ada Lovelace")

        app.carrier.script { $0.subject = "of-query" }
        let query = try await Walk(app)
        #expect(try await name(query.come("code=CODE-2&user=\(user)")) == nil)

        let values: [(json: String, name: String?)] = [
            (#"{"name":{"firstName":"Ada","lastName":"Lovelace"},"email":"a@b.example"}"#, "Ada Lovelace"),
            (#""{\"name\":{\"firstName\":\"Ada\"}}""#, "Ada"), (#"{"name":"Ada"}"#, "Ada"), ("\"{\"", nil), ("7", nil),
            (#"{"name":{"firstName":7}}"#, nil), (#"{"name":{"firstName":"a\u0007"}}"#, nil),
            ("{\"name\":\"\(String(repeating: "a", count: 256))\"}", nil), ("{\"name\":\"\"}", nil), ("null", nil),
        ]
        for (number, row) in values.enumerated() {
            app.carrier.script { ($0.subject, $0.nonce) = ("of-app-\(number)", "NONCE-of-the-app") }
            let token = try await app.token(SignInBody().code("APP-\(number)").with("user", row.json))
            let me = try await app.me(token)
            #expect(me.text("name") == row.name && me.text("email") == nil, "\(row.json)")
        }
    }

    @Test(
        "or a phone that knows no network gets the choice of a carrier",
        arguments: ["65535", "--", "00000", "65535-65535", "6553565535", "000000", "", "----", "null", "undefined"])
    func noNetwork(text: String) async throws {
        for query in ["&mccmnc=\(text)", "&mcc=\(text)&mnc=\(text)", "&mcc=310&mnc=\(text == "" ? "--" : text)"] {
            // Zeros can be a network's part.
            if query.hasPrefix("&mcc=310"), text.hasPrefix("0") { continue }
            let answer = try await TestApp().send(
                .get, "/auth/zenkey/start?client_type=web&redirect_uri=\(Self.page)\(query)", apiKey: nil)
            #expect(answer.headers[.location]?.hasPrefix("https://discoveryui.xcijv.com/ui?") == true, "\(query)")
        }
    }

    @Test(
        "or a code of a provider's SDK is redeemed with what stands for its redirect URI",
        arguments: [(nil, "redirect_uri"), ("", "redirect_uri=&"), ("postmessage", "redirect_uri=postmessage&")]
            as [(String?, String)])
    func sdkCode(text: String?, expected: String) async throws {
        for sent in [nil, "\"\"", "\"postmessage\""] as [String?]
        where sent != "\"postmessage\"" || text == "postmessage" {
            let app = try TestApp(client: {
                $0.sdkRedirectURI = SignInConfiguration.Client.SDKRedirectURI.allCases.first { $0.text == text }
            })
            let answer = try await app.signIn(SignInBody().with("redirect_uri", sent))
            #expect(answer.status == 200, "\(answer.body)")
            let post = try #require(app.carrier.http.requests(to: FakeCarrier.tokenURL).first)
            let form = String(decoding: post.body, as: UTF8.self) + "&"
            #expect(form.contains(expected) == (text != nil), "\(form)")
            // A registered one still counts, and no other.
            #expect(try await app.signIn(SignInBody().code("CODE-2")).status == 200)
            let other = try await app.signIn(SignInBody().code("C").with("redirect_uri", "\"https://other.example\""))
            #expect(other.status == 400)
        }
    }
}
