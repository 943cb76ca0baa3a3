import Administration
import CarrierSimulator
import Foundation
import LatchkeyConfiguration
import LatchkeyDemo
import LatchkeyFeatures
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// The rotation of the keys that encrypt stored tokens.
@Suite(.serialized) struct VaultCommandTests {
    private static let newKey = String(repeating: "2e", count: 32)
    private static let strangerKey = String(repeating: "3d", count: 32)

    private func rotate(
        _ harness: ResourceHarness, _ keys: [String], applies: Bool = true, step: Int = 200,
        deletesUnreadableClaims: Bool = false
    ) async throws -> (lines: [String], progress: [String]) {
        var configuration = harness.base.configuration
        configuration.encryptionKeys = keys.flatMap { EncryptionKey.of($0) }
        let admin = try AdminService(configuration, features: .none)
        var progress: [String] = []
        let result: Result<CommandReport, any Error>
        do {
            result = .success(
                try await admin.rotateVault(
                    configuration, applies: applies, deletesUnreadableClaims: deletesUnreadableClaims, step: step
                ) { progress.append($0) })
        } catch {
            result = .failure(error)
        }
        await admin.close()
        return (try result.get().text, progress)
    }

    private func keyIDs(_ harness: ResourceHarness) throws -> [String] {
        try harness.database.texts("SELECT key_id FROM provider_tokens ORDER BY serial")
    }

    private func contents(_ harness: ResourceHarness) throws -> [Data] {
        try harness.database.contents("SELECT content FROM provider_tokens ORDER BY serial")
    }

    @Test("A running server keeps using rows that are encrypted again under the first key, without the old key")
    func rotates() async throws {
        try await ResourceHarness.with(configure: {
            $0.encryptionKeys = EncryptionKey.of(ResourceHarness.key, Self.newKey)
        }) { harness in
            var tokens: [String] = []
            for user in ["jane", "ravi"] { tokens.append(try await harness.signIn(user: user)) }
            let before = try keyIDs(harness)
            #expect(Set(before).count == 1)
            let dry = try await rotate(harness, [Self.newKey, ResourceHarness.key], applies: false)
            #expect(dry.lines.last?.contains("--apply") == true)
            #expect(try keyIDs(harness) == before)
            let done = try await rotate(harness, [Self.newKey, ResourceHarness.key], step: 1)
            #expect(done.lines.last?.hasPrefix("2 rows") == true, "\(done.lines)")
            #expect(done.progress.suffix(2) == ["encrypted again: 1 of 2", "encrypted again: 2 of 2"])
            let after = try keyIDs(harness)
            #expect(Set(after).count == 1)
            #expect(after != before)
            for token in tokens {
                let status = try await harness.fetch(token).status
                #expect(status == 200)
            }
            var configuration = harness.base.configuration
            configuration.encryptionKeys = EncryptionKey.of(Self.newKey)
            try await SignInHarness.withServer(configuration) { app in
                for token in tokens {
                    let status = try await harness.fetch(token, at: app).status
                    #expect(status == 200)
                }
            }
            // A second rotation changes nothing.
            let contents = try contents(harness)
            _ = try await rotate(harness, [Self.newKey, ResourceHarness.key])
            #expect(try self.contents(harness) == contents)
            let events = try harness.database.texts("SELECT details FROM audit_events WHERE kind = 'vault.rotated'")
            #expect(events.count == 2)
            #expect(events.first?.contains(#""rows":2,"unreadable":0"#) == true)
        }
    }

    @Test("Claims of users are encrypted again with the tokens")
    func claims() async throws {
        try await ResourceHarness.with { harness in
            for user in ["jane", "ravi"] { _ = try await harness.signIn(user: user) }
            var birthdate = ConsentedClaims()
            birthdate[.birthdate] = .text("1984-05-17")
            let claims = ClientClaims(birthdate, for: "client-1", from: "https://a.example")
            let former = ClaimsVault(keys: EncryptionKey.of(ResourceHarness.key))
            func publicID(_ user: Int) throws -> String {
                try #require(try harness.database.texts("SELECT public_id FROM users WHERE id = \(user)").first)
            }
            // The second user's claims are the first one's, which no key decrypts for the second.
            let stored = try #require(former.stored(claims, of: try publicID(1)))
            try harness.database.change("UPDATE users SET provider_claims = '\(stored)'")
            do {
                _ = try await rotate(harness, [Self.newKey, ResourceHarness.key], step: 1)
                Issue.record("it did not say so")
            } catch let failure as AdministratorError {
                #expect(failure.description.hasPrefix("3 rows were encrypted again, and 1 were not"))
            }
            let after = try harness.database.texts("SELECT provider_claims FROM users ORDER BY id")
            #expect(after[0] != stored && after[1] == stored)
            let present = ClaimsVault(keys: EncryptionKey.of(Self.newKey))
            let resealed = try #require(present.resealed(after[0], of: try publicID(1)))
            #expect(resealed != after[0], "the new key decrypts it")
            _ = try await rotate(harness, [Self.newKey, ResourceHarness.key], deletesUnreadableClaims: true)
            #expect(
                try harness.database.texts("SELECT coalesce(provider_claims, '-') FROM users ORDER BY id") == [
                    after[0], "-",
                ])
        }
    }

    @Test("Claims that were stored without a key are encrypted, and counted before")
    func plainClaims() async throws {
        try await ResourceHarness.with { harness in
            _ = try await harness.signIn(user: "jane")
            let plain = #"{"clients":[{"client_id":"c","issuer":"https://a.example","claims":{"is_adult":true}}]}"#
            try harness.database.change("UPDATE users SET provider_claims = '\(plain)'")
            _ = try await rotate(harness, [ResourceHarness.key])
            let after = try #require(try harness.database.texts("SELECT provider_claims FROM users").first)
            #expect(!after.contains("is_adult"))
            let publicID = try #require(try harness.database.texts("SELECT public_id FROM users").first)
            #expect(ClaimsVault(keys: EncryptionKey.of(ResourceHarness.key)).resealed(after, of: publicID) != nil)
        }
    }

    @Test("Rows that no key decrypts are left unchanged and reported; the others are encrypted again")
    func unreadable() async throws {
        try await ResourceHarness.with { harness in
            for user in ["jane", "ravi"] { _ = try await harness.signIn(user: user) }
            try harness.database.change("UPDATE provider_tokens SET key_id = '0011223344556677' WHERE serial = 1")
            let before = try contents(harness)
            do {
                _ = try await rotate(harness, [Self.newKey, ResourceHarness.key])
                Issue.record("it did not say so")
            } catch let failure as AdministratorError {
                #expect(failure.description.hasPrefix("1 rows were encrypted again, and 1 were not"))
            }
            #expect(try contents(harness)[0] == before[0])
            #expect(try contents(harness)[1] != before[1])
            #expect(try keyIDs(harness)[0] == "0011223344556677")
        }
    }

    @Test("A row that a server has claimed is encrypted again, and the server's refreshed tokens are still stored")
    func claimed() async throws {
        let gate = Gate()
        try await ResourceHarness.with(
            pause: { _ in await gate.pass() },
            configure: { $0.encryptionKeys = EncryptionKey.of(ResourceHarness.key, Self.newKey) }
        ) { harness in
            let token = try await harness.signIn()
            harness.simulator.expireAccessTokens(at: "meetings")
            harness.simulator.setFaults([.tokenSlow], for: "meetings")
            async let answer = harness.fetch(token)
            defer { gate.open() }
            await gate.untilWaiting()
            _ = try await rotate(harness, [Self.newKey, ResourceHarness.key])
            gate.open()
            #expect(try await answer.status == 200)
            harness.simulator.expireAccessTokens(at: "meetings")
            #expect(try await harness.fetch(token).status == 200, "the next refresh token was kept")
        }
    }

    @Test("vault rotate counts rows, and --apply encrypts them again; doctor reports which keys the rows use")
    func commands() async throws {
        try await AdminHarness.with { harness in
            let environment = ["LATCHKEY_ENCRYPTION_KEYS": "\(Self.newKey),\(ResourceHarness.key)"]
            let none = try await harness.run(["vault", "rotate"], environment: environment)
            #expect(none.status == 1)
            #expect(none.output.contains("there is no database"))
        }
        try await ResourceHarness.with { harness in
            for user in ["jane", "ravi"] { _ = try await harness.signIn(user: user) }
            try harness.database.change("UPDATE provider_tokens SET key_id = '0011223344556677' WHERE serial = 1")
            func run(_ arguments: [String], _ keys: String) async throws -> LatchkeyProcess.Ending {
                let configuration = harness.base.configuration
                let environment = [
                    "LATCHKEY_DATABASE_URL": "\(configuration.database.url)",
                    "LATCHKEY_ENCRYPTION_KEYS": keys, "LATCHKEY_API_KEYS": AdminHarness.apiKey,
                    "LATCHKEY_ZENKEY_CLIENTS": "a:b", "LATCHKEY_ALLOW_LOOPBACK_HTTP": "true",
                    "LATCHKEY_ZENKEY_DISCOVERY_URL": harness.simulator.discoveryURL ?? "",
                ]
                return await (try LatchkeyProcess(arguments, environment: environment)).ending()
            }
            let sick = try await run(["doctor"], "\(Self.newKey),\(ResourceHarness.key)")
            #expect(sick.status == 1)
            #expect(
                sick.output.contains(
                    "1 rows of tokens are encrypted with keys that encryption_keys does not have"))
            #expect(sick.output.contains("1 rows of tokens are encrypted with an older key, or not at all"))
            try harness.database.change("DELETE FROM provider_tokens WHERE serial = 1")
            let dry = try await run(["vault", "rotate"], "\(Self.newKey),\(ResourceHarness.key)")
            #expect(dry.status == 0, "\(dry.output)")
            #expect(dry.output.contains("with older keys or none: 1"))
            let done = try await run(["vault", "rotate", "--apply"], "\(Self.newKey),\(ResourceHarness.key)")
            #expect(done.status == 0, "\(done.output)")
            #expect(done.output.contains("1 rows were encrypted again"))
            let well = try await run(["doctor"], Self.newKey)
            #expect(well.output.contains("1 rows of tokens are encrypted with the current key"))
            #expect(!well.output.contains(Self.newKey))
        }
    }

    @Test("The demonstration makes its own encryption key for stored tokens; a server does not start without one")
    func demo() async throws {
        let directory = try TemporaryDirectory()
        try await ResourceHarness.with { harness in
            var configuration = harness.base.configuration
            configuration.encryptionKeys = []
            #expect(throws: LatchkeyStartError.self) {
                try LatchkeyService(configuration: configuration, features: .none)
            }
            configuration.database.url = DatabaseURL(path: directory.file("demo.db"))
            let demo = try await Demo.start(configuration, simulatorPort: 0)
            await demo.shutdown(within: .seconds(5))
        }
    }
}
