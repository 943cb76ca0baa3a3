import CarrierSimulator
import Foundation
import HTTPServer
import LatchkeyConfiguration
import Linking
import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel
import TestSupport
import Testing

/// Users who link identities, over real sockets (docs/accounts.md).
@Suite(.serialized) struct LinkTests {
    private func link(
        _ walk: ProviderWalk, _ token: String?, at provider: String, _ fields: [String: String]
    ) async throws -> App.Answer {
        try await walk.harness.app.send(
            "POST", "/users/me/identities",
            headers: ["Content-Type: application/json"] + (token.map { ["Authorization: Bearer \($0)"] } ?? []),
            body: App.json(fields.merging(["provider": provider]) { $1 }))
    }

    private func issuers(_ walk: ProviderWalk, _ token: String) async throws -> [String] {
        let response = try await walk.harness.app.send(
            "GET", "/users/me/identities", headers: ["Authorization: Bearer \(token)"])
        return response.json["identities"]?.array?.compactMap { $0.object?["issuer"]?.string } ?? []
    }

    private func userID(_ walk: ProviderWalk, _ token: String?) async throws -> Int64? {
        guard let token else { return nil }
        return try await walk.harness.app.me(token).json["user_id"]?.integer
    }

    private func events(_ walk: ProviderWalk) async throws -> [String] {
        let store = try SQLStore(
            configuration: SQLiteConfiguration(path: try #require(walk.harness.configuration.database.url.path)))
        let events = try await store.auditEvents(AuditQuery())
        try await store.close()
        return events.map(\.event.kind.name).filter { $0.hasPrefix("identity.") }
    }

    @Test("An app's user links identities of every kind of provider and is the same user with each")
    func app() async throws {
        try await ProviderWalk.with { walk in
            let token = try #require(try await walk.harness.session())
            let user = try await userID(walk, token)
            let fields = try walk.code(at: "acme")
            let linked = try await link(walk, token, at: "acme", fields)
            #expect(linked.status == 201)
            #expect(linked.json["issuer"]?.string == walk.harness.simulator.issuer(of: "acme"))
            #expect(linked.json["id"]?.string?.isEmpty == false)
            #expect(linked.token == nil)
            let again = try await link(walk, token, at: "acme", fields)
            #expect(again.status == 200, "the identical request, repeated")
            #expect(again.json["id"] == linked.json["id"])
            #expect(walk.harness.simulator.log.tokenPosts("acme") == 1, "a code is posted once")
            let anew = try await link(walk, token, at: "acme", try walk.code(at: "acme"))
            #expect(anew.status == 200, "the user's own already")
            var withoutNonce = try walk.code(at: "meetings")
            withoutNonce["nonce"] = nil
            #expect(try await link(walk, token, at: "meetings", withoutNonce).status == 201)
            #expect(try await issuers(walk, token).count == 3)
            #expect(try await events(walk) == ["identity.linked", "identity.linked"])

            #expect(try await userID(walk, try await walk.token(at: "acme")) == user)
            #expect(try await userID(walk, try await walk.harness.session()) == user)
        }
    }

    @Test("An identity of another user is refused, and no account changes")
    func taken() async throws {
        try await ProviderWalk.with { walk in
            let other = try await userID(walk, try await walk.token(at: "acme"))
            let token = try #require(try await walk.harness.session())
            let refused = try await link(walk, token, at: "acme", try walk.code(at: "acme"))
            #expect(refused.status == 409)
            #expect(refused.error == "user_already_exists")
            #expect(refused.json["error_description"]?.string?.contains("another user") == true)
            #expect(try await issuers(walk, token).count == 1)
            #expect(try await userID(walk, try await walk.token(at: "acme")) == other)
            #expect(try await userID(walk, token) != other)
            #expect(try await events(walk) == ["identity.link_refused"])
        }
    }

    @Test("Two providers with the same e-mail address are two users until a user links them")
    func email() async throws {
        try await ProviderWalk.with { walk in
            let (first, second) = (Browser(), Browser())
            try await walk.signIn(first, at: "acme", ["scope": "openid email"])
            try await walk.signIn(second, at: "globex", ["scope": "openid email"])
            let people = [
                try await first.get(walk.origin + "/users/me"), try await second.get(walk.origin + "/users/me"),
            ].map { App.Members(of: $0.response.body) }
            #expect(people[0]["email"]?.string == "jane.doe@example.com")
            #expect(people[0]["email"] == people[1]["email"])
            #expect(people[0]["user_id"] != people[1]["user_id"])
        }
    }

    @Test("A session whose sign-in is too old cannot link, and the code is not posted")
    func age() async throws {
        let clock = ManualClock()
        try await ProviderWalk.with(
            clock: clock.wallClock, configure: { $0[LinkingSettings.self].maximumAge = 600 }
        ) { walk in
            let token = try #require(try await walk.harness.session())
            let browser = Browser()
            try await walk.signIn(browser, at: "globex", user: "ravi")
            clock.advance(bySeconds: 600)
            #expect(try await link(walk, token, at: "acme", try walk.code(at: "acme")).status == 201)
            clock.advance(bySeconds: 1)
            var fields = try walk.code(at: "meetings")
            fields["nonce"] = nil
            let old = try await link(walk, token, at: "meetings", fields)
            #expect(old.status == 401)
            #expect(old.error == "insufficient_user_authentication")
            #expect(old.response["www-authenticate"] == #"Bearer error="insufficient_user_authentication""#)
            #expect(walk.harness.simulator.log.tokenPosts("meetings") == 0)
            let page = try await ask(walk, browser, at: "acme")
            #expect(page.status == 401)
            #expect(page.location.isEmpty)
            // A refresh is no sign-in.
            let fresh = try #require(try await walk.harness.session())
            #expect(try await link(walk, fresh, at: "meetings", fields).status == 201)
        }
    }

    @Test("Malformed input is named; without a session or with a foreign one, the code is not posted")
    func malformed() async throws {
        try await ProviderWalk.with(
            configure: { configuration in
                var scoped = APIKey.plain(Secret("key-for-another"))
                scoped.clients = ["ccid-2"].compactMap(ClientID.init)
                configuration.apiKeys.append(scoped)
                var own = APIKey.plain(Secret("key-for-this"))
                own.clients = [SignInHarness.clientID].compactMap(ClientID.init)
                configuration.apiKeys.append(own)
            }
        ) { walk in
            let token = try #require(try await walk.harness.session())
            let fields = try walk.code(at: "acme")
            #expect(try await link(walk, nil, at: "acme", fields).status == 401)
            #expect(try await link(walk, token, at: "", fields).status == 400)
            #expect(try await link(walk, token, at: "initech", fields).status == 404)
            #expect(try await link(walk, token, at: "zenkey", fields).status == 400, "carriers need an mccmnc")
            #expect(
                try await link(walk, token, at: "acme", fields.merging(["client_id": "other"]) { $1 }).status == 400)
            var app = walk.harness.app
            app.apiKey = "key-for-another"
            let scoped = try await app.send(
                "POST", "/users/me/identities",
                headers: ["Content-Type: application/json", "Authorization: Bearer \(token)"],
                body: App.json(fields.merging(["provider": "acme"]) { $1 }))
            #expect(scoped.status == 403)
            app.apiKey = "key-for-this"
            let other = try await app.send(
                "POST", "/users/me/identities",
                headers: ["Content-Type: application/json", "Authorization: Bearer \(token)"],
                body: App.json(fields.merging(["provider": "acme", "client_id": "other"]) { $1 }))
            #expect(other.status == 403, "a key is for its clients only, here too")
            #expect(walk.harness.simulator.log.tokenPosts("acme") == 0)
        }
    }

    @Test("A user has at most thirty-two identities")
    func bounded() async throws {
        try await ProviderWalk.with { walk in
            let token = try #require(try await walk.harness.session())
            let store = try SQLStore(
                configuration: SQLiteConfiguration(path: try #require(walk.harness.configuration.database.url.path)))
            let user = UserID(try #require(try await userID(walk, token)))
            let session = TokenHash(ofSessionToken: token)
            for number in 1...31 {
                let link = IdentityLink(
                    Identity(issuer: "https://issuer.example", subject: "s-\(number)"), to: user, holding: session,
                    at: WallClock.system.now(), limit: 32, requestID: nil)
                guard case .linked = try await store.link(link) else { throw Unexpected() }
            }
            try await store.close()
            let refused = try await link(walk, token, at: "acme", try walk.code(at: "acme"))
            #expect(refused.status == 400)
            #expect(refused.json["error_description"]?.string?.contains("32") == true)
            #expect(try await issuers(walk, token).count == 32)
        }
    }

    private struct Unexpected: Error {}

    // MARK: By redirect

    private func ask(
        _ walk: ProviderWalk, _ browser: Browser, at provider: String, _ fields: [String: String] = [:],
        headers: [String] = ["Sec-Fetch-Site: same-origin"]
    ) async throws -> Browser.Page {
        let all = ["client_type": "web", "redirect_uri": ProviderWalk.webURI].merging(fields) { $1 }
        return try await browser.post("\(walk.origin)/auth/\(provider)/link", form: all, headers: headers)
    }

    @Test("A browser's user links by redirect and keeps the session")
    func redirect() async throws {
        try await ProviderWalk.with { walk in
            let browser = Browser()
            try await walk.signIn(browser, at: "acme")
            let (user, cookie) = (try await walk.userID(browser), walk.sessionCookie(browser))
            let asked = try await ask(walk, browser, at: "globex", ["tracking_id": "t-1"])
            #expect(asked.status == 303)
            let callback = try await walk.approved(browser, asked)
            let done = try await browser.get(callback)
            #expect(done.location == ProviderWalk.webURI + "?action=link&status=success&tracking_id=t-1")
            #expect(walk.sessionCookie(browser) == cookie)
            #expect(try await browser.get(callback).location == done.location, "the same end")
            #expect(try await Browser().get(callback).status == 400, "used before")
            let again = try await browser.get(
                try await walk.approved(browser, try await ask(walk, browser, at: "globex")))
            #expect(again.parameters["status"] == "success", "the user's own already")
            let other = Browser()
            try await walk.signIn(other, at: "globex")
            #expect(try await walk.userID(other) == user)
            #expect(try await events(walk) == ["identity.linked"])

            // Through the choice of a carrier, in a popup, whose script accepts JSON.
            let json = try await ask(
                walk, browser, at: "zenkey", ["client_type": "popup"],
                headers: ["Sec-Fetch-Site: same-origin", "Accept: application/json"])
            #expect(json.status == 200)
            let location = try #require(App.Members(of: json.response.body)["location"]?.string)
            var form = ["mccmnc": SignInHarness.mccmnc]
            for item in Browser.query(of: location).items { form[item.name] = item.value }
            let chosen = try await browser.post(walk.harness.simulator.discoveryUIURL ?? "", form: form)
            let atCarrier = try await browser.get(chosen.location)
            let popup = try await browser.get(try await walk.approved(browser, atCarrier))
            #expect(popup.text.contains("&quot;action&quot;:&quot;link&quot;,&quot;status&quot;:&quot;success&quot;"))
            #expect(try await userID(walk, try await walk.harness.session()) == user)
        }
    }

    @Test("A provider's error and another user's identity are reported as a failed link")
    func failures() async throws {
        try await ProviderWalk.with { walk in
            let (browser, owner) = (Browser(), Browser())
            try await walk.signIn(browser, at: "acme")
            try await walk.signIn(owner, at: "globex")
            let owned = try await walk.userID(owner)
            func end() async throws -> Browser.Page {
                try await browser.get(try await walk.approved(browser, try await ask(walk, browser, at: "globex")))
            }
            let taken = try await end()
            #expect(taken.location.hasPrefix(ProviderWalk.webURI + "?action=link&status=failure&message="))
            #expect(taken.parameters["error"] == "user_already_exists")
            try await walk.signIn(owner, at: "globex")
            #expect(try await walk.userID(owner) == owned)
            for (fault, error) in [
                (CarrierSimulator.Fault.authorizationDenied, "access_denied"),
                (.authorizationOtherIssuer, "issuer_mismatch"), (.tokenInvalidGrant, "invalid_grant"),
                (.idTokenWrongNonce, "invalid_id_token"),
            ] {
                walk.harness.simulator.setFaults([fault], for: "globex")
                let failed = try await end()
                #expect(failed.parameters["action"] == "link")
                #expect(failed.parameters["error"] == error)
            }
        }
    }

    @Test("Only the signed-in user's own page can start a link")
    func begun() async throws {
        try await ProviderWalk.with { walk in
            let browser = Browser()
            let signedOut = try await ask(walk, browser, at: "globex")
            #expect(signedOut.status == 401)
            try await walk.signIn(browser, at: "acme")
            for headers in [
                [], ["Sec-Fetch-Site: cross-site"], ["Sec-Fetch-Site: same-site"], ["Sec-Fetch-Site: none"],
                ["Origin: https://evil.example"],
            ] {
                #expect(try await ask(walk, browser, at: "globex", headers: headers).status == 403, "\(headers)")
            }
            let query = App.form(["client_type": "web", "redirect_uri": ProviderWalk.webURI])
            #expect(try await browser.get("\(walk.origin)/auth/globex/link?\(query)").status == 405)
            let token = try #require(try await walk.harness.session())
            let app = try await ask(
                walk, Browser(), at: "globex", headers: ["X-API-KEY: test-key", "Authorization: Bearer \(token)"])
            #expect(app.status == 400, "an app's browser has no session to come back to")
            let ofPage = ["client_type": "spa", "code_challenge": String(repeating: "A", count: 43)]
            let bound = ofPage.merging(["code_challenge_method": "S256"]) { $1 }
            for fields in [["client_type": "ios"], bound, ["redirect_uri": "https://evil.example/"]] {
                let refused = try await ask(walk, browser, at: "globex", fields)
                #expect(refused.status == 400)
                #expect(refused.location.isEmpty)
            }
        }
    }

    @Test("A link that another browser started links nothing here, and no code is posted (forced linking)")
    func forced() async throws {
        try await ProviderWalk.with { walk in
            let (attacker, victim) = (Browser(), Browser())
            try await walk.signIn(attacker, at: "acme", user: "ravi")
            try await walk.signIn(victim, at: "acme")
            let posts = walk.harness.simulator.log.tokenPosts()
            // The attacker's link, which the victim approves at the provider.
            let asked = try await ask(walk, attacker, at: "globex")
            let lured = try await victim.get(try await walk.approved(victim, asked))
            #expect(lured.status == 400)
            // The attacker's approval, under the victim's own session.
            let own = try await ask(walk, victim, at: "globex")
            #expect(own.status == 303)
            let planted = try await walk.approved(attacker, try await ask(walk, attacker, at: "globex"))
            #expect(try await victim.get(planted).status == 400)
            #expect(walk.harness.simulator.log.tokenPosts() == posts)
            #expect(try await events(walk).isEmpty)
        }
    }

    @Test("Only the session that started a link can complete it")
    func session() async throws {
        try await ProviderWalk.with { walk in
            let changes: [(String, (Browser) async throws -> Void)] = [
                (
                    "signed out",
                    {
                        _ = try await $0.send(
                            "DELETE", walk.origin + "/auth/token", headers: ["Origin: \(walk.origin)"])
                    }
                ),
                (
                    "erased",
                    { _ = try await $0.send("DELETE", walk.origin + "/users/me", headers: ["Origin: \(walk.origin)"]) }
                ),
                ("another session of the same user", { try await walk.signIn($0, at: "acme") }),
                ("another user", { try await walk.signIn($0, at: "acme", user: "ravi") }),
            ]
            for (name, change) in changes {
                let browser = Browser()
                try await walk.signIn(browser, at: "acme")
                let callback = try await walk.approved(browser, try await ask(walk, browser, at: "globex"))
                try await change(browser)
                let done = try await browser.get(callback)
                #expect(done.parameters["action"] == "link", "\(name)")
                #expect(done.parameters["error"] == "invalid_token", "\(name)")
            }
            #expect(walk.harness.simulator.log.tokenPosts("globex") == 0)
            #expect(try await !events(walk).contains("identity.linked"))
        }
    }

    @Test("A sign-in with an unlinked identity creates a new user")
    func unlinked() async throws {
        try await ProviderWalk.with { walk in
            let token = try #require(try await walk.harness.session())
            let fields = try walk.code(at: "acme")
            let id = try #require(try await link(walk, token, at: "acme", fields).json["id"]?.string)
            let gone = try await walk.harness.app.send(
                "DELETE", "/users/me/identities/\(id)", headers: ["Authorization: Bearer \(token)"])
            #expect(gone.status == 200)
            let user = try await userID(walk, token)
            let anew = try await userID(walk, try await walk.token(at: "acme"))
            #expect(anew != nil)
            #expect(anew != user)
        }
    }
}
