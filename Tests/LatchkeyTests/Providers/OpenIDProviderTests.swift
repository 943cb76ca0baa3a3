import CarrierSimulator
import Crypto
import Foundation
import HTTPServer
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// Sign-ins with OpenID providers that are not carriers, over real sockets.
@Suite(.serialized) struct OpenIDProviderTests {
    private static let webURI = "https://web.example/done"

    private func withHarness(
        configure: (inout Configuration) -> Void = { _ in }, _ body: (SignInHarness) async throws -> Void
    ) async throws {
        try await SignInHarness.with(
            configure: { configuration in
                for index in configuration.providers.indices {
                    configuration.providers[index].clients[0].redirectURIs = [Self.webURI, SignInHarness.redirectURI]
                }
                configuration.zenkey.clients[0].redirectURIs = [Self.webURI, SignInHarness.redirectURI]
                configure(&configuration)
            }, body)
    }

    private func url(_ harness: SignInHarness, _ path: String) -> String {
        "http://127.0.0.1:\(harness.app.port)\(path)"
    }

    /// Starts a sign-in and returns the redirect to the provider.
    private func start(
        _ browser: Browser, _ harness: SignInHarness, at provider: String = "acme", _ fields: [String: String] = [:]
    ) async throws -> Browser.Page {
        let all = ["client_type": "web", "redirect_uri": Self.webURI].merging(fields) { $1 }
        return try await browser.get(url(harness, "/auth/\(provider)/start?\(App.form(all))"))
    }

    /// The provider's redirect after the user's approval.
    private func approved(_ browser: Browser, _ page: Browser.Page, user: String = "jane") async throws -> String {
        var form: [String: String] = ["user": user]
        for item in page.parameters.items { form[item.name] = item.value }
        return try await browser.post(page.location.prefix { $0 != "?" } + "/approve", form: form).location
    }

    /// Signs a browser in and returns the user.
    private func signIn(
        _ browser: Browser, _ harness: SignInHarness, at provider: String, user: String = "jane"
    ) async throws -> Int64? {
        let callback = try await approved(browser, try await start(browser, harness, at: provider), user: user)
        let done = try await browser.get(callback)
        #expect(done.parameters["status"] == "success", "\(done.location)")
        return App.Members(of: try await browser.get(url(harness, "/users/me")).response.body)["user_id"]?.integer
    }

    @Test("The providers are listed with their kinds")
    func list() async throws {
        try await withHarness { harness in
            let text = try await Browser().get(url(harness, "/auth/providers")).text
            for id in ["acme", "globex"] {
                let item = #"{"id":"\#(id)","name":"\#(id.capitalized)","kind":"oidc","start_url":""#
                #expect(text.contains(item + url(harness, "/auth/\(id)/start\"")), "\(text)")
            }
            #expect(text.contains(#"{"id":"zenkey","name":"ZenKey","kind":"zenkey","#))
        }
    }

    @Test(
        "A user signs in with each of several providers; (issuer, subject) is the identity, and providers are distinct")
    func signsIn() async throws {
        try await withHarness { harness in
            let jane = try await signIn(Browser(), harness, at: "acme")
            #expect(jane != nil)
            #expect(try await signIn(Browser(), harness, at: "acme") == jane)
            #expect(try await signIn(Browser(), harness, at: "acme", user: "ravi") != jane)
            let elsewhere = try await signIn(Browser(), harness, at: "globex")
            #expect(elsewhere != nil)
            #expect(elsewhere != jane, "the same address and name at another provider is another user")
        }
    }

    @Test("The authorization request has state, nonce and S256, and no ZenKey parameters")
    func asked() async throws {
        try await withHarness { harness in
            let browser = Browser()
            let fields = [
                "scope": "openid profile email", "mccmnc": SignInHarness.mccmnc, "login_hint": "jane@example.org",
            ]
            let page = try await start(browser, harness, fields)
            #expect(page.status == 303)
            #expect(page.location.hasPrefix((harness.simulator.issuer(of: "acme") ?? "-") + "/authorize?"))
            #expect(page.parameters["code_challenge_method"] == "S256")
            #expect(page.parameters["scope"] == "openid profile email")
            #expect(page.parameters["redirect_uri"] == url(harness, "/auth/acme/callback"))
            #expect(page.parameters["login_hint"] == "jane@example.org")
            #expect(page.parameters["nonce"] != page.parameters["state"])
            _ = try await browser.get(try await approved(browser, page))
            let me = App.Members(of: try await browser.get(url(harness, "/users/me")).response.body)
            #expect(me["name"]?.string == "Jane Doe")
            #expect(me["email"]?.string == "jane.doe@example.com")
            for endpoint in [CarrierSimulator.RequestLog.Endpoint.configuration, .authorization, .token, .userInfo] {
                let entry = try #require(harness.simulator.log.last(endpoint, "acme"))
                #expect(!entry.parameters.contains { ["correlation_id", "mccmnc"].contains($0.name) }, "\(entry)")
            }
            #expect(harness.simulator.log.count(.configuration, "acme") == 1)
            #expect(harness.simulator.log.count(.discovery) == 0)
        }
    }

    @Test("An app posts its code without an mccmnc, and may repeat the request")
    func code() async throws {
        try await withHarness { harness in
            func fields(_ verifier: String) throws -> [String: String] {
                let challenge = Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)).map { $0 })
                let code = try harness.simulator.issueCode(
                    mccmnc: "acme", clientID: SignInHarness.clientID, redirectURI: SignInHarness.redirectURI,
                    codeChallenge: challenge,
                    nonce: "n-1")
                return [
                    "client_id": SignInHarness.clientID, "code": code, "redirect_uri": SignInHarness.redirectURI,
                    "code_verifier": verifier, "nonce": "n-1",
                ]
            }
            func post(_ fields: [String: String], to provider: String = "acme") async throws -> App.Answer {
                try await harness.app.send(
                    "POST", "/auth/\(provider)/sign-in", headers: ["Content-Type: application/json"],
                    body: App.json(fields))
            }
            let good = try fields(RandomSource.system.token())
            for _ in 0..<2 {
                let answer = try await post(good)
                #expect(answer.status == 200, "\(answer.response.text)")
                #expect(answer.json["new_user"]?.bool == true)
            }
            #expect(harness.simulator.log.tokenPosts("acme") == 1)
            let wrongNonce = try fields(RandomSource.system.token()).merging(["nonce": "n-2"]) { $1 }
            #expect(try await post(wrongNonce).error == "invalid_id_token")
            let elsewhere = try await post(try fields(RandomSource.system.token()), to: "globex")
            #expect(elsewhere.error == "invalid_grant", "a code of another provider")
            #expect(try await post(good, to: "zenkey").status == 400, "carriers need an mccmnc")
            #expect(try await post(good, to: "initech").status == 404)
        }
    }

    struct Failure: Sendable, CustomTestStringConvertible {
        let fault: CarrierSimulator.Fault
        let error: String
        /// Whether the code was posted.
        var isPosted = true
        var testDescription: String { fault.name }
    }

    @Test(
        "An error reaches the frontend, and no session is created",
        arguments: [
            Failure(fault: .authorizationDenied, error: "access_denied", isPosted: false),
            Failure(fault: .authorizationServerError, error: "server_error", isPosted: false),
            Failure(fault: .authorizationOtherIssuer, error: "issuer_mismatch", isPosted: false),
            Failure(fault: .authorizationMissingIssuer, error: "issuer_mismatch", isPosted: false),
            Failure(fault: .tokenInvalidGrant, error: "invalid_grant"),
            Failure(fault: .token500, error: "carrier_error"),
            Failure(fault: .idTokenWrongNonce, error: "invalid_id_token"),
            Failure(fault: .idTokenBadSignature, error: "invalid_id_token"),
            Failure(fault: .userInfoWrongSubject, error: "invalid_id_token"),
        ])
    func failures(row: Failure) async throws {
        try await withHarness { harness in
            let browser = Browser()
            let page = try await start(browser, harness, ["scope": "openid email"])
            harness.simulator.setFaults([row.fault], for: "acme")
            let shown = try await browser.get(page.location)
            let back = shown.status == 200 ? try await approved(browser, page) : shown.location
            let done = try await browser.get(back)
            #expect(done.location.hasPrefix(Self.webURI + "?action=login&status=failure&message="))
            #expect(done.parameters["error"] == row.error)
            #expect(browser.cookies["127.0.0.1:\(harness.app.port)"]?["latchkey_session"] == nil)
            #expect(harness.simulator.log.tokenPosts("acme") == (row.isPosted ? 1 : 0))
        }
    }

    @Test(
        "An error of another issuer, or of none where one is promised, is not taken for the provider's",
        arguments: [
            (CarrierSimulator.Fault.authorizationOtherIssuer, "issuer_mismatch", "names another issuer"),
            (.authorizationMissingIssuer, "issuer_mismatch", "has no iss"),
        ])
    func errorOfAnother(_ fault: CarrierSimulator.Fault, _ error: String, _ says: String) async throws {
        try await withHarness { harness in
            for provider in ["acme", "zenkey"] {
                let name = provider == "zenkey" ? SignInHarness.mccmnc : provider
                let browser = Browser()
                let page = try await start(browser, harness, at: provider, ["mccmnc": SignInHarness.mccmnc])
                harness.simulator.setFaults([.authorizationDenied, fault], for: name)
                _ = try await browser.get(page.location)
                let done = try await browser.get(try await approved(browser, page))
                #expect(done.parameters["error"] == error)
                #expect(done.parameters["error_description"]?.contains(says) == true, "\(done.location)")
            }
        }
    }

    @Test(
        "Missing metadata or metadata of another issuer is an error at the start",
        arguments: [CarrierSimulator.Fault.discovery500, .discoveryOtherIssuer, .discoveryMissingFields])
    func metadata(fault: CarrierSimulator.Fault) async throws {
        try await withHarness { harness in
            harness.simulator.setFaults([fault], for: "acme")
            let done = try await start(Browser(), harness)
            #expect(done.location.hasPrefix(Self.webURI + "?action=login&status=failure&"))
            #expect(done.parameters["error"] == "carrier_error")
            // Only the first one may pass by itself.
            let mayPass = fault == .discovery500
            #expect(done.parameters["message"]?.contains("try again") == mayPass, "\(done.location)")
            let description = done.parameters["error_description"] ?? ""
            #expect(description.contains("does not pass by itself") == !mayPass, "\(description)")
        }
    }

    @Test(
        "The configuration says whether iss must be there, otherwise the metadata does; a wrong one is always refused",
        arguments: [(true, true), (true, false), (false, true), (false, false), (nil, true), (nil, false)]
            as [(Bool?, Bool)])
    func requiredIssuer(_ setting: Bool?, isPromised: Bool) async throws {
        for isError in [true, false] {
            for fault in [CarrierSimulator.Fault.authorizationMissingIssuer, .authorizationOtherIssuer] {
                try await withHarness(configure: { configuration in
                    for index in configuration.providers.indices {
                        configuration.providers[index].rules.requiresIssuer = setting
                    }
                }) { harness in
                    harness.simulator.update("acme") {
                        $0.tampering.objects[.discovery, default: []].append {
                            $0["authorization_response_iss_parameter_supported"] = isPromised ? true : nil
                        }
                    }
                    let browser = Browser()
                    let page = try await start(browser, harness)
                    harness.simulator.setFaults(isError ? [fault, .authorizationDenied] : [fault], for: "acme")
                    _ = try await browser.get(page.location)
                    let done = try await browser.get(try await approved(browser, page))
                    let isRefused = fault == .authorizationOtherIssuer || setting ?? isPromised
                    let expected: String? = isRefused ? "issuer_mismatch" : isError ? "access_denied" : nil
                    #expect(done.parameters["error"] == expected, "\(done.location)")
                    #expect(harness.simulator.log.tokenPosts("acme") == (expected == nil ? 1 : 0))
                }
            }
        }
    }

    @Test("Rotated keys are fetched once")
    func rotation() async throws {
        try await withHarness { harness in
            _ = try await signIn(Browser(), harness, at: "acme")
            harness.simulator.rotateKeys("acme")
            _ = try await signIn(Browser(), harness, at: "acme")
            #expect(harness.simulator.log.keyFetches("acme") == 2)
        }
    }

    @Test(
        "A response is accepted only from the requested provider, and a code of another provider is not posted (mix-up)"
    )
    func mixUp() async throws {
        try await withHarness { harness in
            let browser = Browser()
            // One provider's state at another provider's callback.
            let acme = try await approved(browser, try await start(browser, harness))
            let crossed = try await browser.get(acme.replacing("/auth/acme/", with: "/auth/globex/"))
            #expect(crossed.status == 400)
            // One provider's code and issuer with the state of a sign-in at another.
            let asked = try await start(browser, harness)
            let globex = try await approved(browser, try await start(browser, harness, at: "globex"))
            let state = try #require(asked.parameters["state"])
            let code = try #require(Browser.query(of: globex)["code"])
            let issuer = try #require(harness.simulator.issuer(of: "globex"))
            let fields = ["state": state, "code": code, "iss": issuer]
            let mixed = try await browser.get(url(harness, "/auth/acme/callback?\(App.form(fields))"))
            #expect(mixed.parameters["status"] == "failure")
            #expect(harness.simulator.log.tokenPosts() == 0)
        }
    }

    @Test("A callback is valid once, in the browser that started the sign-in (forgery, fixation)")
    func otherBrowser() async throws {
        try await withHarness { harness in
            let attacker = Browser()
            let callback = try await approved(attacker, try await start(attacker, harness), user: "ravi")
            let victim = Browser()
            #expect(try await victim.get(callback).status == 400)
            _ = try await start(victim, harness)
            let again = try await approved(attacker, try await start(attacker, harness), user: "ravi")
            #expect(try await victim.get(again).status == 400, "also with a sign-in of its own under way")
            #expect(try await victim.get(url(harness, "/users/me")).status == 401)
            #expect(harness.simulator.log.tokenPosts() == 0)
            let own = try await approved(victim, try await start(victim, harness))
            #expect(try await victim.get(own).parameters["status"] == "success")
            #expect(try await attacker.get(own).status == 400, "used before")
        }
    }

    @Test("A sign-in replaces a session that was planted in the browser (fixation)")
    func sessionIsNew() async throws {
        try await withHarness { harness in
            let browser = Browser()
            _ = try await signIn(browser, harness, at: "acme")
            let before = browser.cookies["127.0.0.1:\(harness.app.port)"]?["latchkey_session"]
            _ = try await signIn(browser, harness, at: "acme", user: "ravi")
            let after = browser.cookies["127.0.0.1:\(harness.app.port)"]?["latchkey_session"]
            #expect(before != nil)
            #expect(after != nil)
            #expect(before != after)
        }
    }

    @Test(
        "The browser is redirected only to this provider's registered redirect URIs",
        arguments: [
            "https://evil.example/", "https://web.example/done/", "https://web.example.evil.example/done",
            "https://zenkey-only.example/done", "//evil.example/done", "javascript:alert(1)",
        ])
    func openRedirect(uri: String) async throws {
        try await withHarness(configure: { $0.zenkey.clients[0].redirectURIs = ["https://zenkey-only.example/done"] }) {
            let page = try await start(Browser(), $0, ["redirect_uri": uri])
            #expect(page.status == 400)
            #expect(page.response["location"] == nil)
        }
    }

    @Test("Port tokens of providers that are not carriers move no account")
    func portTokens() async throws {
        try await withHarness { harness in
            let carrierUser = try await harness.app.signIn(try harness.authorizedResponse())
            let jane = try await harness.app.me(try #require(carrierUser.token)).json["user_id"]?.integer
            harness.simulator.port(user: "jane", from: SignInHarness.mccmnc, to: "acme")
            let atAcme = try await signIn(Browser(), harness, at: "acme")
            #expect(atAcme != nil)
            #expect(atAcme != jane)
        }
    }

    @Test("Providers work without carriers")
    func withoutCarriers() async throws {
        try await withHarness(configure: { configuration in
            configuration.zenkey.discoveryURL = nil
            configuration.zenkey.clients = []
        }) { harness in
            _ = try await signIn(Browser(), harness, at: "acme")
            #expect(try await !Browser().get(url(harness, "/auth/providers")).text.contains("zenkey"))
            #expect(try await start(Browser(), harness, at: "zenkey").status == 404)
        }
    }
}
