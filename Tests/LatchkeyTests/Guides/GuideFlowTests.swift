import CarrierSimulator
import HTTPServer
import LatchkeyConfiguration
import Primitives
import SignIn
import TestSupport
import Testing

/// Statements of the guides that concern several parts at once, over real sockets.
@Suite(.serialized) struct GuideFlowTests {
    private static let webURI = "https://web.example/done"

    /// The forms that the guides show, with values.
    static let redirectURIs = [
        "\(SignInHarness.clientID)://com.xci.provider.sdk", "https://app.example/oauthredirect", "my-app://",
        "com.sp.app://", "my-app:/oauthRedirect",
    ]

    @Test("A redirect URI of each form in the guides signs in, by code and by redirect", arguments: redirectURIs)
    func redirectURI(_ uri: String) async throws {
        try await SignInHarness.with(
            configure: {
                $0.zenkey.clients[0].redirectURIs = [uri]
                // A universal link.
                if uri.hasPrefix("https:") { $0.zenkey.clients[0].clientTypes[uri] = [.ios] }
            }, register: { $0.redirectURIs.append(uri) }
        ) { harness in
            #expect(try await harness.app.signIn(try harness.authorizedResponse(redirectURI: uri)).status == 200)
            let browser = Browser()
            let fields = ["client_type": "ios", "redirect_uri": uri, "mccmnc": SignInHarness.mccmnc]
            let asked = try await browser.get(
                "http://127.0.0.1:\(harness.app.port)/auth/zenkey/start?" + App.form(fields))
            let done = try await browser.get(try await browser.approve(asked).location)
            #expect(done.location.hasPrefix(uri + "?action=login&status=success"), "\(done.location)")
        }
    }

    @Test("A user who shares less than was requested signs in, without the attributes")
    func sharesLess() async throws {
        try await SignInHarness.with { harness in
            var fields = try harness.authorizedResponse(scope: "openid email")
            fields["scope"] = "openid name email phone postal_code"
            let token = try #require(try await harness.app.signIn(fields).token)
            let me = try await harness.app.me(token)
            #expect(me.json["email"]?.string?.isEmpty == false)
            for name in ["name", "phone_number", "postal_code"] { #expect(me.json[name]?.isNull == true, "\(name)") }
        }
    }

    @Test("A user who denies causes no token request")
    func denies() async throws {
        try await SignInHarness.with(configure: { $0.zenkey.clients[0].redirectURIs = [Self.webURI] }) { harness in
            harness.simulator.setFaults([.authorizationDenied], for: SignInHarness.mccmnc)
            let browser = Browser()
            let fields = ["client_type": "web", "redirect_uri": Self.webURI, "mccmnc": SignInHarness.mccmnc]
            let asked = try await browser.get(
                "http://127.0.0.1:\(harness.app.port)/auth/zenkey/start?" + App.form(fields))
            let done = try await browser.get(try await browser.approve(asked).location)
            #expect(done.parameters["status"] == "failure")
            #expect(done.parameters["error"] == "access_denied")
            #expect(harness.simulator.log.tokenPosts(SignInHarness.mccmnc) == 0)
        }
    }

    @Test("The parameters of a start reach the carrier's authorization endpoint")
    func authorizationRequest() async throws {
        try await SignInHarness.with(configure: { $0.zenkey.clients[0].redirectURIs = [Self.webURI] }) { harness in
            let given = [
                "scope": "openid name email phone postal_code", "acr_values": "a3", "prompt": "login",
                "context": "Do you want to authorize a $200 transfer to your checking account?",
                "correlation_id": "corr-1",
            ]
            let fields = given.merging(
                ["client_type": "web", "redirect_uri": Self.webURI, "mccmnc": SignInHarness.mccmnc]
            ) { $1 }
            let asked = try await Browser().get(
                "http://127.0.0.1:\(harness.app.port)/auth/zenkey/start?" + App.form(fields))
            #expect(asked.status == 303)
            for (name, value) in given { #expect(asked.parameters[name] == value, "\(name)") }
            #expect(asked.parameters["response_type"] == "code")
            #expect(asked.parameters["client_id"] == SignInHarness.clientID)
            #expect(asked.parameters["code_challenge_method"] == "S256")
            #expect(asked.parameters["code_challenge"]?.utf8.count == 43)
            for name in ["state", "nonce"] { #expect(asked.parameters[name]?.isEmpty == false, "\(name)") }
        }
    }

    @Test("An app may send its state with the code")
    func state() async throws {
        try await SignInHarness.with { harness in
            var fields = try harness.authorizedResponse()
            fields["state"] = "state of the app"
            #expect(try await harness.app.signIn(fields).status == 200)
        }
    }

    @Test("Any text may be the nonce", arguments: ["n-0S6_WzA2Mj", " ", "two words, é and 日本", #"{"a":"\u{0}"}"#])
    func nonce(_ nonce: String) async throws {
        try await SignInHarness.with { harness in
            #expect(try await harness.app.signIn(try harness.authorizedResponse(nonce: nonce)).status == 200)
            var other = try harness.authorizedResponse(nonce: nonce)
            other["nonce"] = nonce + "x"
            let refused = try await harness.app.signIn(other)
            #expect(refused.error == "invalid_id_token")
        }
    }

    @Test("An OAuth 2 provider gets a code challenge of a verifier of 32 random bytes, and then the verifier")
    func zoom() async throws {
        try await SignInHarness.with(configure: { configuration in
            for index in configuration.providers.indices {
                configuration.providers[index].clients[0].redirectURIs = ["my-app:/oauthRedirect"]
            }
        }) { harness in
            let browser = Browser()
            let fields = ["client_type": "ios", "redirect_uri": "my-app:/oauthRedirect"]
            let asked = try await browser.get(
                "http://127.0.0.1:\(harness.app.port)/auth/meetings/start?" + App.form(fields))
            #expect(asked.parameters["response_type"] == "code")
            #expect(asked.parameters["client_id"] == SignInHarness.clientID)
            #expect(asked.parameters["redirect_uri"]?.hasSuffix("/auth/meetings/callback") == true)
            #expect(asked.parameters["code_challenge_method"] == "S256")
            #expect(asked.parameters["code_challenge"]?.utf8.count == 43)
            // The provider compares the verifier with the challenge.
            let done = try await browser.get(try await browser.approve(asked).location)
            #expect(done.location.hasPrefix("my-app:/oauthRedirect?action=login&status=success"), "\(done.location)")
        }
    }
}
