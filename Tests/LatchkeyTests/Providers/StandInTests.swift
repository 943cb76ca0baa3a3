import CarrierSimulator
import Foundation
import HTTPServer
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import Presets
import Primitives
import TestSupport
import Testing

/// Sign-ins with the presets of well-known providers, at the stand-ins that do what the providers' documentation says.
@Suite(.serialized) struct StandInTests {
    @Test(
        "A user signs in, and has the profile that the provider tells",
        arguments: CarrierSimulator.StandIn.all.map(\.name))
    func signIn(_ name: String) async throws {
        let standIn = try #require(CarrierSimulator.StandIn.named(name))
        try await StandInWalk.with(standIn) { walk in
            let browser = Browser()
            let done = try await walk.signIn(browser)
            #expect(done.parameters["status"] == "success", "\(done.location) \(walk.refusals)")
            #expect(walk.refusals == "")
            let profile = try await walk.profile(browser)
            #expect(profile["name"]?.string == (standIn.givesName ? "Jane Doe" : nil))
            #expect(profile["email"]?.string == (standIn.givesVerifiedEmail == nil ? nil : "jane.doe@example.com"))
            #expect(profile["email_verified"]?.bool == (standIn.givesVerifiedEmail ?? false))
            // The same user comes back.
            let again = Browser()
            #expect(try await walk.signIn(again).parameters["status"] == "success")
            let known = try await walk.profile(again)
            #expect(known["user_id"]?.integer == profile["user_id"]?.integer)
            // Apple tells the name once.
            #expect(known["name"]?.string == profile["name"]?.string)
        }
    }

    @Test(
        "Stored tokens are refreshed where the provider gives refresh tokens, and end where it does not",
        arguments: CarrierSimulator.StandIn.all.map(\.name))
    func refresh(_ name: String) async throws {
        let standIn = try #require(CarrierSimulator.StandIn.named(name))
        try await StandInWalk.with(standIn, isForRefresh: true) { walk in
            let browser = Browser()
            let done = try await walk.signIn(browser)
            #expect(done.parameters["status"] == "success", "\(done.location) \(walk.refusals)")
            let resource = walk.url("/auth/\(name)/resources/zak")
            #expect(try await browser.get(resource).text.contains("zak-of-jane"), "\(walk.refusals)")
            walk.simulator.expireAccessTokens(at: name)
            let later = try await browser.get(resource)
            #expect((later.status == 200) == standIn.hasRefresh, "\(later.status) \(walk.refusals)")
            #expect(walk.simulator.log.count(.token, name) == (standIn.hasRefresh ? 2 : 1))
        }
    }

    @Test(
        "A user signs out at the provider where it has a logout",
        arguments: CarrierSimulator.StandIn.all.filter(\.hasLogout).map(\.name))
    func logout(_ name: String) async throws {
        try await StandInWalk.with(try #require(CarrierSimulator.StandIn.named(name))) { walk in
            let browser = Browser()
            _ = try await walk.signIn(browser)
            let page = try await browser.post(
                walk.url("/auth/\(name)/logout"), form: ["post_logout_redirect_uri": ProviderWalk.webURI],
                headers: ["Sec-Fetch-Site: same-origin"])
            #expect(page.location.hasPrefix((walk.simulator.issuer(of: name) ?? "-") + "/logout?"), "\(page.location)")
            let back = try await browser.get(page.location)
            #expect(back.location.hasPrefix(walk.url("/auth/\(name)/logged-out")), "\(walk.refusals)")
            #expect(try await browser.get(walk.url("/users/me")).status == 401)
        }
    }

    @Test("The erasure of an account ends the user's consent at Apple, with a signed secret")
    func erasure() async throws {
        try await StandInWalk.with(try #require(CarrierSimulator.StandIn.named("apple")), isForRefresh: true) { walk in
            let browser = Browser()
            _ = try await walk.signIn(browser)
            let erased = try await browser.send(
                "DELETE", walk.url("/users/me"), headers: ["Sec-Fetch-Site: same-origin"])
            #expect(erased.status == 200, "\(erased.text)")
            #expect(walk.simulator.log.count(.revocation, "apple") == 1 && walk.refusals == "", "\(walk.refusals)")
        }
    }

    @Test("latchkey-dev provider runs a stand-in, and prints a configuration with which the server offers it")
    func command() async throws {
        let directory = try TemporaryDirectory()
        let process = try LatchkeyProcess(["provider", "google", "--port", "0"], of: "latchkey-dev")
        let text = try await process.wait { said in
            said.contains("issuer: \"http://127.0.0.1:") && said.hasSuffix("\n") ? said : nil
        }
        #expect(text.contains("# Put this into Config/latchkey.yaml, run latchkey serve,"))
        try directory.write(text, as: "Config/latchkey.yaml")
        let server = try LatchkeyProcess(
            ["serve"], environment: ["LATCHKEY_HTTP_PORT": "0"], directory: directory.path)
        let port = try await server.port(after: "listening")
        #expect(try await Browser().get("http://127.0.0.1:\(port)/sign-in").text.contains("Sign in with Google"))
        server.send(SIGTERM)
        #expect(await server.ending().status == 0)
        process.send(SIGTERM)
        #expect(await process.ending().status == 0)
        let list = await (try LatchkeyProcess(["provider"], of: "latchkey-dev")).ending()
        #expect(list.status == 0)
        #expect(list.output.split(separator: "\n").count == CarrierSimulator.StandIn.all.count)
        #expect(await (try LatchkeyProcess(["provider", "nobody"], of: "latchkey-dev")).ending().status == 64)
    }

    @Test("Each preset has a stand-in, and lacks what its stand-in lacks")
    func presets() {
        var lacks = Dictionary(uniqueKeysWithValues: PresetsFeature.all.map { ($0.name, $0.lacks) })
        for standIn in CarrierSimulator.StandIn.all {
            let email: String? =
                switch standIn.givesVerifiedEmail {
                case nil: "email"
                case false?: "verified email"
                case true?: nil
                }
            let missing = [standIn.hasRefresh ? nil : "refresh", standIn.hasLogout ? nil : "logout", email]
                .compactMap(\.self)
            #expect(lacks.removeValue(forKey: standIn.name) == missing, "\(standIn.name)")
        }
        #expect(lacks.isEmpty, "\(lacks.keys)")
    }

    private static let page = "docs/reports/providers.md"

    @Test("The committed page says what the stand-ins do (LATCHKEY_PROVIDERS=write writes it)")
    func document() throws {
        let rows = CarrierSimulator.StandIn.all.map { standIn in
            let deviations = standIn.deviations.isEmpty ? "–" : standIn.deviations.joined(separator: ", ")
            let email = standIn.givesVerifiedEmail.map { $0 ? "verified" : "yes" } ?? "–"
            let cells = [
                "`\(standIn.name)`", standIn.isOpenID ? "oidc" : "oauth2", deviations, standIn.givesName ? "yes" : "–",
                email, standIn.hasRefresh ? "yes" : "–", standIn.hasLogout ? "yes" : "–",
                "[document](\(standIn.source))" + (standIn.reading.map { ": \($0)" } ?? ""),
            ]
            return "| \(cells.joined(separator: " | ")) |"
        }
        let expected = """
            # Presets and their providers

            `StandInTests` signs a user in with each preset, at a stand-in on the same machine. The stand-in does
            what the provider's public document says: what it demands and refuses of requests, and what its
            responses contain. **The providers themselves were not reached.** A provider can have changed since, and
            documents are silent about much. `latchkey-dev provider NAME` runs a stand-in for a browser.

            Each row was tested with the preset's own settings, with the stand-in's addresses in place of the
            provider's: two sign-ins of one user; the profile; a refresh of stored tokens where the provider gives
            refresh tokens, and the end of the grant where it does not; a logout at the provider where it has one.
            `store_tokens: true` adds what the preset needs for refresh tokens, such as a scope. Where the last
            column says what was read, the facts were looked up again.

            | preset | kind | what the stand-in does | name | e-mail | refresh | logout | from |
            |---|---|---|---|---|---|---|---|
            \(rows.joined(separator: "\n"))

            """
        if ProcessInfo.processInfo.environment["LATCHKEY_PROVIDERS"] == "write" {
            try expected.write(toFile: Repository.path(Self.page), atomically: true, encoding: .utf8)
            return
        }
        #expect(try Repository.text(Self.page) == expected, "\(Self.page) is out of date")
    }
}
