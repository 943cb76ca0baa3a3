import CarrierSimulator
import HTTPServer
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// Sign-ins that a third party initiates (OpenID Connect Core section 4), over real sockets.
@Suite(.serialized) struct LoginInitiationTests {
    private static let otherURI = "https://web.example/other?a=b"
    private static let appURI = "com.example.app:/in"

    private func with(_ body: (ProviderWalk) async throws -> Void) async throws {
        try await ProviderWalk.with(
            configure: { configuration in
                let id = ClientID(SignInHarness.clientID)
                configuration.providers[0].rules.loginInitiationClient = id
                configuration.providers[0].clients[0].redirectURIs = [
                    Self.appURI, ProviderWalk.webURI, Self.otherURI, "https://web.example/spa",
                ]
                configuration.providers[0].clients[0].clientTypes = ["https://web.example/spa": [.spa]]
            }, body)
    }

    private func issuer(_ walk: ProviderWalk) -> String { walk.harness.configuration.providers[0].issuer.text }

    private func path(_ walk: ProviderWalk, at provider: String = "acme") -> String {
        "\(walk.origin)/auth/\(provider)/initiate-login"
    }

    @Test("The browser is sent to the provider, and signed in at the target, or at the client's first page")
    func signsIn() async throws {
        try await with { walk in
            for (target, end) in [
                (nil, ProviderWalk.webURI + "?"), (ProviderWalk.webURI, ProviderWalk.webURI + "?"),
                (Self.otherURI, Self.otherURI + "&"),
            ] {
                for byForm in [false, true] {
                    var fields = ["iss": issuer(walk), "login_hint": "jane doe@example.com", "unknown": "x"]
                    fields["target_link_uri"] = target
                    let browser = Browser()
                    var asked: Browser.Page
                    if byForm {
                        // Another site's form: the browser sends no cookie, and must get none in place of its own.
                        let again = try await browser.post(path(walk), form: fields)
                        #expect(again.status == 303)
                        #expect(again.response["set-cookie"] == nil)
                        #expect(again.location.hasPrefix("/auth/acme/initiate-login?iss="))
                        asked = try await browser.get(walk.origin + again.location)
                    } else {
                        asked = try await browser.get(path(walk) + "?" + App.form(fields))
                    }
                    #expect(asked.status == 303)
                    #expect(asked.parameters["login_hint"] == "jane doe@example.com")
                    #expect(asked.parameters["unknown"] == nil)
                    let done = try await browser.get(try await walk.approved(browser, asked))
                    #expect(done.location.hasPrefix(end + "action=login&status=success"), "\(done.location)")
                    #expect(try await browser.get(walk.origin + "/users/me").status == 200)
                }
            }
        }
    }

    @Test("The response belongs to the browser that was sent, and to no other")
    func boundToBrowser() async throws {
        try await with { walk in
            let browser = Browser()
            let asked = try await browser.get(path(walk) + "?" + App.form(["iss": issuer(walk)]))
            let callback = try await walk.approved(browser, asked)
            #expect(try await Browser().get(callback).status == 400)
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// The query or form for an issuer.
        let fields: @Sendable (_ issuer: String) -> String
        /// A word of the response.
        let names: String

        init(_ name: String, names: String, _ fields: @escaping @Sendable (_ issuer: String) -> String) {
            testDescription = name
            self.names = names
            self.fields = fields
        }

        static func target(_ uri: String) -> Row {
            Row("target " + uri, names: "target_link_uri") { App.form(["iss": $0, "target_link_uri": uri]) }
        }
    }

    @Test(
        "A request that is not of this provider, or would send the browser elsewhere, is refused",
        arguments: [
            Row("no iss", names: "iss") { _ in "login_hint=jane" }, Row("an empty iss", names: "iss") { _ in "iss=" },
            Row("another issuer", names: "iss") { _ in App.form(["iss": "https://evil.example"]) },
            Row("an issuer with a slash", names: "iss") { App.form(["iss": $0 + "/"]) },
            Row("two issuers", names: "repeated") { App.form(["iss": $0]) + "&iss=https%3A%2F%2Fevil.example" },
            Row("a long login_hint", names: "login_hint") {
                App.form(["iss": $0, "login_hint": String(repeating: "x", count: 256)])
            },
            .target("https://evil.example/done"), .target("//evil.example/done"), .target("/\\evil.example"),
            .target("https://web.example@evil.example/done"), .target("https://web.example.evil.example/done"),
            .target("https://web.example/done/../elsewhere"), .target("https://web.example/done?x=1"),
            .target("https://web.example/done#x"), .target("https://web.example:8443/done"),
            .target("http://web.example/done"), .target("https://WEB.example/done"), .target("javascript:alert(1)"),
            .target("data:text/html,x"), .target("https://web.example/done%0d%0aSet-Cookie:%20a=b"),
            .target("https://web.example/done\r\nSet-Cookie: a=b"), .target("/sign-in"),
            .target("https://web.example/spa"), .target(appURI),
        ])
    func refused(row: Row) async throws {
        try await with { walk in
            let fields = row.fields(issuer(walk))
            let form = ["Content-Type: application/x-www-form-urlencoded", "Accept: application/json"]
            for page in [
                try await Browser().get(path(walk) + "?" + fields, headers: ["Accept: application/json"]),
                try await Browser().send("POST", path(walk), headers: form, body: fields),
            ] {
                #expect(page.status == 400)
                #expect(page.response["location"] == nil && page.response["set-cookie"] == nil)
                #expect(page.text.contains(row.names), "\(page.text)")
            }
            #expect(walk.harness.simulator.log.tokenPosts("acme") == 0)
        }
    }

    @Test("Nobody initiates sign-ins at a provider without the setting")
    func off() async throws {
        try await with { walk in
            for provider in ["globex", "meetings", "zenkey", "initech"] {
                let fields = ["iss": issuer(walk), "target_link_uri": ProviderWalk.webURI]
                let page = try await Browser().get(path(walk, at: provider) + "?" + App.form(fields))
                #expect(page.status == 404, "\(provider)")
                #expect(try await Browser().post(path(walk, at: provider), form: fields).status == 404, "\(provider)")
            }
        }
    }
}
