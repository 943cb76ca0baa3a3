import Administration
import CarrierSimulator
import HTTPServer
import LatchkeyAPI
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import OpenIDConnect
import Primitives
import Registration
import SecurityEvents
import SignIn
import TestSupport
import Testing

@testable import Backchannel

/// Calls the whole API over real sockets. Every response is checked against the document
/// (see ``App``); at the end, every documented success response must have occurred.
@Suite(.serialized) struct OpenAPITourTests {
    @Test("Every operation responds as the document says, with each of its success statuses")
    func tour() async throws {
        let tour = Tour(try PublishedAPI.contract())
        try await Tour.$current.withValue(tour) {
            try await codes()
            try await registration()
            try await registrationPage()
            try await browsers()
            try await phones()
            try await linking()
            try await logouts()
            try await EventWalk.with { events in
                let statuses = [
                    try await events.push(try await events.token()).status, try await events.push("no token").status,
                ]
                #expect(statuses == [202, 400])
            }
            try await EventWalk.with(.apple) { events in
                let token = try await events.token {
                    $0.claims["events"] = .string(#"{"type": "email-enabled", "sub": "s"}"#)
                }
                let status = try await events.push(App.json(["payload": token]), as: "application/json").status
                #expect(status == 200)
            }
            try await ProviderWalk.withOperators { walk in
                _ = try await walk.harness.app.send("GET", "/auth/number/methods?platform=ios&mccmnc=310010")
                try await walk.verifyNumbers()
            }
            try await ProviderWalk.withAggregator { _ = try await $0.signInWithCredential() }
            try await StandInWalk.with(try #require(CarrierSimulator.StandIn.named("google"))) { walk in
                _ = try await walk.signInNatively(try await walk.nativeFields())
            }
        }
        let unseen = tour.unseen
        #expect(
            unseen.isEmpty,
            "These documented responses did not occur: call them in OpenAPITourTests or remove them from the document."
        )
    }

    /// Sign-ins with a code, sessions, the account, transactions, and calls of services.
    private func codes() async throws {
        try await SignInHarness.with { harness in
            let app = harness.app
            _ = try await app.post("/auth/zenkey/attempts", [:])
            let signedIn = try await app.post("/auth/zenkey/sign-in", harness.authorizedResponse(scope: "openid email"))
            var token = try #require(signedIn.token)
            let other = try #require(try await app.signIn(harness.authorizedResponse()).token)
            _ = try await app.me(token)
            _ = try await app.asUser("PATCH", "/users/me", token, ["name": "Jane Doe", "username": "jane"])
            let sessions = try await app.asUser("GET", "/users/me/sessions", token).json["sessions"]?.array ?? []
            let theirs = try #require(sessions.compactMap(\.object).first { $0["current"]?.bool == false })
            _ = try await app.asUser("DELETE", "/users/me/sessions/\(theirs["id"]?.string ?? "")", token)
            #expect(try await app.me(other).status == 401)
            _ = try await app.asUser("DELETE", "/users/me/sessions", token)

            for hint in ["", "refresh_token"] {
                let text = hint.isEmpty ? token : signedIn.refreshToken ?? ""
                let answer = try await app.post("/auth/introspect", ["token": text, "token_type_hint": hint])
                #expect(answer.json["active"]?.bool == true)
            }
            _ = try await app.post("/auth/introspect", ["token": "unknown"])
            _ = try await app.send("GET", "/.well-known/oauth-authorization-server")
            #expect(try await app.asUser("GET", "/auth/verify", token).status == 200)
            #expect(try await app.send("GET", "/auth/verify", headers: ["Accept: text/html"]).status == 303)

            let approval = try await app.authorize(harness.transaction(), token)
            _ = try await app.redeem(try #require(approval.json["receipt"]?.string))
            let keys = try await app.send("GET", "/.well-known/jwks.json")
            _ = try await app.send(
                "GET", "/.well-known/jwks.json", headers: ["If-None-Match: \(keys.response["etag"] ?? "")"])

            let refreshed = try await app.refresh(try #require(signedIn.refreshToken))
            token = try #require(refreshed.token)
            _ = try await app.post("/auth/revoke", ["token": token])
            token = try #require(try await app.signIn(harness.authorizedResponse()).token)
            _ = try await app.signOut(token)
            try await secondIdentity(harness)
            token = try #require(try await app.signIn(harness.authorizedResponse()).token)
            _ = try await app.asUser("DELETE", "/users/me", token)

            for path in ["/healthz", "/readyz", "/metrics", "/auth/popup.js", "/auth/form-post.js"] {
                _ = try await app.send("GET", path)
            }
            _ = try await App(port: app.port, apiKey: nil).send("GET", "/status")
            _ = try await App(port: app.port, apiKey: nil).send("GET", "/admin/v1/statistics?days=7")
            _ = try await App(port: app.port, apiKey: nil).send("GET", "/admin/v1/statistics?days=7&format=csv")
            // The response never ends.
            let events = try await StatusEvents(app)
            _ = try await events.next()
            Tour.current?.saw("GET /status/events", [200])
            await events.close()
            harness.simulator.setFaults([.idTokenExpired], for: SignInHarness.mccmnc)
            _ = try await app.signIn(harness.authorizedResponse())
            await harness.service.settleCapsules()
            let watching = try await StatusEvents(app)
            let failed = try await watching.next()["failures"]?.array?.first?.object?["capsule"]?.string
            await watching.close()
            harness.simulator.setFaults([], for: SignInHarness.mccmnc)
            _ = try await App(port: app.port, apiKey: nil).send(
                "GET", "/status/capsule?failure=\(try #require(failed))")
            let document = try await app.send("GET", "/openapi.json")
            let tag = try #require(document.response["etag"])
            let again = try await app.send("GET", "/openapi.json", headers: ["If-None-Match: \(tag)"])
            #expect(again.status == 304)
            #expect(again.response.body.isEmpty)
        }
    }

    /// Only a user with two identities may unlink one: an operator merges two accounts.
    private func secondIdentity(_ harness: SignInHarness) async throws {
        var numbers: [Int64] = []
        for mccmnc in [SignInHarness.mccmnc, "310410"] {
            let token = try #require(try await harness.app.signIn(harness.authorizedResponse(mccmnc: mccmnc)).token)
            numbers.append(try #require(try await harness.app.me(token).json["user_id"]?.integer))
        }
        let admin = try AdminService(harness.configuration, features: .none)
        _ = try await admin.merge(numbers[1], into: numbers[0], reason: nil, applies: true)
        await admin.close()
        try await harness.alongside { harness in
            let token = try #require(try await harness.app.signIn(harness.authorizedResponse()).token)
            let listed = try await harness.app.asUser("GET", "/users/me/identities", token).json["identities"]?.array
            let id = try #require(listed?.last?.object?["id"]?.string)
            let answer = try await harness.app.asUser("DELETE", "/users/me/identities/\(id)", token)
            #expect(answer.status == 200)
        }
    }

    private func registration() async throws {
        try await SignInHarness.with(configure: { $0.registration.mode = .required }) { harness in
            for (path, user) in [("/users", "jane"), ("/auth/register", "ravi")] {
                let unknown = try await harness.app.signIn(
                    harness.authorizedResponse(scope: "openid name email phone postal_code", user: user))
                #expect(unknown.error == "user_not_registered")
                let handle = try #require(unknown.json["state_key"]?.string)
                let answer = try await harness.app.post(
                    path, ["state_key": handle, "name": "Jo", "email": "jo@example.org"])
                #expect(answer.status == 201)
            }
        }
    }

    /// A registration in a browser without scripts.
    private func registrationPage() async throws {
        try await ProviderWalk.with(
            configure: {
                $0.registration.mode = .required
                $0.providers[0].clients[0].redirectURIs = ["http://127.0.0.1/sign-in"]
            }
        ) { walk in
            let browser = Browser()
            let page = walk.origin + "/sign-in?" + App.form(["rd": walk.origin + "/shop"])
            #expect(try await browser.get(page).status == 200)
            let asked = try await walk.start(browser, at: "acme", ["redirect_uri": "/sign-in"])
            let back = try await browser.get(try await walk.approved(browser, asked))
            let form = try await browser.get(walk.origin + back.location)
            let id = try #require(form.text.firstMatch(of: /name="registration" value="([^"]*)"/)?.1)
            let done = try await browser.post(
                walk.origin + "/register", form: ["registration": String(id)],
                headers: ["Sec-Fetch-Site: same-origin"])
            #expect(done.status == 303)
            #expect(try await browser.get(done.location).location == walk.origin + "/shop")
        }
    }

    private static let kinds = [
        ("web", "https://web.example/", "/auth/zenkey/callback"),
        ("ios", "com.example.app:/in", "/auth/zenkey/ios/callback"),
        ("popup", "https://web.example/", "/auth/zenkey/callback"),
        ("popup", "https://web.example/", "/auth/zenkey/popup/callback"),
    ]

    /// Sign-ins by redirects, with each kind of frontend.
    private func browsers() async throws {
        try await SignInHarness.with(
            configure: {
                $0.zenkey.clients[0].redirectURIs = ["com.example.app:/in", "https://web.example/"]
                $0.providers[0].clients[0].redirectURIs = ["https://web.example/"]
                $0.providers[0].rules.loginInitiationClient = ClientID(SignInHarness.clientID)
            }
        ) { harness in
            let base = "http://127.0.0.1:\(harness.app.port)"
            let initiation = ["iss": harness.configuration.providers[0].issuer.text]
            let initiated = base + "/auth/acme/initiate-login?" + App.form(initiation)
            #expect(try await Browser().get(initiated).status == 303)
            #expect(try await Browser().get(initiated, headers: ["Accept: application/json"]).status == 200)
            #expect(try await Browser().post(base + "/auth/acme/initiate-login", form: initiation).status == 303)
            _ = try await harness.app.send("GET", "/auth/providers")
            _ = try await harness.app.send("GET", "/sign-in")
            for path in ["/sign-in", "/sign-out"] {
                _ = try await harness.app.send("POST", path, headers: ["Sec-Fetch-Site: same-origin"])
            }
            for ((type, uri, callback), byForm) in Self.kinds.flatMap({ [($0, true), ($0, false)] }) {
                let browser = Browser()
                let start =
                    base + "/auth/zenkey/start?"
                    + App.form(["client_type": type, "redirect_uri": uri, "mccmnc": SignInHarness.mccmnc])
                #expect(try await browser.get(start, headers: ["Accept: application/json"]).status == 200)
                if type == "ios" {
                    let fields = ["client_type": type, "redirect_uri": uri, "mccmnc": SignInHarness.mccmnc]
                    #expect(try await harness.app.post("/auth/zenkey/start", fields).status == 200)
                }
                let asked = try await browser.get(start)
                var form: [String: String] = [:]
                for item in asked.parameters.items { form[item.name] = item.value }
                let back = try await browser.post(asked.location.prefix { $0 != "?" } + "/approve", form: form)
                var answer: [String: String] = [:]
                for item in back.parameters.items { answer[item.name] = item.value }
                let done: Browser.Page
                if byForm {
                    // Without cookies, as with another site's form; and as the page in answer sends it again.
                    #expect(try await Browser().post(base + callback, form: answer).status == 200)
                    answer["sent_again"] = "true"
                    done = try await browser.post(base + callback, form: answer)
                } else {
                    done = try await browser.get(base + callback + "?" + App.form(answer))
                }
                guard type == "ios" else { continue }
                let session = try #require(done.parameters["session_id"])
                #expect(try await harness.app.post("/auth/session", ["session_id": session]).token != nil)
            }
        }
    }

    /// Backchannel authentication, with the result as 200 and as 302.
    private func phones() async throws {
        let paths = [BackchannelHarness.path, "/auth/zenkey/backchannel"]
        for (isFound, path) in [false, true].flatMap({ isFound in paths.map { (isFound, $0) } }) {
            try await BackchannelHarness.with(configure: { $0[BackchannelSettings.self].async302 = isFound }) {
                harness in
                var harness = harness
                harness.path = path
                let cancelled = try await harness.handle()
                #expect(try await harness.poll(cancelled).token == nil)
                _ = try await harness.send("POST", cancelled)
                _ = try await harness.send("DELETE", cancelled)
                let handle = try await harness.handle()
                let id = try #require(
                    harness.simulator.backchannelAuthenticationRequests(at: SignInHarness.mccmnc).last)
                let told = try await harness.simulator.complete(id, .approved)
                #expect(told == [204])
                // The carrier gets this response.
                Tour.current?.saw("POST /auth/zenkey-async-signin/notification", told)
                Tour.current?.saw("POST /auth/{provider}/backchannel/notification", told)
                #expect(try await harness.poll(handle).status == (isFound ? 302 : 200))
            }
        }
    }

    /// Logouts that the user starts at Latchkey, and that the provider starts.
    private func logouts() async throws {
        try await ProviderWalk.with { walk in
            for accept in ["text/html", "application/json"] {
                let browser = Browser()
                try await walk.signIn(browser, at: "acme")
                let page = try await browser.post(
                    walk.origin + "/auth/acme/logout", form: ["post_logout_redirect_uri": ProviderWalk.webURI],
                    headers: ["Accept: \(accept)", "Sec-Fetch-Site: same-origin"])
                guard page.status == 303 else { continue }
                let back = try await browser.get(page.location)
                for _ in 0..<2 { _ = try await browser.get(back.location) }
            }
            try await walk.signIn(Browser(), at: "acme")
            let id = try #require(walk.harness.simulator.latestSessionID(at: "acme"))
            let token = try await walk.harness.simulator.logoutToken(
                of: "acme", clientID: SignInHarness.clientID, user: nil, sessionID: id, defect: nil)
            let told = try await Browser().post(
                walk.origin + "/auth/acme/backchannel-logout", form: ["logout_token": token])
            #expect(told.status == 200)
        }
    }

    /// Linked identities and providers' resources.
    private func linking() async throws {
        try await ProviderWalk.with { walk in
            let token = try #require(try await walk.token(at: "acme"))
            for expected in [201, 200] {
                let fields = try walk.code(at: "globex").merging(["provider": "globex"]) { $1 }
                let answer = try await walk.harness.app.asUser("POST", "/users/me/identities", token, fields)
                #expect(answer.status == expected)
            }
            let browser = Browser()
            try await walk.signIn(browser, at: "acme", user: "ravi")
            for (accept, expected) in [("application/json", 200), ("text/html", 303)] {
                let page = try await browser.post(
                    walk.origin + "/auth/globex/link",
                    form: ["client_type": "web", "redirect_uri": ProviderWalk.webURI],
                    headers: ["Accept: \(accept)", "Sec-Fetch-Site: same-origin"])
                #expect(page.status == expected)
            }
        }
        try await ResourceHarness.with { harness in
            let token = try await harness.signIn()
            #expect(try await harness.fetch(token).status == 200)
        }
    }
}
