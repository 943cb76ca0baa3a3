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

/// Sign-ins with OpenID providers that are no carriers, over real sockets.
@Suite(.serialized) struct OpenIDProviderTests {
    private static let webURI = "https://web.example/done"

    private func onStage(
        configure: (inout Configuration) -> Void = { _ in }, _ body: (Stage) async throws -> Void
    ) async throws {
        try await Stage.with(
            configure: { configuration in
                for index in configuration.providers.indices {
                    configuration.providers[index].clients[0].redirectURIs = [Self.webURI, Stage.redirectURI]
                }
                configure(&configuration)
            }, body)
    }

    private func url(_ stage: Stage, _ path: String) -> String { "http://127.0.0.1:\(stage.app.port)\(path)" }

    /// Begins a sign-in: the redirect to the provider.
    private func start(
        _ browser: Browser, _ stage: Stage, at provider: String = "acme", _ fields: [String: String] = [:]
    ) async throws -> Browser.Page {
        let all = ["client_type": "web", "redirect_uri": Self.webURI].merging(fields) { $1 }
        return try await browser.get(url(stage, "/auth/\(provider)/start?\(App.form(all))"))
    }

    /// Where the provider sends the browser once its user approved.
    private func approved(_ browser: Browser, _ page: Browser.Page, user: String = "jane") async throws -> String {
        var form: [String: String] = ["user": user]
        for item in page.parameters.items { form[item.name] = item.value }
        return try await browser.post(page.location.prefix { $0 != "?" } + "/approve", form: form).location
    }

    /// Signs a browser in, and says who that is.
    private func signIn(
        _ browser: Browser, _ stage: Stage, at provider: String, user: String = "jane"
    ) async throws -> Int64? {
        let callback = try await approved(browser, try await start(browser, stage, at: provider), user: user)
        let done = try await browser.get(callback)
        #expect(done.parameters["status"] == "success", "\(done.location)")
        return App.Members(of: try await browser.get(url(stage, "/users/me")).response.body)["user_id"]?.integer
    }

    @Test("The providers are listed with their kinds")
    func list() async throws {
        try await onStage { stage in
            let text = try await Browser().get(url(stage, "/auth/providers")).text
            for id in ["acme", "globex"] {
                let item = #"{"id":"\#(id)","name":"\#(id.capitalized)","kind":"oidc","start_url":""#
                #expect(text.contains(item + url(stage, "/auth/\(id)/start\"")), "\(text)")
            }
            #expect(text.contains(#"{"id":"zenkey","name":"ZenKey","kind":"zenkey","#))
        }
    }

    @Test("A user signs in with each of several; (issuer, subject) is who it is, and one provider is not the other")
    func signsIn() async throws {
        try await onStage { stage in
            let jane = try await signIn(Browser(), stage, at: "acme")
            #expect(jane != nil)
            #expect(try await signIn(Browser(), stage, at: "acme") == jane)
            #expect(try await signIn(Browser(), stage, at: "acme", user: "ravi") != jane)
            let elsewhere = try await signIn(Browser(), stage, at: "globex")
            #expect(elsewhere != nil)
            #expect(elsewhere != jane, "the same address and name at another provider is somebody else")
        }
    }

    @Test("The provider is asked by state, nonce and S256, and nothing that is ZenKey's")
    func asked() async throws {
        try await onStage { stage in
            let browser = Browser()
            let fields = ["scope": "openid profile email", "mccmnc": Stage.mccmnc, "login_hint": "jane@example.org"]
            let page = try await start(browser, stage, fields)
            #expect(page.status == 303)
            #expect(page.location.hasPrefix((stage.simulator.issuer(of: "acme") ?? "-") + "/authorize?"))
            #expect(page.parameters["code_challenge_method"] == "S256")
            #expect(page.parameters["scope"] == "openid profile email")
            #expect(page.parameters["redirect_uri"] == url(stage, "/auth/acme/callback"))
            #expect(page.parameters["login_hint"] == "jane@example.org")
            #expect(page.parameters["nonce"] != page.parameters["state"])
            _ = try await browser.get(try await approved(browser, page))
            let me = App.Members(of: try await browser.get(url(stage, "/users/me")).response.body)
            #expect(me["name"]?.string == "Jane Doe")
            #expect(me["email"]?.string == "jane.doe@example.com")
            for endpoint in [CarrierSimulator.RequestLog.Endpoint.configuration, .authorization, .token, .userInfo] {
                let entry = try #require(stage.simulator.log.last(endpoint, "acme"))
                #expect(!entry.parameters.contains { ["correlation_id", "mccmnc"].contains($0.name) }, "\(entry)")
            }
            #expect(stage.simulator.log.count(.configuration, "acme") == 1)
            #expect(stage.simulator.log.discoveries() == 0)
        }
    }

    @Test("An app posts the code it got, without an mccmnc, as often as it must")
    func code() async throws {
        try await onStage { stage in
            func fields(_ verifier: String) throws -> [String: String] {
                let challenge = Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)).map { $0 })
                let code = try stage.simulator.issueCode(
                    mccmnc: "acme", clientID: Stage.clientID, redirectURI: Stage.redirectURI, codeChallenge: challenge,
                    nonce: "n-1")
                return [
                    "client_id": Stage.clientID, "code": code, "redirect_uri": Stage.redirectURI,
                    "code_verifier": verifier, "nonce": "n-1",
                ]
            }
            func post(_ fields: [String: String], to provider: String = "acme") async throws -> App.Answer {
                try await stage.app.send(
                    "POST", "/auth/\(provider)/sign-in", headers: ["Content-Type: application/json"],
                    body: App.json(fields))
            }
            let good = try fields(RandomSource.system.token())
            for isNew in [true, false] {
                let answer = try await post(good)
                #expect(answer.status == 200, "\(answer.response.text)")
                #expect(answer.json["new_user"]?.bool == isNew)
            }
            #expect(stage.simulator.log.tokenPosts("acme") == 1)
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
        /// Whether the code was posted by then.
        var isPosted = true
        var testDescription: String { fault.rawValue }
    }

    @Test(
        "What fails is told to the frontend, and nobody is signed in",
        arguments: [
            Failure(fault: .authorizationDenied, error: "access_denied", isPosted: false),
            Failure(fault: .authorizationServerError, error: "server_error", isPosted: false),
            Failure(fault: .authorizationOtherIssuer, error: "carrier_error", isPosted: false),
            Failure(fault: .authorizationMissingIssuer, error: "carrier_error", isPosted: false),
            Failure(fault: .tokenInvalidGrant, error: "invalid_grant"),
            Failure(fault: .token500, error: "carrier_error"),
            Failure(fault: .idTokenWrongNonce, error: "invalid_id_token"),
            Failure(fault: .idTokenOtherIssuer, error: "invalid_id_token"),
            Failure(fault: .idTokenOtherAudience, error: "invalid_id_token"),
            Failure(fault: .idTokenExpired, error: "invalid_id_token"),
            Failure(fault: .idTokenBadSignature, error: "invalid_id_token"),
            Failure(fault: .idTokenAlgNone, error: "invalid_id_token"),
            Failure(fault: .userInfoWrongSubject, error: "invalid_id_token"),
        ])
    func failures(row: Failure) async throws {
        try await onStage { stage in
            let browser = Browser()
            let page = try await start(browser, stage, ["scope": "openid email"])
            stage.simulator.setFaults([row.fault], for: "acme")
            let shown = try await browser.get(page.location)
            let back = shown.status == 200 ? try await approved(browser, page) : shown.location
            let done = try await browser.get(back)
            #expect(done.location.hasPrefix(Self.webURI + "?action=login&status=failure&message="))
            #expect(done.parameters["error"] == row.error)
            #expect(browser.cookies["127.0.0.1:\(stage.app.port)"]?["latchkey_session"] == nil)
            #expect(stage.simulator.log.tokenPosts("acme") == (row.isPosted ? 1 : 0))
        }
    }

    @Test(
        "A provider whose metadata cannot be had or is another's is told of at the start",
        arguments: [CarrierSimulator.Fault.discovery500, .discoveryOtherIssuer, .discoveryMissingFields])
    func metadata(fault: CarrierSimulator.Fault) async throws {
        try await onStage { stage in
            stage.simulator.setFaults([fault], for: "acme")
            let done = try await start(Browser(), stage)
            #expect(done.location.hasPrefix(Self.webURI + "?action=login&status=failure&"))
            #expect(done.parameters["error"] == "carrier_error")
        }
    }

    @Test("Keys that were rotated since are fetched, once")
    func rotation() async throws {
        try await onStage { stage in
            _ = try await signIn(Browser(), stage, at: "acme")
            stage.simulator.rotateKeys("acme")
            _ = try await signIn(Browser(), stage, at: "acme")
            #expect(stage.simulator.log.keyFetches("acme") == 2)
        }
    }

    @Test("An answer is taken from the provider that was asked, and no other's code is posted anywhere (mix-up)")
    func mixUp() async throws {
        try await onStage { stage in
            let browser = Browser()
            // The state of one provider at the callback of another.
            let acme = try await approved(browser, try await start(browser, stage))
            let crossed = try await browser.get(acme.replacing("/auth/acme/", with: "/auth/globex/"))
            #expect(crossed.status == 400)
            // One provider's code and issuer under the state of a sign-in at another.
            let asked = try await start(browser, stage)
            let globex = try await approved(browser, try await start(browser, stage, at: "globex"))
            let state = try #require(asked.parameters["state"])
            let code = try #require(Browser.query(of: globex)["code"])
            let issuer = try #require(stage.simulator.issuer(of: "globex"))
            let fields = ["state": state, "code": code, "iss": issuer]
            let mixed = try await browser.get(url(stage, "/auth/acme/callback?\(App.form(fields))"))
            #expect(mixed.parameters["status"] == "failure")
            #expect(stage.simulator.log.tokenPosts() == 0)
        }
    }

    @Test("A callback is good in the browser that started, once (forgery, fixation)")
    func otherBrowser() async throws {
        try await onStage { stage in
            let attacker = Browser()
            let callback = try await approved(attacker, try await start(attacker, stage), user: "ravi")
            let victim = Browser()
            #expect(try await victim.get(callback).status == 400)
            _ = try await start(victim, stage)
            let again = try await approved(attacker, try await start(attacker, stage), user: "ravi")
            #expect(try await victim.get(again).status == 400, "also with a sign-in of its own under way")
            #expect(try await victim.get(url(stage, "/users/me")).status == 401)
            #expect(stage.simulator.log.tokenPosts() == 0)
            let own = try await approved(victim, try await start(victim, stage))
            #expect(try await victim.get(own).parameters["status"] == "success")
            #expect(try await victim.get(own).status == 400, "used before")
        }
    }

    @Test("A session that somebody put into the browser beforehand is replaced at the sign-in (fixation)")
    func sessionIsNew() async throws {
        try await onStage { stage in
            let browser = Browser()
            _ = try await signIn(browser, stage, at: "acme")
            let before = browser.cookies["127.0.0.1:\(stage.app.port)"]?["latchkey_session"]
            _ = try await signIn(browser, stage, at: "acme", user: "ravi")
            let after = browser.cookies["127.0.0.1:\(stage.app.port)"]?["latchkey_session"]
            #expect(before != nil)
            #expect(after != nil)
            #expect(before != after)
        }
    }

    @Test(
        "The browser ends up at this provider's registered redirect URIs only",
        arguments: [
            "https://evil.example/", "https://web.example/done/", "https://web.example.evil.example/done",
            "https://zenkey-only.example/done", "//evil.example/done", "javascript:alert(1)",
        ])
    func openRedirect(uri: String) async throws {
        try await onStage(configure: { $0.zenkey.clients[0].redirectURIs = ["https://zenkey-only.example/done"] }) {
            let page = try await start(Browser(), $0, ["redirect_uri": uri])
            #expect(page.status == 400)
            #expect(page.response["location"] == nil)
        }
    }

    @Test("Port tokens are the carriers' business: those of another provider move no account")
    func portTokens() async throws {
        try await onStage { stage in
            let carrierUser = try await stage.app.signIn(try stage.authorizedResponse())
            let jane = try await stage.app.me(try #require(carrierUser.token)).json["user_id"]?.integer
            stage.simulator.port(user: "jane", from: Stage.mccmnc, to: "acme")
            let atAcme = try await signIn(Browser(), stage, at: "acme")
            #expect(atAcme != nil)
            #expect(atAcme != jane)
        }
    }

    @Test("Without carriers there are providers all the same")
    func withoutCarriers() async throws {
        try await onStage(configure: { configuration in
            configuration.zenkey.discoveryURL = nil
            configuration.zenkey.clients = []
        }) { stage in
            _ = try await signIn(Browser(), stage, at: "acme")
            #expect(try await !Browser().get(url(stage, "/auth/providers")).text.contains("zenkey"))
            #expect(try await start(Browser(), stage, at: "zenkey").status == 404)
        }
    }
}
