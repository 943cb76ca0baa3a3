import CarrierSimulator
import HTTPServer
import LatchkeyConfiguration
import LatchkeyService
import Primitives
import SignIn
import TestSupport
import Testing

/// How stored tokens come and go, over real sockets.
@Suite(.serialized) struct ResourceLifeTests {
    private func approved(_ browser: Browser, _ page: Browser.Page, user: String = "jane") async throws -> String {
        var form: [String: String] = ["user": user]
        for item in page.parameters.items { form[item.name] = item.value }
        return try await browser.post(page.location.prefix { $0 != "?" } + "/approve", form: form).location
    }

    /// A sign-in by redirect: where the browser ends up.
    private func done(_ browser: Browser, _ stage: ResourceStage) async throws -> Browser.Page {
        let fields = ["client_type": "web", "redirect_uri": ResourceStage.webURI]
        let page = try await browser.get(stage.url("/auth/meetings/start?\(App.form(fields))"))
        return try await browser.get(try await approved(browser, page))
    }

    @Test("A browser's sign-in brings tokens, too, and its cookie fetches")
    func browser() async throws {
        try await ResourceStage.with { stage in
            let browser = Browser()
            #expect(try await done(browser, stage).parameters["status"] == "success")
            let page = try await browser.get(stage.url("/auth/meetings/resources/zak"))
            #expect(page.status == 200)
            #expect(page.text == #"{"token":"zak-of-jane"}"#)
            #expect(try await Browser().get(stage.url("/auth/meetings/resources/zak")).status == 401)
        }
    }

    @Test("Tokens of whoever has to register wait, unreadable, and are the user's then", arguments: [false, true])
    func registration(byRedirect: Bool) async throws {
        try await ResourceStage.with(configure: { $0.registration.mode = .required }) { stage in
            let handle: String?
            if byRedirect {
                handle = try await done(Browser(), stage).parameters["state_key"]
            } else {
                let answer = try await stage.signInAnswer()
                #expect(answer.status == 403)
                handle = answer.json["state_key"]?.string
            }
            #expect(try stage.rowCount() == 0)
            let issued = stage.simulator.issuedTokens(at: "meetings")
            let bytes = stage.files()
            #expect(issued.count == 2)
            for secret in issued { #expect(!bytes.contains(Array(secret.utf8))) }
            let fields = ["state_key": try #require(handle)]
            let answer = try await stage.app.send(
                "POST", "/users", headers: ["Content-Type: application/json"], body: App.json(fields))
            #expect(answer.status == 201, "\(answer.response.text)")
            #expect(try await stage.fetch(answer.token).status == 200)
            #expect(try stage.rowCount() == 1)
        }
    }

    @Test("Tokens of a registration that never was go with its handle")
    func abandoned() async throws {
        let clock = ManualClock()
        try await ResourceStage.with(clock: clock.wallClock, configure: { $0.registration.mode = .required }) { stage in
            let handle = try #require(try await stage.signInAnswer().json["state_key"]?.string)
            clock.advance(bySeconds: 601)
            let answer = try await stage.app.send(
                "POST", "/users", headers: ["Content-Type: application/json"], body: App.json(["state_key": handle]))
            #expect(answer.status == 401)
            #expect(try stage.rowCount() == 0)
        }
    }

    @Test("Erasing the account removes them")
    func erasure() async throws {
        try await ResourceStage.with { stage in
            let jane = try await stage.signIn()
            let ravi = try await stage.signIn(user: "ravi")
            #expect(try stage.rowCount() == 2)
            let erased = try await stage.app.send("DELETE", "/users/me", headers: ["Authorization: Bearer \(jane)"])
            #expect(erased.status == 200)
            #expect(try stage.rowCount() == 1)
            #expect(try await stage.fetch(jane).status == 401)
            #expect(try await stage.fetch(ravi).status == 200)
        }
    }

    @Test("A link brings them, sent twice too; unlinking the identity removes them, and the session stays")
    func linking() async throws {
        try await ResourceStage.with { stage in
            let token = try #require(try await stage.app.signIn(try stage.stage.authorizedResponse()).token)
            let headers = ["Authorization: Bearer \(token)", "Content-Type: application/json"]
            let link = try stage.authorizedResponse().merging(["provider": "meetings"]) { $1 }
            var id = ""
            for status in [201, 200] {
                let linked = try await stage.app.send(
                    "POST", "/users/me/identities", headers: headers, body: App.json(link))
                #expect(linked.status == status, "\(linked.response.text)")
                id = linked.json["id"]?.string ?? id
                // The second time around the refresh token of the first is spent.
                stage.simulator.expireAccessTokens(at: "meetings")
                #expect(try await stage.fetch(token).status == 200)
            }
            #expect(stage.refreshes == 2)
            #expect(try stage.rowCount() == 1)
            let unlinked = try await stage.app.send("DELETE", "/users/me/identities/\(id)", headers: headers)
            #expect(unlinked.status == 200)
            #expect(try stage.rowCount() == 0)
            #expect(try await stage.fetch(token).error == "grant_missing")
            #expect(try await stage.app.me(token).status == 200)
        }
    }

    @Test("An account that is put into another leaves its tokens behind: they are bound to who had them")
    func merge() async throws {
        try await ResourceStage.with { stage in
            let jane = try await stage.signIn()
            _ = try await stage.signIn(user: "ravi")
            let (one, other) = (
                try await stage.app.me(jane).json["user_id"]?.integer,
                try stage.database.number("SELECT max(id) FROM users")
            )
            let admin = try AdminService(stage.stage.configuration)
            _ = try await admin.merge(
                other, into: try #require(one), reason: nil, applies: true)
            await admin.close()
            #expect(try stage.rowCount() == 1)
            #expect(try await stage.fetch(jane).response.text == #"{"token":"zak-of-jane"}"#)
            // The identity that went over brings tokens of its own at its next sign-in.
            let again = try await stage.signIn(user: "ravi")
            #expect(try await stage.fetch(again).response.text == #"{"token":"zak-of-ravi"}"#)
        }
    }
}
