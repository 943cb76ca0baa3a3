import CarrierSimulator
import Foundation
import LatchkeyConfiguration
import Primitives
import SignIn
import TestSupport
import Testing

/// `/sign-in`: sign-in without scripts, up to the page with the result.
@Suite(.serialized) struct SignInPageTests {
    private static let page = "http://127.0.0.1/sign-in"

    private func withHarness(
        _ body: (_ harness: SignInHarness, _ url: String) async throws -> Void
    ) async throws {
        try await SignInHarness.with(
            configure: { configuration in
                configuration.zenkey.clients[0].redirectURIs = [SignInHarness.redirectURI, Self.page]
                configuration.providers[0].name = "Acme & Sons"
                configuration.providers[0].clients[0].redirectURIs = [Self.page]
                configuration.providers[0].clients[0].scopes = ["openid", "name"]
            }
        ) { try await body($0, "http://127.0.0.1:\($0.app.port)") }
    }

    /// Follows the page's link, approves, and returns.
    private func signIn(_ browser: Browser, _ url: String) async throws -> Browser.Page {
        let page = try await browser.get(url + "/sign-in")
        let link = try #require(page.text.firstMatch(of: /href="(\/auth\/acme\/start\?[^"]*)"/)?.1)
        let asked = try await browser.get(url + link.replacing("&amp;", with: "&"))
        let back = try await browser.get(try await browser.approve(asked).location)
        #expect(back.status == 303)
        return try await browser.get(back.location)
    }

    @Test("The page has a link for each client registered for it and for no other; names are text")
    func links() async throws {
        try await withHarness { _, url in
            let page = try await Browser().get(url + "/sign-in")
            #expect(page.status == 200)
            #expect(page.response["content-type"] == "text/html; charset=utf-8")
            #expect(page.response["cache-control"] == "no-store")
            #expect(page.text.contains("Sign in with ZenKey"))
            #expect(page.text.contains("Sign in with Acme &amp; Sons"))
            #expect(!page.text.contains("globex") && !page.text.contains("meetings"))
            #expect(!page.text.contains("<script"))
        }
        try await SignInHarness.with { harness in
            let page = try await Browser().get("http://127.0.0.1:\(harness.app.port)/sign-in")
            #expect(page.text.contains("<code>http://127.0.0.1:\(harness.app.port)/sign-in</code>"), "what to register")
            #expect(!page.text.contains("/start"))
        }
    }

    @Test("A user signs in and is greeted; a session that only the URL claims does not count")
    func signsIn() async throws {
        try await withHarness { _, url in
            let browser = Browser()
            let done = try await signIn(browser, url)
            #expect(done.text.contains("<h1>You are signed in</h1>"))
            #expect(done.text.contains("You are user 1 here"))
            #expect(!done.text.contains("See your account"), "there is no console")
            #expect(!done.text.contains("/start"))
            let told = try await Browser().get(url + "/sign-in?action=login&status=success")
            #expect(told.text.contains("<h1>Sign in</h1>"))
            #expect(told.text.contains("has not stored the cookie"))
        }
    }

    @Test("A failure shows the reference of the sign-in, and no other text of the URL")
    func reference() async throws {
        try await withHarness { _, url in
            let failed = url + "/sign-in?action=login&status=failure&error=access_denied&correlation_id="
            let page = try await Browser().get(failed + "vRylAv0XY8Mj8FpKas7MrQ").text
            #expect(page.contains("Reference: <code>vRylAv0XY8Mj8FpKas7MrQ</code>"))
            for forged in ["Call-1-900-555-0100-now!", "Call%201%20900%20555%200100.", "short"] {
                let page = try await Browser().get(failed + forged).text
                #expect(!page.contains("Reference"), "\(forged)")
            }
            let lost = try await Browser().get(url + "/auth/zenkey/callback?state=unknown&code=c")
            #expect(lost.text.firstMatch(of: /Reference: <code>([^<]+)<\/code>/) != nil)
        }
    }

    @Test("Only this page's own form signs out")
    func signsOut() async throws {
        try await withHarness { _, url in
            let browser = Browser()
            let page = try await signIn(browser, url)
            #expect(page.text.contains(#"<form class="ways" method="post" action="/sign-out">"#))
            #expect(page.response["content-security-policy"]?.contains("form-action 'self'") == true)
            // Browsers without Sec-Fetch-Site send only Origin.
            #expect(page.response["referrer-policy"] == "same-origin")
            for headers in [["Sec-Fetch-Site: cross-site"], ["Origin: https://evil.example"], ["Origin: null"], []] {
                let refused = try await browser.post(url + "/sign-out", form: [:], headers: headers)
                #expect(refused.status == 403, "\(headers)")
                #expect(try await browser.get(url + "/users/me").status == 200, "\(headers)")
            }
            let left = try await browser.post(url + "/sign-out", form: [:], headers: ["Sec-Fetch-Site: same-origin"])
            #expect(left.status == 303 && left.location == "/sign-in?action=logout&status=success")
            let done = try await browser.get(url + left.location)
            #expect(done.text.contains("You are signed out.") && done.text.contains("<h1>Sign in</h1>"))
            #expect(try await browser.get(url + "/users/me").status == 401)
            // A signed-out browser gets there too.
            let again = try await browser.post(url + "/sign-out", form: [:], headers: ["Sec-Fetch-Site: same-origin"])
            #expect(again.status == 303)
        }
        try await withHarness { _, url in
            let browser = Browser()
            _ = try await signIn(browser, url)
            let told = try await browser.get(url + "/sign-in?action=logout&status=success")
            #expect(!told.text.contains("You are signed out"), "an address says nothing of a session")
        }
    }

    @Test(
        "A failure shows the page's own text and at most the error code",
        arguments: [
            ("error=access_denied", "was declined", "access_denied"),
            ("error=carrier_timeout", "in time", "carrier_timeout"),
            ("error=%3Cb%3E&message=Call+900", "did not go through", "unknown_error"),
            ("error=Call_900", "did not go through", "unknown_error"), ("", "did not go through", "unknown_error"),
            ("error=" + String(repeating: "a", count: 49), "did not go through", "unknown_error"),
        ])
    func failure(query: String, words: String, code: String) async throws {
        try await withHarness { _, url in
            let page = try await Browser().get(url + "/sign-in?action=login&status=failure&" + query)
            #expect(page.text.contains(words) && page.text.contains("<code>\(code)</code>"), "\(page.text)")
            #expect(!page.text.contains("<b>") && !page.text.contains("900"))
        }
    }
}

/// What the demonstration tells of sign-ins.
@Suite(.serialized) struct SignInStoryTests {
    private func json(_ text: String) throws -> JSONObject {
        try #require(try JSONValue(parsing: Array(text.utf8)).object, "\(text)")
    }

    @Test("The demonstration tells each call to a carrier, each check with its verdict, and the times, but no secret")
    func tells() async throws {
        let directory = try TemporaryDirectory()
        let demo = try LatchkeyProcess.demonstration(directory: directory.path)
        let url = "http://127.0.0.1:\(try await demo.port(after: "Latchkey"))"
        let carriers = "http://127.0.0.1:\(try await demo.port(after: "simulated carriers are at"))"
        func signIn(_ change: (inout [String: String]) -> Void = { _ in }) async throws -> (
            JSONObject, secrets: [String]
        ) {
            let code = try json(try await Browser().post(carriers + "/demo/codes", form: [:]).text)
            var form = Dictionary(
                uniqueKeysWithValues: code.members.compactMap { member in
                    member.value.string.map { (member.name, $0) }
                })
            change(&form)
            let answer = try await Browser().post(
                url + "/auth/zenkey-signin", form: form, headers: ["X-API-KEY: demo-key"])
            let secrets = ["code", "code_verifier", "nonce"].compactMap { form[$0] }
            let signedIn = try json(answer.text)
            return (signedIn, secrets + ["token", "refresh_token"].compactMap { signedIn[$0]?.string })
        }
        func story(after revision: Int64 = 0) async throws -> (JSONObject, revision: Int64, text: String) {
            let text = try await Browser().get(url + "/demo/sign-ins?after=\(revision)").text
            let answer = try json(text)
            let stories = answer["sign_ins"]?.array ?? []
            #expect(stories.count == 1)
            return (try #require(stories.last?.object), try #require(answer["revision"]?.integer), text)
        }

        let (signedIn, secrets) = try await signIn()
        let (first, revision, text) = try await story()
        #expect(first["id"]?.string == signedIn["correlation_id"]?.string)
        let calls = first["calls"]?.array?.compactMap(\.object) ?? []
        #expect(calls.map { $0["step"]?.string } == ["discovery", "token", "keys", "userInfo"])
        #expect(calls.allSatisfy { $0["status"]?.integer == 200 && ($0["ms"]?.double ?? 0) > 0 })
        let checks = first["checks"]?.array?.compactMap(\.object) ?? []
        #expect(checks.contains { $0["name"]?.string == "nonce" && $0["verdict"]?.string == "passed" })
        #expect(checks.count > 15 && !checks.contains { $0["verdict"]?.string == "failed" })
        let outcome = try #require(first["outcome"]?.object)
        #expect(outcome["name"]?.string == "signed_up" && outcome["is_refused"]?.bool == false)
        #expect(try #require(outcome["ms"]?.double) > 0)
        #expect(outcome["steps"]?.array?.contains { $0.object?["name"]?.string == "token" } == true)
        #expect(secrets.count == 5)
        // A JWT has a point before its claims. The ids of keys and sign-ins are random, and may have any letters.
        for secret in secrets + ["Jane", "jane.doe@example.com", "+12025550123", ".eyJ"] {
            #expect(!text.contains(secret), "\(secret)")
        }

        _ = try await signIn { $0["nonce"] = "another" }
        let (second, _, _) = try await story(after: revision)
        let failed = second["checks"]?.array?.compactMap(\.object).filter { $0["verdict"]?.string == "failed" } ?? []
        #expect(failed.map { $0["name"]?.string } == ["nonce"])
        #expect(second["outcome"]?.object?["check"]?.string == "nonce")
        #expect(second["outcome"]?.object?["failed_step"]?.string == "validate")
        #expect(second["outcome"]?.object?["is_refused"]?.bool == true)
    }

    @Test("The demonstration tells nothing to pages of other origins, and nothing under other host names")
    func outsiders() async throws {
        let directory = try TemporaryDirectory()
        let demo = try LatchkeyProcess.demonstration(directory: directory.path)
        let url = "http://127.0.0.1:\(try await demo.port(after: "Latchkey"))/demo/sign-ins"
        #expect(try await Browser().get(url).status == 200)
        for header in ["Origin: https://evil.example", "Sec-Fetch-Site: cross-site"] {
            #expect(try await Browser().get(url, headers: [header]).status == 404, "\(header)")
        }
    }

    @Test("Other servers tell nothing")
    func others() async throws {
        try await SignInHarness.with { harness in
            _ = try await harness.app.signIn(harness.authorizedResponse())
            let told = try await Browser().get("http://127.0.0.1:\(harness.app.port)/demo/sign-ins")
            #expect(told.status == 404)
        }
    }
}

/// The demonstration's information for its pages.
@Suite(.serialized) struct DemonstrationTests {
    @Test(
        "The demonstration lists its providers and its carriers' URL, which its pages may request; other servers do not"
    )
    func demo() async throws {
        let directory = try TemporaryDirectory()
        let demo = try LatchkeyProcess.demonstration(directory: directory.path)
        let url = "http://127.0.0.1:\(try await demo.port(after: "Latchkey"))"
        let carriers = "http://127.0.0.1:\(try await demo.port(after: "simulated carriers are at"))"
        let providers = try await Browser().get(url + "/auth/providers").text
        #expect(providers.contains(#""demo":{"carriers_url":"\#(carriers)","api_key":"demo-key"}"#))
        for id in ["zenkey", "acme", "meetings"] { #expect(providers.contains(#""id":"\#(id)""#)) }
        let policy = try await Browser().get(url + "/").response["content-security-policy"] ?? ""
        #expect(policy.contains("connect-src 'self' \(carriers);"))

        let people = try await Browser().get(carriers + "/demo/people", headers: ["Origin: \(url)"])
        #expect(people.text.contains(#""name":"Northwind Mobile""#) && people.text.contains(#""id":"jane""#))
        #expect(people.response["access-control-allow-origin"] == url)
        for origin in ["https://evil.example", "http://127.0.0.1.evil.example", "null"] {
            let refused = try await Browser().get(carriers + "/demo/people", headers: ["Origin: \(origin)"])
            #expect(refused.response["access-control-allow-origin"] == nil, "\(origin)")
        }
        demo.send(SIGINT)
        #expect(await demo.ending().status == 0)

        try await SignInHarness.with { harness in
            let url = "http://127.0.0.1:\(harness.app.port)"
            #expect(!(try await Browser().get(url + "/auth/providers").text.contains("demo")))
            let policy = try await Browser().get(url + "/latchkey.js").response["content-security-policy"] ?? ""
            #expect(policy.contains("connect-src 'self';"))
        }
    }
}
