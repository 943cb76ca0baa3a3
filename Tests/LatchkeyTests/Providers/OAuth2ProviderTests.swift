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

/// Sign-ins with a provider that has no ID tokens, over real sockets.
@Suite(.serialized) struct OAuth2ProviderTests {
    private static let webURI = "https://web.example/done"

    /// A stage whose provider `meetings` has a redirect URI for browsers.
    private func onStage(
        _ change: (inout Configuration.Provider) -> Void = { _ in }, _ body: (Stage) async throws -> Void
    ) async throws {
        try await Stage.with(
            configure: { configuration in
                guard var provider = configuration.providers.first(where: { $0.id == "meetings" }) else { return }
                provider.clients[0].redirectURIs = [Self.webURI, Stage.redirectURI]
                change(&provider)
                configuration.providers.removeAll { $0.id == "meetings" }
                configuration.providers.append(provider)
            }, body)
    }

    private func url(_ stage: Stage, _ path: String) -> String { "http://127.0.0.1:\(stage.app.port)\(path)" }

    private func start(
        _ browser: Browser, _ stage: Stage, _ fields: [String: String] = [:]
    ) async throws -> Browser.Page {
        let all = ["client_type": "web", "redirect_uri": Self.webURI].merging(fields) { $1 }
        return try await browser.get(url(stage, "/auth/meetings/start?\(App.form(all))"))
    }

    private func approved(_ browser: Browser, _ page: Browser.Page, user: String = "jane") async throws -> String {
        var form: [String: String] = ["user": user]
        for item in page.parameters.items { form[item.name] = item.value }
        return try await browser.post(page.location.prefix { $0 != "?" } + "/approve", form: form).location
    }

    private func me(_ browser: Browser, _ stage: Stage) async throws -> App.Members {
        App.Members(of: try await browser.get(url(stage, "/users/me")).response.body)
    }

    @Test("The user endpoint says who it is and what they are called; the same one is the same user again")
    func signsIn() async throws {
        try await onStage { stage in
            var users: [Int64?] = []
            for user in ["jane", "jane", "ravi"] {
                let browser = Browser()
                let page = try await start(browser, stage, ["scope": "user:read"])
                let done = try await browser.get(try await approved(browser, page, user: user))
                #expect(done.parameters["status"] == "success", "\(done.location)")
                users.append(try await me(browser, stage)["user_id"]?.integer)
                if user == "jane" {
                    #expect(try await me(browser, stage)["name"]?.string == "Jane Doe")
                    #expect(try await me(browser, stage)["email"]?.string == "jane.doe@example.com")
                }
            }
            #expect(users[0] != nil)
            #expect(users[0] == users[1])
            #expect(users[2] != nil)
            #expect(users[0] != users[2])
        }
    }

    @Test("The provider is asked by state and S256, without openid, nonce, or a call for metadata and keys")
    func asked() async throws {
        try await onStage { stage in
            let browser = Browser()
            let page = try await start(browser, stage)
            #expect(page.parameters["code_challenge_method"] == "S256")
            #expect(page.parameters["state"]?.isEmpty == false)
            for name in ["nonce", "scope", "correlation_id", "response_mode"] { #expect(page.parameters[name] == nil) }
            let done = try await browser.get(try await approved(browser, page))
            #expect(done.parameters["status"] == "success")
            let log = stage.simulator.log
            #expect(log.count(.configuration, "meetings") == 0)
            #expect(log.keyFetches("meetings") == 0)
            #expect(log.tokenPosts("meetings") == 1)
            let post = try #require(log.last(.token, "meetings"))
            #expect(post.authorization?.hasPrefix("Basic ") == true)
            #expect(post["code_verifier"]?.isEmpty == false)
        }
    }

    struct Failure: Sendable, CustomTestStringConvertible {
        let fault: CarrierSimulator.Fault
        let error: String
        var testDescription: String { fault.rawValue }
    }

    @Test(
        "What fails is told to the frontend, and nobody is signed in",
        arguments: [
            Failure(fault: .authorizationDenied, error: "access_denied"),
            Failure(fault: .authorizationOtherIssuer, error: "carrier_error"),
            Failure(fault: .tokenInvalidGrant, error: "invalid_grant"),
            Failure(fault: .token500, error: "carrier_error"),
            Failure(fault: .userInfo401, error: "carrier_error"),
            Failure(fault: .userInfoMissingSubject, error: "carrier_error"),
            Failure(fault: .userInfoSubjectArray, error: "carrier_error"),
        ])
    func failures(row: Failure) async throws {
        try await onStage { stage in
            let browser = Browser()
            let page = try await start(browser, stage)
            stage.simulator.setFaults([row.fault], for: "meetings")
            let done = try await browser.get(try await approved(browser, page))
            #expect(done.parameters["status"] == "failure")
            #expect(done.parameters["error"] == row.error)
            #expect(browser.cookies["127.0.0.1:\(stage.app.port)"]?["latchkey_session"] == nil)
        }
    }

    @Test("Attributes are found where the configuration says")
    func attributes() async throws {
        let name = try #require(UserEndpoint.Member("last_name"))
        try await onStage({ $0.endpoints?.user.attributes = [.name: name] }) { stage in
            let browser = Browser()
            _ = try await browser.get(try await approved(browser, try await start(browser, stage)))
            #expect(try await me(browser, stage)["name"]?.string == "Doe")
        }
    }

    @Test("With response_mode form_post the provider is asked for a form, and the form signs in")
    func formPost() async throws {
        try await onStage({ $0.responseMode = .formPost }) { stage in
            let browser = Browser()
            let page = try await start(browser, stage)
            #expect(page.parameters["response_mode"] == "form_post")
            var form: [String: String] = [:]
            for item in Browser.query(of: try await approved(browser, page)).items { form[item.name] = item.value }
            // From the provider's page no cookie of Latchkey's comes along.
            let passed = try await Browser().post(url(stage, "/auth/meetings/callback"), form: form)
            #expect(passed.status == 303)
            #expect(try await browser.get(url(stage, passed.location)).parameters["status"] == "success")
            #expect(try await Browser().get(url(stage, passed.location)).status == 400)
        }
    }

    @Test("An app's code signs in; what only an ID token could confirm is refused before the code is posted")
    func code() async throws {
        try await onStage { stage in
            let verifier = RandomSource.system.token()
            let challenge = Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)).map { $0 })
            let code = try stage.simulator.issueCode(
                mccmnc: "meetings", clientID: Stage.clientID, redirectURI: Stage.redirectURI, codeChallenge: challenge,
                scope: "user:read")
            let good = [
                "client_id": Stage.clientID, "code": code, "redirect_uri": Stage.redirectURI, "code_verifier": verifier,
            ]
            func post(_ path: String, _ more: [String: String], _ headers: [String] = []) async throws -> App.Answer {
                try await stage.app.send(
                    "POST", "/auth/meetings/" + path, headers: headers + ["Content-Type: application/json"],
                    body: App.json(good.merging(more) { $1 }))
            }
            for more in [["nonce": "n"], ["acr_values": "a3"], ["context": "Pay 5"]] {
                let refused = try await post("sign-in", more)
                #expect(refused.status == 400)
                #expect(refused.error == "invalid_request")
                #expect(refused.json["error_description"]?.string?.contains("no ID tokens") == true)
            }
            #expect(try await start(Browser(), stage, ["acr_values": "a3"]).status == 400)
            #expect(try await start(Browser(), stage, ["context": "Pay 5"]).status == 400)
            #expect(stage.simulator.log.tokenPosts("meetings") == 0)
            let answer = try await post("sign-in", [:])
            #expect(answer.status == 200, "\(answer.response.text)")
            let header = "Authorization: Bearer \(try #require(answer.token))"
            let transaction = try await post("authorize", ["context": "Pay 5", "acr_values": "a3"], [header])
            #expect(transaction.status == 400)
        }
    }

    @Test("Another browser's callback, a used one, and another provider's are refused (forgery, mix-up)")
    func bound() async throws {
        try await onStage { stage in
            let browser = Browser()
            let callback = try await approved(browser, try await start(browser, stage))
            #expect(try await Browser().get(callback).status == 400)
            let crossed = try await approved(browser, try await start(browser, stage))
                .replacing("/auth/meetings/", with: "/auth/acme/")
            #expect(try await browser.get(crossed).status == 400)
            #expect(stage.simulator.log.tokenPosts() == 0)
            let own = try await approved(browser, try await start(browser, stage))
            #expect(try await browser.get(own).parameters["status"] == "success")
            #expect(try await browser.get(own).status == 400)
            let elsewhere = try await start(browser, stage, ["redirect_uri": "https://evil.example/"])
            #expect(elsewhere.status == 400)
            #expect(elsewhere.response["location"] == nil)
        }
    }
}
