import CarrierSimulator
import Foundation
import LatchkeyConfiguration
import LatchkeyDemo
import LatchkeyService
import Primitives
import SignIn
import TestSupport
import Testing

/// The change of the keys that stored tokens are encrypted with.
@Suite(.serialized) struct VaultCommandTests {
    private static let newKey = String(repeating: "2e", count: 32)
    private static let strangerKey = String(repeating: "3d", count: 32)

    private func rotate(
        _ stage: ResourceHarness, _ keys: [String], applies: Bool = true, step: Int = 200
    ) async throws -> (lines: [String], progress: [String]) {
        var configuration = stage.harness.configuration
        configuration.vaultKeys = keys.flatMap { EncryptionKey.of($0) }
        let admin = try AdminService(configuration)
        var progress: [String] = []
        let result: Result<[String], any Error>
        do {
            result = .success(
                try await admin.rotateVault(configuration, applies: applies, step: step) { progress.append($0) })
        } catch {
            result = .failure(error)
        }
        await admin.close()
        return (try result.get(), progress)
    }

    private func keyIDs(_ stage: ResourceHarness) throws -> [String] {
        try stage.database.texts("SELECT key_id FROM provider_tokens ORDER BY serial")
    }

    private func contents(_ stage: ResourceHarness) throws -> [Data] {
        try stage.database.contents("SELECT content FROM provider_tokens ORDER BY serial")
    }

    @Test("A running server keeps using rows that are encrypted again under the first key, without the old key")
    func rotates() async throws {
        try await ResourceHarness.with(configure: {
            $0.vaultKeys = EncryptionKey.of(ResourceHarness.key, Self.newKey)
        }) { stage in
            var tokens: [String] = []
            for user in ["jane", "ravi"] { tokens.append(try await stage.signIn(user: user)) }
            let before = try keyIDs(stage)
            #expect(Set(before).count == 1)
            let dry = try await rotate(stage, [Self.newKey, ResourceHarness.key], applies: false)
            #expect(dry.lines.last?.contains("--apply") == true)
            #expect(try keyIDs(stage) == before)
            let done = try await rotate(stage, [Self.newKey, ResourceHarness.key], step: 1)
            #expect(done.lines.last?.hasPrefix("2 rows") == true, "\(done.lines)")
            #expect(done.progress.suffix(2) == ["encrypted again: 1 of 2", "encrypted again: 2 of 2"])
            let after = try keyIDs(stage)
            #expect(Set(after).count == 1)
            #expect(after != before)
            for token in tokens {
                let status = try await stage.fetch(token).status
                #expect(status == 200)
            }
            var configuration = stage.harness.configuration
            configuration.vaultKeys = EncryptionKey.of(Self.newKey)
            try await SignInHarness.withServer(configuration) { app in
                for token in tokens {
                    let status = try await stage.fetch(token, at: app).status
                    #expect(status == 200)
                }
            }
            // Again there is nothing to do, and nothing is done.
            let contents = try contents(stage)
            _ = try await rotate(stage, [Self.newKey, ResourceHarness.key])
            #expect(try self.contents(stage) == contents)
            let events = try stage.database.texts("SELECT details FROM audit_events WHERE kind = 'vault.rotated'")
            #expect(events.count == 2)
            #expect(events.first?.contains(#""rows":2,"unreadable":0"#) == true)
        }
    }

    @Test("Rows that none of the keys opens are left as they are, and told of; the others are done")
    func unreadable() async throws {
        try await ResourceHarness.with { stage in
            for user in ["jane", "ravi"] { _ = try await stage.signIn(user: user) }
            try stage.database.change("UPDATE provider_tokens SET key_id = '0011223344556677' WHERE serial = 1")
            let before = try contents(stage)
            do {
                _ = try await rotate(stage, [Self.newKey, ResourceHarness.key])
                Issue.record("it did not say so")
            } catch let failure as OperatorFailure {
                #expect(failure.description.hasPrefix("1 rows were encrypted again, and 1 were not"))
            }
            #expect(try contents(stage)[0] == before[0])
            #expect(try contents(stage)[1] != before[1])
            #expect(try keyIDs(stage)[0] == "0011223344556677")
        }
    }

    @Test("A row that a server has claimed is put under the other key, and what the server gets is stored all the same")
    func claimed() async throws {
        let gate = Gate()
        try await ResourceHarness.with(
            pause: { _ in await gate.pass() },
            configure: { $0.vaultKeys = EncryptionKey.of(ResourceHarness.key, Self.newKey) }
        ) { stage in
            let token = try await stage.signIn()
            stage.simulator.expireAccessTokens(at: "meetings")
            stage.simulator.setFaults([.tokenSlow], for: "meetings")
            async let answer = stage.fetch(token)
            await gate.untilWaiting()
            _ = try await rotate(stage, [Self.newKey, ResourceHarness.key])
            gate.open()
            #expect(try await answer.status == 200)
            stage.simulator.expireAccessTokens(at: "meetings")
            #expect(try await stage.fetch(token).status == 200, "the next refresh token was kept")
        }
    }

    @Test("The command counts, and does it with --apply; doctor says what is under which key")
    func commands() async throws {
        try await AdminHarness.with { stage in
            let environment = ["LATCHKEY_VAULT_ENCRYPTION_KEYS": "\(Self.newKey),\(ResourceHarness.key)"]
            let none = try await stage.run(["vault", "rotate"], environment: environment)
            #expect(none.status == 1)
            #expect(none.output.contains("there is no database"))
        }
        try await ResourceHarness.with { stage in
            for user in ["jane", "ravi"] { _ = try await stage.signIn(user: user) }
            try stage.database.change("UPDATE provider_tokens SET key_id = '0011223344556677' WHERE serial = 1")
            func run(_ arguments: [String], _ keys: String) async throws -> LatchkeyProcess.Ending {
                let configuration = stage.harness.configuration
                let environment = [
                    "LATCHKEY_DATABASE_URL": "\(configuration.database.url)",
                    "LATCHKEY_VAULT_ENCRYPTION_KEYS": keys, "LATCHKEY_API_KEYS": AdminHarness.apiKey,
                    "LATCHKEY_ZENKEY_CLIENTS": "a:b", "LATCHKEY_ALLOW_LOOPBACK_HTTP": "true",
                    "LATCHKEY_ZENKEY_DISCOVERY_URL": stage.simulator.discoveryURL ?? "",
                ]
                return await (try LatchkeyProcess(arguments, environment: environment)).ending()
            }
            let sick = try await run(["doctor"], "\(Self.newKey),\(ResourceHarness.key)")
            #expect(sick.status == 1)
            #expect(
                sick.output.contains(
                    "1 rows of tokens are encrypted with keys that vault.encryption_keys does not have"))
            #expect(sick.output.contains("1 rows of tokens are encrypted with an older key"))
            try stage.database.change("DELETE FROM provider_tokens WHERE serial = 1")
            let dry = try await run(["vault", "rotate"], "\(Self.newKey),\(ResourceHarness.key)")
            #expect(dry.status == 0, "\(dry.output)")
            #expect(dry.output.contains("with older keys: 1"))
            let done = try await run(["vault", "rotate", "--apply"], "\(Self.newKey),\(ResourceHarness.key)")
            #expect(done.status == 0, "\(done.output)")
            #expect(done.output.contains("1 rows were encrypted again"))
            let well = try await run(["doctor"], Self.newKey)
            #expect(well.output.contains("1 rows of tokens are encrypted with the current key"))
            #expect(!well.output.contains(Self.newKey))
        }
    }

    @Test("The demonstration makes its own key for a provider that keeps tokens; a server does not start without one")
    func demo() async throws {
        let directory = try TemporaryDirectory()
        try await ResourceHarness.with { stage in
            var configuration = stage.harness.configuration
            configuration.vaultKeys = []
            #expect(throws: LatchkeyStartError.self) { try LatchkeyService(configuration: configuration) }
            configuration.database.url = DatabaseURL(path: directory.file("demo.db"))
            let demo = try await Demo.start(configuration, simulatorPort: 0)
            await demo.shutdown(within: .seconds(5))
        }
    }
}
