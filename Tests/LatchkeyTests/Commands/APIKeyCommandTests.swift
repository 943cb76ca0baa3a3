import CarrierSimulator
import LatchkeyConfiguration
import LatchkeyService
import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// API keys that an operator makes and revokes while a server runs.
@Suite(.serialized) struct APIKeyCommandTests {
    private func runAdminCommand<Value>(
        _ stage: SignInHarness, _ clock: ManualClock, _ command: (AdminService) async throws -> Value
    ) async throws -> Value {
        let admin = try AdminService(stage.configuration, clock: clock.wallClock)
        let result: Result<Value, any Error>
        do { result = .success(try await command(admin)) } catch { result = .failure(error) }
        await admin.close()
        return try result.get()
    }

    private func request(_ name: String, clients: [String] = []) -> AdminService.APIKeyRequest {
        var request = AdminService.APIKeyRequest(name: name)
        request.clients = clients
        return request
    }

    @Test("A running server takes a new key and refuses a revoked one, within the delay that is told")
    func delay() async throws {
        let clock = ManualClock()
        try await SignInHarness.with(clock: clock.wallClock) { stage in
            var app = stage.app
            app.apiKey = "guessed"
            #expect(try await app.me("x").error == "invalid_api_key")
            let key = try await runAdminCommand(stage, clock) {
                try await $0.createAPIKey(
                    request("web", clients: [SignInHarness.clientID]), clients: [SignInHarness.clientID])
            }
            #expect(key.exposed.utf8.count == 43)
            app.apiKey = key.exposed
            clock.advance(bySeconds: AdminService.apiKeyDelay)
            let token = try #require(try await app.signIn(try stage.authorizedResponse()).token)
            #expect(try await app.me(token).status == 200)

            let listed = try await runAdminCommand(stage, clock) { try await $0.apiKeys() }
            #expect(listed.count == 1)
            #expect(listed.first?.hasPrefix("web created=") == true)
            #expect(listed.first?.contains("clients=\(SignInHarness.clientID)") == true)
            #expect(listed.first?.contains(key.exposed) == false)

            _ = try await runAdminCommand(stage, clock) { try await $0.revokeAPIKey("web") }
            clock.advance(bySeconds: AdminService.apiKeyDelay)
            #expect(try await app.me(token).error == "invalid_api_key")
            #expect(try await stage.app.me(token).status == 200)

            var selection = AdminService.AuditSelection()
            selection.limit = 10
            let events = try await runAdminCommand(stage, clock) { [selection] in
                try await $0.audit(selection, as: .text)
            }
            .filter { $0.contains("api_key.") }
            #expect(events.count == 2)
            #expect(events.allSatisfy { $0.contains("by=operator:") && $0.contains("web") })
            #expect(!events.joined().contains(key.exposed))
        }
    }

    @Test("A key for one client takes no receipt and no handed-over session of another's")
    func scope() async throws {
        let key = "key-of-another-client"
        try await SignInHarness.with(configure: { configuration in
            var scoped = APIKey.plain(Secret(key))
            scoped.clients = ["ccid-2"].compactMap(ClientID.init)
            configuration.apiKeys.append(scoped)
        }) { stage in
            var other = stage.app
            other.apiKey = key
            let token = try #require(try await stage.session())
            let receipt = try #require(
                try await stage.app.authorize(try stage.transaction(), token).json["receipt"]?.string)
            #expect(try await other.redeem(receipt).error == "invalid_token")
            #expect(try await stage.app.redeem(receipt).status == 200)
        }
    }

    @Test("What is no key's name, client or origin is refused, and nothing is made")
    func refused() async throws {
        let clock = ManualClock()
        try await SignInHarness.with { stage in
            var badOrigin = request("web")
            badOrigin.origins = ["https://app.example/path"]
            let requests = [
                request(""), request("a b"), request("a\nb"), request(String(repeating: "a", count: 65)),
                request("web", clients: ["ccid-2"]), badOrigin,
            ]
            for request in requests {
                await #expect(throws: OperatorFailure.self) {
                    try await runAdminCommand(stage, clock) {
                        try await $0.createAPIKey(request, clients: [SignInHarness.clientID])
                    }
                }
            }
            let made = try await runAdminCommand(stage, clock) { try await $0.apiKeys() }
            #expect(made.isEmpty)
        }
    }

    @Test("The command makes a key, lists and revokes it")
    func commands() async throws {
        try await AdminHarness.with { stage in
            let configuration = stage.environment["LATCHKEY_DATABASE_URL"]
            #expect(configuration != nil)
            let absent = try await stage.run(["api-key", "list"])
            #expect(absent.status == 1)
            #expect(absent.output.contains("no database"))
            var own = Configuration()
            own.database.url = DatabaseURL(path: stage.directory.file("latchkey.db"))
            own.zenkey.discoveryURL = EndpointURL(stage.simulator.discoveryURL ?? "", policy: .allowLoopbackHTTP)
            await (try LatchkeyService(configuration: own)).shutdown(within: .seconds(5))

            let made = try await stage.run(["api-key", "create", "web", "--client", SignInHarness.clientID])
            #expect(made.status == 0)
            let key = try #require(made.output.split(separator: "\n").first { $0.utf8.count == 43 })
            #expect(try await stage.run(["api-key", "create", "web"]).status == 1)
            #expect(try await stage.run(["api-key", "create"]).status == 64)
            let listed = try await stage.run(["api-key", "list"])
            #expect(listed.output.contains("web created="))
            #expect(!listed.output.contains(key))
            #expect(try await stage.run(["api-key", "revoke", "web"]).status == 0)
            #expect(try await stage.run(["api-key", "revoke", "web"]).status == 1)
            #expect(try await stage.run(["api-key", "list"]).output.contains("revoked="))
        }
    }
}
