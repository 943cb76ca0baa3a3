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

/// Sign-ins with a provider without ID tokens, over real sockets.
@Suite(.serialized) struct OAuth2ProviderTests {
    private static let webURI = "https://web.example/done"

    /// A harness whose provider `meetings` has a redirect URI for browsers.
    private func withHarness(
        _ change: (inout Configuration.Provider) -> Void = { _ in },
        register: (inout CarrierSimulator.Client) -> Void = { _ in }, _ body: (SignInHarness) async throws -> Void
    ) async throws {
        try await SignInHarness.with(
            configure: { configuration in
                guard var provider = configuration.providers.first(where: { $0.id == "meetings" }) else { return }
                provider.clients[0].redirectURIs = [Self.webURI, SignInHarness.redirectURI]
                change(&provider)
                configuration.providers.removeAll { $0.id == "meetings" }
                configuration.providers.append(provider)
            }, register: register, body)
    }

    private func url(_ harness: SignInHarness, _ path: String) -> String {
        "http://127.0.0.1:\(harness.app.port)\(path)"
    }

    private func start(
        _ browser: Browser, _ harness: SignInHarness, _ fields: [String: String] = [:]
    ) async throws -> Browser.Page {
        let all = ["client_type": "web", "redirect_uri": Self.webURI].merging(fields) { $1 }
        return try await browser.get(url(harness, "/auth/meetings/start?\(App.form(all))"))
    }

    private func approved(_ browser: Browser, _ page: Browser.Page, user: String = "jane") async throws -> String {
        try await returned(browser, page, user: user).location
    }

    /// The redirect or the form with which the provider returns the browser.
    private func returned(
        _ browser: Browser, _ page: Browser.Page, user: String = "jane"
    ) async throws -> Browser.Page {
        var form: [String: String] = ["user": user]
        for item in page.parameters.items { form[item.name] = item.value }
        return try await browser.post(page.location.prefix { $0 != "?" } + "/approve", form: form)
    }

    private func me(_ browser: Browser, _ harness: SignInHarness) async throws -> App.Members {
        App.Members(of: try await browser.get(url(harness, "/users/me")).response.body)
    }

    @Test("The user endpoint identifies the user; the same subject is the same user")
    func signsIn() async throws {
        try await withHarness { harness in
            var users: [Int64?] = []
            for user in ["jane", "jane", "ravi"] {
                let browser = Browser()
                let page = try await start(browser, harness, ["scope": "user:read"])
                let done = try await browser.get(try await approved(browser, page, user: user))
                #expect(done.parameters["status"] == "success", "\(done.location)")
                users.append(try await me(browser, harness)["user_id"]?.integer)
                if user == "jane" {
                    #expect(try await me(browser, harness)["name"]?.string == "Jane Doe")
                    #expect(try await me(browser, harness)["email"]?.string == "jane.doe@example.com")
                }
            }
            #expect(users[0] != nil)
            #expect(users[0] == users[1])
            #expect(users[2] != nil)
            #expect(users[0] != users[2])
        }
    }

    @Test("The authorization request has state and S256, no openid and no nonce; metadata and keys are not fetched")
    func asked() async throws {
        try await withHarness { harness in
            let browser = Browser()
            let page = try await start(browser, harness)
            #expect(page.parameters["code_challenge_method"] == "S256")
            #expect(page.parameters["state"]?.isEmpty == false)
            for name in ["nonce", "scope", "correlation_id", "response_mode"] { #expect(page.parameters[name] == nil) }
            let done = try await browser.get(try await approved(browser, page))
            #expect(done.parameters["status"] == "success")
            let log = harness.simulator.log
            #expect(log.count(.configuration, "meetings") == 0)
            #expect(log.keyFetches("meetings") == 0)
            #expect(log.tokenPosts("meetings") == 1)
            let post = try #require(log.last(.token, "meetings"))
            #expect(post.authorization?.hasPrefix("Basic ") == true)
            #expect(post["code_verifier"]?.isEmpty == false)
        }
    }

    @Test("Claims that were not asked for are not kept, and those that were are")
    func unaskedClaims() async throws {
        try await withHarness { harness in
            harness.simulator.update("meetings") {
                $0.tampering.objects[.userInfo, default: []].append { claims in
                    claims["is_adult_21"] = true
                    claims["is_over_13"] = true
                }
            }
            let browser = Browser()
            let page = try await start(browser, harness, ["scope": "user:read is_over_13"])
            let done = try await browser.get(try await approved(browser, page))
            #expect(done.parameters["status"] == "success", "\(done.location)")
            let user = try await me(browser, harness)
            #expect(user["is_adult_21"] == nil)
            #expect(user["is_over_13"]?.bool == true)
        }
    }

    @Test("A public client signs in with PKCE and without a secret")
    func publicClient() async throws {
        try await withHarness {
            $0.clients[0].authentication = .publicClient
        } register: {
            $0.authentication = .publicClient
        } _: { harness in
            let browser = Browser()
            let page = try await start(browser, harness)
            let done = try await browser.get(try await approved(browser, page))
            #expect(done.parameters["status"] == "success", "\(done.location)")
            let post = try #require(harness.simulator.log.last(.token, "meetings"))
            #expect(post.authorization == nil)
            #expect(post["client_id"] == SignInHarness.clientID)
            #expect(post["client_secret"] == nil)
            #expect(post["code_verifier"]?.isEmpty == false)
        }
    }

    struct Failure: Sendable, CustomTestStringConvertible {
        let fault: CarrierSimulator.Fault
        let error: String
        var testDescription: String { fault.name }
    }

    @Test(
        "An error reaches the frontend, and no session is created",
        arguments: [
            Failure(fault: .authorizationDenied, error: "access_denied"),
            Failure(fault: .authorizationOtherIssuer, error: "issuer_mismatch"),
            Failure(fault: .tokenInvalidGrant, error: "invalid_grant"),
            Failure(fault: .token500, error: "carrier_error"),
            Failure(fault: .userInfo401, error: "carrier_error"),
            Failure(fault: .userInfoMissingSubject, error: "carrier_error"),
            Failure(fault: .userInfoSubjectArray, error: "carrier_error"),
        ])
    func failures(row: Failure) async throws {
        try await withHarness { harness in
            let browser = Browser()
            let page = try await start(browser, harness)
            harness.simulator.setFaults([row.fault], for: "meetings")
            let done = try await browser.get(try await approved(browser, page))
            #expect(done.parameters["status"] == "failure")
            #expect(done.parameters["error"] == row.error)
            #expect(browser.cookies["127.0.0.1:\(harness.app.port)"]?["latchkey_session"] == nil)
        }
    }

    @Test("Attributes are read from the configured members")
    func attributes() async throws {
        let name = try #require(UserEndpoint.Member("last_name"))
        try await withHarness({ $0.rules.userMembers.attributes = [.name: name] }) { harness in
            let browser = Browser()
            _ = try await browser.get(try await approved(browser, try await start(browser, harness)))
            #expect(try await me(browser, harness)["name"]?.string == "Doe")
        }
    }

    @Test("With response_mode form_post the provider returns a form, and the form signs in")
    func formPost() async throws {
        try await withHarness({ $0.rules.responseMode = .formPost }) { harness in
            let browser = Browser()
            let page = try await start(browser, harness)
            #expect(page.parameters["response_mode"] == "form_post")
            let response = AuthorizationCallback(try await returned(browser, page))
            #expect(response.isForm)
            var form: [String: String] = [:]
            for item in response.items { form[item.name] = item.value }
            let callback = response.callback
            // The provider's page does not send Latchkey's cookies, and Latchkey's page does.
            #expect(try await Browser().post(callback, form: form).text.contains(#"name="sent_again""#))
            form["sent_again"] = "true"
            #expect(try await browser.post(callback, form: form).parameters["status"] == "success")
            #expect(try await Browser().post(callback, form: form).status == 400)
        }
    }

    @Test("An app's code signs in; parameters that need an ID token are refused before the code is posted")
    func code() async throws {
        try await withHarness { harness in
            let verifier = RandomSource.system.token()
            let challenge = Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)).map { $0 })
            let code = try harness.simulator.issueCode(
                mccmnc: "meetings", clientID: SignInHarness.clientID, redirectURI: SignInHarness.redirectURI,
                codeChallenge: challenge,
                scope: "user:read")
            let good = [
                "client_id": SignInHarness.clientID, "code": code, "redirect_uri": SignInHarness.redirectURI,
                "code_verifier": verifier,
            ]
            func post(_ path: String, _ more: [String: String], _ headers: [String] = []) async throws -> App.Answer {
                try await harness.app.send(
                    "POST", "/auth/meetings/" + path, headers: headers + ["Content-Type: application/json"],
                    body: App.json(good.merging(more) { $1 }))
            }
            for more in [["nonce": "n"], ["acr_values": "a3"], ["context": "Pay 5"]] {
                let refused = try await post("sign-in", more)
                #expect(refused.status == 400)
                #expect(refused.error == "invalid_request")
                #expect(refused.json["error_description"]?.string?.contains("no ID tokens") == true)
            }
            #expect(try await start(Browser(), harness, ["acr_values": "a3"]).status == 400)
            #expect(try await start(Browser(), harness, ["context": "Pay 5"]).status == 400)
            #expect(harness.simulator.log.tokenPosts("meetings") == 0)
            let answer = try await post("sign-in", [:])
            #expect(answer.status == 200, "\(answer.response.text)")
            let header = "Authorization: Bearer \(try #require(answer.token))"
            let transaction = try await post("authorize", ["context": "Pay 5", "acr_values": "a3"], [header])
            #expect(transaction.status == 400)
        }
    }

    @Test("A callback of another browser, of another provider, or used before is refused (forgery, mix-up)")
    func bound() async throws {
        try await withHarness { harness in
            let browser = Browser()
            let callback = try await approved(browser, try await start(browser, harness))
            #expect(try await Browser().get(callback).status == 400)
            let crossed = try await approved(browser, try await start(browser, harness))
                .replacing("/auth/meetings/", with: "/auth/acme/")
            #expect(try await browser.get(crossed).status == 400)
            #expect(harness.simulator.log.tokenPosts() == 0)
            let own = try await approved(browser, try await start(browser, harness))
            #expect(try await browser.get(own).parameters["status"] == "success")
            #expect(try await Browser().get(own).status == 400)
            let elsewhere = try await start(browser, harness, ["redirect_uri": "https://evil.example/"])
            #expect(elsewhere.status == 400)
            #expect(elsewhere.response["location"] == nil)
        }
    }
}
