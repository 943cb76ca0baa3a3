import CarrierSimulator
import LatchkeyConfiguration
import Primitives
import Registration
import SignIn
import TestSupport
import Testing

/// `/register`, over real sockets: the registration of a user who has signed in without scripts.
@Suite(.serialized) struct RegistrationPageTests {
    private static let page = "http://127.0.0.1/sign-in"
    private static let ownPage = ["Sec-Fetch-Site: same-origin"]

    private func withHarness(
        clock: WallClock = .system, _ body: (_ harness: SignInHarness, _ url: String) async throws -> Void
    ) async throws {
        try await SignInHarness.with(
            clock: clock,
            configure: { configuration in
                configuration.registration.mode = .required
                configuration.zenkey.clients[0].redirectURIs = [Self.page]
                configuration.zenkey.clients[0].scopes = ["openid", "name", "email", "phone", "postal_code"]
            }
        ) { try await body($0, "http://127.0.0.1:\($0.app.port)") }
    }

    /// Follows the link of the sign-in page, approves, and returns.
    private func arrive(_ browser: Browser, _ url: String) async throws -> Browser.Page {
        let page = try await browser.get(url + "/sign-in")
        let link = try #require(page.text.firstMatch(of: /href="(\/auth\/zenkey\/start\?[^"]*)"/)?.1)
        let asked = try await browser.get(url + link.replacing("&amp;", with: "&") + "&mccmnc=" + SignInHarness.mccmnc)
        let back = try await browser.get(try await browser.approve(asked).location)
        #expect(back.status == 303 && back.location == "/register")
        return try await browser.get(url + back.location)
    }

    /// What a browser sends of a page's form: the entries of the page, and those of the user in their place.
    private func form(_ page: Browser.Page, _ entries: [String: String] = [:]) throws -> [String: String] {
        var form: [String: String] = [:]
        for field in page.text.matches(of: /name="([a-z_]+)" value="([^"]*)"/) {
            form[String(field.1)] = String(field.2)
        }
        #expect(form["registration"] != nil)
        return form.merging(entries) { $1 }
    }

    @Test("A user signs in, sees what the carrier sent, registers, and is signed in")
    func registers() async throws {
        try await withHarness { _, url in
            let browser = Browser()
            let page = try await arrive(browser, url)
            #expect(page.status == 200)
            for text in ["Jane Doe", "jane.doe@example.com", "+12025550123"] {
                #expect(page.text.contains("<bdi>\(text)</bdi>"), "\(page.text)")
            }
            #expect(try await browser.get(url + "/users/me").status == 401)
            let refused = try await browser.post(
                url + "/register", form: form(page, ["postal_code": "?", "username": "jane"]), headers: Self.ownPage)
            #expect(refused.status == 400 && refused.text.contains("Postal code is not a postal code."))
            let done = try await browser.post(
                url + "/register", form: form(refused, ["postal_code": "20500"]), headers: Self.ownPage)
            #expect(done.status == 303)
            let end = try await browser.get(done.location)
            #expect(end.text.contains("<h1>You are signed in</h1>") && end.text.contains("Jane Doe"))
            let user = try await browser.get(url + "/users/me").text
            for text in ["\"username\":\"jane\"", "\"postal_code\":\"20500\"", "\"email\":\"jane.doe@example.com\""] {
                #expect(user.contains(text), "\(user)")
            }
            #expect(try await browser.get(url + "/register").status == 401)
        }
    }

    @Test("A form is refused in another browser, from another site, a minute after it was sent, and after ten minutes")
    func refusals() async throws {
        let clock = ManualClock()
        try await withHarness(clock: clock.wallClock) { _, url in
            let browser = Browser()
            let form = try form(try await arrive(browser, url))
            let cookie = try #require(browser.cookies.values.first { $0["latchkey_registration"] != nil })
            #expect(cookie["latchkey_session"] == nil)
            let others = [Browser(), Browser(copying: browser, without: ["latchkey_registration"])]
            for other in others {
                #expect(try await other.post(url + "/register", form: form, headers: Self.ownPage).status == 401)
                #expect(try await other.get(url + "/register").status == 401)
            }
            for headers in [["Sec-Fetch-Site: cross-site"], ["Origin: https://evil.example"], ["Origin: null"], []] {
                let refused = try await browser.post(url + "/register", form: form, headers: headers)
                #expect(refused.status == 403, "\(headers)")
            }
            let copy = Browser(copying: browser)
            #expect(try await browser.post(url + "/register", form: form, headers: Self.ownPage).status == 303)
            // A browser that lost the answer has a minute.
            clock.advance(bySeconds: 60)
            #expect(try await copy.post(url + "/register", form: form, headers: Self.ownPage).status == 401)
            #expect(try await copy.get(url + "/users/me").status == 401)
        }
        try await withHarness(clock: clock.wallClock) { _, url in
            let browser = Browser()
            let form = try form(try await arrive(browser, url))
            clock.advance(bySeconds: 600)
            #expect(try await browser.post(url + "/register", form: form, headers: Self.ownPage).status == 401)
        }
    }

    @Test("Markup that the carrier sends is shown as text, and stored as it was sent")
    func markup() async throws {
        try await withHarness { harness, url in
            let name = #"<script>alert("Jane")</script>"#
            harness.simulator.update(SignInHarness.mccmnc) {
                $0.tampering.objects[.userInfo] = [
                    { claims in
                        claims["name"] = .string(name)
                        claims["phone_number"] = .string(#""><img src=x>"#)
                    }
                ]
            }
            let browser = Browser()
            let page = try await arrive(browser, url)
            let shown = "<bdi>&lt;script&gt;alert(&quot;Jane&quot;)&lt;/script&gt;</bdi>"
            #expect(page.text.contains(shown), "\(page.text)")
            #expect(!page.text.contains("<script") && !page.text.contains("<img"))
            let policy = page.response["content-security-policy"] ?? ""
            #expect(policy.hasPrefix("default-src 'none'; ") && policy.hasSuffix("; form-action 'self'"))
            let id = try #require(try form(page)["registration"])
            let done = try await browser.post(
                url + "/register", form: ["registration": id], headers: Self.ownPage)
            let end = try await browser.get(done.location)
            #expect(end.text.contains("Welcome, <strong>&lt;script&gt;") && !end.text.contains("<script"))
        }
    }
}
