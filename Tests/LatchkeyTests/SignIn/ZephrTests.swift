import CarrierSimulator
import HTTPServer
import LatchkeyAPI
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// The paths of Zephr's OAuth sign-in, over real sockets.
@Suite(.serialized) struct ZephrTests {
    private static let appURI = "com.example.app:/signed-in"

    private func onWalk(
        isOn: Bool = true, registration: RegistrationRules.Mode = .automatic,
        _ body: (ProviderWalk) async throws -> Void
    ) async throws {
        let kinds = ["web", "ios", "android", "popup"]
        try await SignInHarness.with(
            configure: { configuration in
                configuration.compatibility.zephr = isOn
                configuration.registration.mode = registration
                configuration.registration.blockedEmailDomains = ["blocked.example"]
                for index in configuration.providers.indices {
                    configuration.providers[index].clients[0].redirectURIs = [ProviderWalk.webURI, Self.appURI]
                }
            },
            register: { client in
                for prefix in ["zephr", "blaize"] {
                    client.redirectURIs += kinds.map { "http://127.0.0.1/\(prefix)/oauth/acme/\($0)/callback" }
                }
            }
        ) { try await body(ProviderWalk(harness: $0)) }
    }

    private func finish(
        _ walk: ProviderWalk, _ browser: Browser, _ clientType: String, prefix: String = "zephr",
        _ fields: [String: String] = [:]
    ) async throws -> Browser.Page {
        let query = App.form(["client_type": clientType].merging(fields) { $1 })
        let asked = try await browser.get("\(walk.origin)/\(prefix)/oauth/acme?\(query)")
        #expect(asked.status == 303)
        #expect(
            asked.parameters["redirect_uri"] == "\(walk.origin)/\(prefix)/oauth/acme/\(clientType)/callback")
        return try await browser.get(try await walk.approved(browser, asked))
    }

    @Test("A sign-in ends with the parameters of Latchkey's own paths", arguments: ["zephr", "blaize"])
    func signsIn(prefix: String) async throws {
        try await onWalk { walk in
            let browser = Browser()
            let web = try await finish(walk, browser, "web", prefix: prefix, ["tracking_id": "t-1"])
            #expect(web.location == ProviderWalk.webURI + "?action=login&status=success&tracking_id=t-1")
            #expect(try await walk.userID(browser) != nil)
            for clientType in ["ios", "android"] {
                let app = try await finish(walk, Browser(), clientType, prefix: prefix)
                #expect(app.location.hasPrefix(Self.appURI + "?action=login&status=success&session_id="))
            }
            let popup = try await finish(walk, Browser(), "popup", prefix: prefix)
            #expect(popup.text.contains(#"data-origin="https://web.example""#))
            walk.harness.simulator.setFaults([.authorizationDenied], for: "acme")
            let failed = try await finish(walk, Browser(), "ios", prefix: prefix)
            #expect(failed.location.hasPrefix(Self.appURI + "?action=login&status=failure&message="))
        }
    }

    @Test(
        "A partial registration is completed under Zephr's names, with every outcome", arguments: ["zephr", "blaize"])
    func register(prefix: String) async throws {
        try await onWalk(registration: .required) { walk in
            func register(_ handle: String, email: String) async throws -> App.Answer {
                try await walk.harness.app.send(
                    "POST", "/\(prefix)/register", headers: ["Content-Type: application/json"],
                    body: """
                        {"identifiers":{"email_address":"\(email)"},"validators":{"token_exchange":"\(handle)"},\
                        "attributes":{"first_name":"Jo","last_name":"Doe","phone":"+13101234567","unknown":[1]}}
                        """)
            }
            let partial = try await finish(walk, Browser(), "ios", prefix: prefix)
            #expect(partial.location.hasPrefix(Self.appURI + "?action=register&status=partial&state_key="))
            let handle = try #require(partial.parameters["state_key"])
            let second = try #require(try await finish(walk, Browser(), "ios").parameters["state_key"])
            let blocked = try await register(handle, email: "jo@blocked.example")
            #expect(blocked.status == 403)
            #expect(blocked.error == "email_domain_blocked")
            #expect(try await register(handle, email: "nobody").status == 400)
            let done = try await register(handle, email: "jo@example.org")
            #expect(done.status == 201)
            let me = try await walk.harness.app.me(try #require(done.token))
            #expect(me.json["email"]?.string == "jo@example.org")
            #expect(me.json["phone_number"]?.string == "+13101234567")
            #expect(try await register(handle, email: "jo@example.org").status == 401, "used before")
            let exists = try await register(second, email: "jo@example.org")
            #expect(exists.status == 409)
            #expect(exists.error == "user_already_exists")
            let headers = ["Content-Type: application/json"]
            for body in ["{}", #"{"validators":7}"#, #"{"validators":{"token_exchange":7}}"#, "[]"] {
                let refused = try await walk.harness.app.send(
                    "POST", "/\(prefix)/register", headers: headers, body: body)
                #expect(refused.status == 400, "\(body)")
            }
            var stranger = walk.harness.app
            stranger.apiKey = nil
            #expect(try await stranger.send("POST", "/\(prefix)/register", headers: headers, body: "{}").status == 401)
        }
    }

    @Test("A redirect URI must be registered here too")
    func openRedirect() async throws {
        try await onWalk { walk in
            let query = App.form(["client_type": "web", "redirect_uri": "https://evil.example/"])
            let page = try await Browser().get("\(walk.origin)/zephr/oauth/acme?\(query)")
            #expect(page.status == 400)
            #expect(page.location.isEmpty)
            #expect(try await Browser().get("\(walk.origin)/zephr/oauth/acme?client_type=tv").status == 400)
            #expect(try await Browser().get("\(walk.origin)/zephr/oauth/initech?client_type=web").status == 400)
        }
    }

    @Test("Zephr's paths exist only if configured")
    func off() async throws {
        try await onWalk(isOn: false) { walk in
            for prefix in ["zephr", "blaize"] {
                for path in ["/oauth/acme?client_type=web", "/oauth/acme/web/callback?state=x"] {
                    #expect(try await Browser().get("\(walk.origin)/\(prefix)\(path)").status == 404)
                }
                let response = try await walk.harness.app.send(
                    "POST", "/\(prefix)/register", headers: ["Content-Type: application/json"], body: "{}")
                #expect(response.status == 404)
            }
        }
    }
}
