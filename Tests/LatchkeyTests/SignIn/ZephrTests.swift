import CarrierSimulator
import HTTPServer
import LatchkeyAPI
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import Registration
import SignIn
import TestSupport
import Testing
import Zephr

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
                configuration[ZephrSettings.self].isEnabled = isOn
                configuration.registration.mode = registration
                configuration.registration.blockedEmailDomains = ["blocked.example"]
                for index in configuration.providers.indices {
                    configuration.providers[index].clients[0].scopes = ["openid", "email"]
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
        _ fields: [String: String] = [:], user: String = "jane"
    ) async throws -> Browser.Page {
        let query = App.form(["client_type": clientType].merging(fields) { $1 })
        let asked = try await browser.get("\(walk.origin)/\(prefix)/oauth/acme?\(query)")
        #expect(asked.status == 303)
        #expect(
            asked.parameters["redirect_uri"] == "\(walk.origin)/\(prefix)/oauth/acme/\(clientType)/callback")
        return try await browser.get(try await walk.approved(browser, asked, user: user))
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
                #expect(app.location.hasPrefix(Self.appURI + "?action=login&status=success&tracking_id="))
                #expect(app.parameters["tracking_id"]?.isEmpty == false)
                // The guide's setUserSessionId: the value is the session.
                let sessionID = try #require(app.parameters["session_id"])
                let me = try await walk.harness.app.me(sessionID)
                #expect(me.status == 200)
                let exchanged = try await walk.harness.app.send(
                    "POST", "/auth/session", headers: ["Content-Type: application/json"],
                    body: #"{"session_id":"\#(sessionID)"}"#)
                #expect(exchanged.status == 401, "a session in a URL gives no refresh token")
                #expect(exchanged.error == "invalid_token")
                #expect(
                    try await walk.harness.app.send(
                        "DELETE", "/auth/token", headers: ["Authorization: Bearer \(sessionID)"]
                    ).status == 200)
                #expect(try await walk.harness.app.me(sessionID).status == 401)
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
                        "attributes":{"first-name":"Jo","last_name":"Doe","phone":"+13101234567","unknown":[1]}}
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
            #expect(done.json["session_id"]?.string == done.token)
            #expect(done.json["tracking_id"]?.string?.isEmpty == false)
            let used = try await register(handle, email: "jo@example.org")
            #expect(used.status == 400, "used before")
            #expect(used.error == "invalid_request")
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
            let unkeyed = try await stranger.send("POST", "/\(prefix)/register", headers: headers, body: "{}")
            #expect(unkeyed.status == 400, "the state_key is the credential, and it is missing")
            stranger.apiKey = "wrong"
            #expect(try await stranger.send("POST", "/\(prefix)/register", headers: headers, body: "{}").status == 401)
        }
    }

    @Test(
        "A registration needs no API key: the single-use state_key is the credential", arguments: ["zephr", "blaize"])
    func registersWithoutKey(prefix: String) async throws {
        try await onWalk(registration: .required) { walk in
            let handle = try #require(try await finish(walk, Browser(), "ios", prefix: prefix).parameters["state_key"])
            var stranger = walk.harness.app
            stranger.apiKey = nil
            func register(_ handle: String) async throws -> App.Answer {
                try await stranger.send(
                    "POST", "/\(prefix)/register", headers: ["Content-Type: application/json"],
                    body: """
                        {"identifiers":{"email_address":"jo@example.org"},"validators":{"token_exchange":"\(handle)"},\
                        "attributes":{"first-name":"Jo","last-name":"Doe"}}
                        """)
            }
            #expect(try await register("guessed").status == 400)
            let done = try await register(handle)
            #expect(done.status == 201)
            let sessionID = try #require(done.json["session_id"]?.string)
            #expect(try await walk.harness.app.me(sessionID).json["email"]?.string == "jo@example.org")
            #expect(try await register(handle).status == 400, "used before")
        }
    }

    @Test("An e-mail address that a provider vouches for in another account is user_already_exists")
    func verifiedEmail() async throws {
        try await onWalk(registration: .required) { walk in
            func register(_ handle: String, _ email: String?) async throws -> App.Answer {
                let identifiers = email.map { #""identifiers":{"email_address":"\#($0)"},"# } ?? ""
                return try await walk.harness.app.send(
                    "POST", "/zephr/register", headers: ["Content-Type: application/json"],
                    body: "{\(identifiers)\"validators\":{\"token_exchange\":\"\(handle)\"}}")
            }
            func handle(of user: String = "jane") async throws -> String {
                try #require(try await finish(walk, Browser(), "ios", user: user).parameters["state_key"])
            }
            let address = CarrierSimulator.User.defaults[0].email
            let first = try await register(try await handle(), nil)
            let me = try await walk.harness.app.me(try #require(first.token))
            #expect(me.json["email"]?.string == address)
            #expect(me.json["email_verified"]?.bool == true)
            for taken in [address, address.uppercased()] {
                let second = try await handle(of: "ravi")
                let refused = try await register(second, taken)
                #expect(refused.status == 409)
                #expect(refused.error == "user_already_exists")
                #expect(try await register(second, "free@example.org").status == 400, "the handle is spent")
            }
            // An address that no provider vouches for can be registered again.
            #expect(try await register(try await handle(of: "ravi"), "free@example.org").status == 201)
        }
    }

    @Test("With a code_challenge the session_id is worth nothing without the verifier")
    func challenge() async throws {
        try await onWalk { walk in
            let challenge = Base64URL.encode([UInt8](repeating: 7, count: 32))
            let app = try await finish(
                walk, Browser(), "ios", ["code_challenge": challenge, "code_challenge_method": "S256"])
            let sessionID = try #require(app.parameters["session_id"])
            #expect(try await walk.harness.app.me(sessionID).status == 401)
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
            for path in [
                "initech?client_type=web", "initech", "initech?client_type=tv", "initech/ios/callback?state=x",
            ] {
                #expect(try await Browser().get("\(walk.origin)/zephr/oauth/\(path)").status == 404, "\(path)")
            }
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
