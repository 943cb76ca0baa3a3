import Administration
import ArgumentParser
import CarrierSimulator
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// API keys that an operator creates and revokes while a server runs.
@Suite(.serialized) struct APIKeyCommandTests {
    private func runAdminCommand<Value>(
        _ harness: SignInHarness, _ clock: ManualClock, _ command: (AdminService) async throws -> Value
    ) async throws -> Value {
        try await AdminService(harness.configuration, features: .none, clock: clock.wallClock).perform(command)
    }

    @Test("A running server accepts a new key and refuses a revoked one within the documented delay")
    func delay() async throws {
        let clock = ManualClock()
        try await SignInHarness.with(clock: clock.wallClock) { harness in
            var app = harness.app
            app.apiKey = "guessed"
            #expect(try await app.me("x").error == "invalid_api_key")
            let key = try await runAdminCommand(harness, clock) {
                try await $0.createAPIKey(
                    "web", for: [SignInHarness.clientID], known: [SignInHarness.clientID])
            }
            #expect(key.exposed.utf8.count == 43)
            app.apiKey = key.exposed
            clock.advance(bySeconds: StoredAPIKeys.freshness)
            let token = try #require(try await app.signIn(try harness.authorizedResponse()).token)
            #expect(try await app.me(token).status == 200)

            let listed = try await runAdminCommand(harness, clock) { try await $0.apiKeys().text }
            #expect(listed.count == 1)
            #expect(listed.first?.hasPrefix("web created=") == true)
            #expect(listed.first?.contains("clients=\(SignInHarness.clientID)") == true)
            #expect(listed.first?.contains(key.exposed) == false)

            _ = try await runAdminCommand(harness, clock) { try await $0.revokeAPIKey("web") }
            clock.advance(bySeconds: StoredAPIKeys.freshness)
            #expect(try await app.me(token).error == "invalid_api_key")
            #expect(try await harness.app.me(token).status == 200)

            let selection = try AdminService.AuditSelection.parse(["--limit", "10"])
            let events = try await runAdminCommand(harness, clock) { try await $0.audit(selection).text }
                .filter { $0.contains("api_key.") }
            #expect(events.count == 2)
            #expect(events.allSatisfy { $0.contains("by=operator:") && $0.contains("web") })
            #expect(!events.joined().contains(key.exposed))
        }
    }

    @Test("An API key for one client cannot redeem another client's receipt")
    func scope() async throws {
        let key = "key-of-another-client"
        try await SignInHarness.with(configure: { configuration in
            var scoped = APIKey.plain(Secret(key))
            scoped.clients = ["ccid-2"].compactMap(ClientID.init)
            configuration.apiKeys.append(scoped)
        }) { harness in
            var other = harness.app
            other.apiKey = key
            let token = try #require(try await harness.session())
            let receipt = try #require(
                try await harness.app.authorize(try harness.transaction(), token).json["receipt"]?.string)
            #expect(try await other.redeem(receipt).error == "invalid_token")
            #expect(try await harness.app.redeem(receipt).status == 200)
        }
    }

    @Test("An invalid name, client or origin is refused, and no key is created")
    func refused() async throws {
        let clock = ManualClock()
        try await SignInHarness.with { harness in
            let requests: [(name: String, clients: [String], origins: [String])] = [
                ("", [], []), ("a b", [], []), ("a\nb", [], []), (String(repeating: "a", count: 65), [], []),
                ("web", ["ccid-2"], []), ("web", [], ["https://app.example/path"]),
            ]
            for (name, clients, origins) in requests {
                await #expect(throws: AdministratorError.self) {
                    try await runAdminCommand(harness, clock) {
                        try await $0.createAPIKey(
                            name, for: clients, from: origins, known: [SignInHarness.clientID])
                    }
                }
            }
            let made = try await runAdminCommand(harness, clock) { try await $0.apiKeys().text }
            #expect(made.isEmpty)
        }
    }

    @Test("latchkey api-key creates, lists and revokes a key")
    func commands() async throws {
        try await AdminHarness.with { harness in
            let configuration = harness.environment["LATCHKEY_DATABASE_URL"]
            #expect(configuration != nil)
            let absent = try await harness.run(["api-key", "list"])
            #expect(absent.status == 1)
            #expect(absent.output.contains("no database"))
            var own = Configuration()
            own.database.url = DatabaseURL(path: harness.directory.file("latchkey.db"))
            own.zenkey.discoveryURL = EndpointURL(harness.simulator.discoveryURL ?? "", policy: .allowLoopbackHTTP)
            await (try LatchkeyService(configuration: own, features: .none)).shutdown(within: .seconds(5))

            let made = try await harness.run(["api-key", "create", "web", "--client", SignInHarness.clientID])
            #expect(made.status == 0)
            let key = try #require(made.output.split(separator: "\n").first { $0.utf8.count == 43 })
            #expect(try await harness.run(["api-key", "create", "web"]).status == 1)
            #expect(try await harness.run(["api-key", "create"]).status == 64)
            let listed = try await harness.run(["api-key", "list"])
            #expect(listed.output.contains("web created="))
            #expect(!listed.output.contains(key))
            #expect(try await harness.run(["api-key", "revoke", "web"]).status == 0)
            #expect(try await harness.run(["api-key", "revoke", "web"]).status == 1)
            #expect(try await harness.run(["api-key", "list"]).output.contains("revoked="))
        }
    }
}
