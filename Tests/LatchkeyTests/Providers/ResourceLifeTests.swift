import Administration
import CarrierSimulator
import HTTPServer
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import Primitives
import Registration
import SignIn
import TestSupport
import Testing

/// How provider tokens are stored and deleted, over real sockets.
@Suite(.serialized) struct ResourceLifeTests {
    private func approved(_ browser: Browser, _ page: Browser.Page, user: String = "jane") async throws -> String {
        var form: [String: String] = ["user": user]
        for item in page.parameters.items { form[item.name] = item.value }
        return try await browser.post(page.location.prefix { $0 != "?" } + "/approve", form: form).location
    }

    /// A sign-in by redirect; returns the final page.
    private func done(_ browser: Browser, _ harness: ResourceHarness) async throws -> Browser.Page {
        let fields = ["client_type": "web", "redirect_uri": ResourceHarness.webURI]
        let page = try await browser.get(harness.url("/auth/meetings/start?\(App.form(fields))"))
        return try await browser.get(try await approved(browser, page))
    }

    @Test("A browser's sign-in stores tokens too, and its cookie fetches a resource")
    func browser() async throws {
        try await ResourceHarness.with { harness in
            let browser = Browser()
            #expect(try await done(browser, harness).parameters["status"] == "success")
            let page = try await browser.get(harness.url("/auth/meetings/resources/zak"))
            #expect(page.status == 200)
            #expect(page.text == #"{"token":"zak-of-jane"}"#)
            #expect(try await Browser().get(harness.url("/auth/meetings/resources/zak")).status == 401)
        }
    }

    @Test(
        "Tokens of an unregistered user are stored encrypted and belong to the user after registration",
        arguments: [false, true])
    func registration(byRedirect: Bool) async throws {
        try await ResourceHarness.with(configure: { $0.registration.mode = .required }) { harness in
            let handle: String?
            if byRedirect {
                handle = try await done(Browser(), harness).parameters["state_key"]
            } else {
                let answer = try await harness.signInAnswer()
                #expect(answer.status == 403)
                handle = answer.json["state_key"]?.string
            }
            #expect(try harness.rowCount() == 0)
            let issued = harness.simulator.issuedTokens(at: "meetings")
            let bytes = harness.files()
            #expect(issued.count == 2)
            for secret in issued { #expect(!bytes.contains(Array(secret.utf8))) }
            let fields = ["state_key": try #require(handle)]
            let answer = try await harness.app.send(
                "POST", "/users", headers: ["Content-Type: application/json"], body: App.json(fields))
            #expect(answer.status == 201, "\(answer.response.text)")
            #expect(try await harness.fetch(answer.token).status == 200)
            #expect(try harness.rowCount() == 1)
        }
    }

    @Test("Tokens of an abandoned registration are deleted with its state key")
    func abandoned() async throws {
        let clock = ManualClock()
        try await ResourceHarness.with(
            clock: clock.wallClock, configure: { $0.registration.mode = .required }
        ) {
            harness in
            let handle = try #require(try await harness.signInAnswer().json["state_key"]?.string)
            clock.advance(bySeconds: 601)
            let answer = try await harness.app.send(
                "POST", "/users", headers: ["Content-Type: application/json"], body: App.json(["state_key": handle]))
            #expect(answer.status == 401)
            #expect(try harness.rowCount() == 0)
        }
    }

    @Test("Erasing the account deletes its tokens")
    func erasure() async throws {
        try await ResourceHarness.with { harness in
            let jane = try await harness.signIn()
            let ravi = try await harness.signIn(user: "ravi")
            #expect(try harness.rowCount() == 2)
            let erased = try await harness.app.send("DELETE", "/users/me", headers: ["Authorization: Bearer \(jane)"])
            #expect(erased.status == 200)
            #expect(try harness.rowCount() == 1)
            #expect(try await harness.fetch(jane).status == 401)
            #expect(try await harness.fetch(ravi).status == 200)
        }
    }

    @Test("Linking stores tokens, also when repeated; unlinking deletes them and keeps the session")
    func linking() async throws {
        try await ResourceHarness.with { harness in
            let token = try #require(try await harness.app.signIn(try harness.base.authorizedResponse()).token)
            let headers = ["Authorization: Bearer \(token)", "Content-Type: application/json"]
            let link = try harness.authorizedResponse().merging(["provider": "meetings"]) { $1 }
            var id = ""
            for status in [201, 200] {
                let linked = try await harness.app.send(
                    "POST", "/users/me/identities", headers: headers, body: App.json(link))
                #expect(linked.status == status, "\(linked.response.text)")
                id = linked.json["id"]?.string ?? id
                // The second time, the refresh token of the first is spent.
                harness.simulator.expireAccessTokens(at: "meetings")
                #expect(try await harness.fetch(token).status == 200)
            }
            #expect(harness.refreshes == 2)
            #expect(try harness.rowCount() == 1)
            let unlinked = try await harness.app.send("DELETE", "/users/me/identities/\(id)", headers: headers)
            #expect(unlinked.status == 200)
            #expect(try harness.rowCount() == 0)
            #expect(try await harness.fetch(token).error == "grant_missing")
            #expect(try await harness.app.me(token).status == 200)
        }
    }

    @Test("Merging an account into another drops its tokens, which are bound to the former user")
    func merge() async throws {
        try await ResourceHarness.with { harness in
            let jane = try await harness.signIn()
            _ = try await harness.signIn(user: "ravi")
            let (one, other) = (
                try await harness.app.me(jane).json["user_id"]?.integer,
                try harness.database.number("SELECT max(id) FROM users")
            )
            let admin = try AdminService(harness.base.configuration, features: .none)
            _ = try await admin.merge(
                other, into: try #require(one), reason: nil, applies: true)
            await admin.close()
            #expect(try harness.rowCount() == 1)
            #expect(try await harness.fetch(jane).response.text == #"{"token":"zak-of-jane"}"#)
            // The moved identity stores its own tokens at its next sign-in.
            let again = try await harness.signIn(user: "ravi")
            #expect(try await harness.fetch(again).response.text == #"{"token":"zak-of-ravi"}"#)
        }
    }
}
