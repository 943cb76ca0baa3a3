import Crypto
import Foundation
import Primitives
import TestSupport
import Testing

/// The built program reloads its configuration at SIGHUP.
@Suite(.serialized) struct ReloadTests {
    @Test(
        "SIGHUP applies the log level and rate limits, logs keys that need a restart, and survives a bad configuration")
    func reload() async throws {
        try await AdminHarness.with { harness in
            func write(_ text: String) throws { _ = try harness.write(text, as: "latchkey.yaml") }
            try write("log: {level: info}\n")
            let process = try LatchkeyProcess(
                ["serve", "--config", harness.directory.file("latchkey.yaml")], environment: harness.environment,
                directory: harness.directory.path)
            let app = App(port: try await process.port(after: "listening"))
            func log(_ text: String) async throws { _ = try await process.wait { $0.contains(text) ? true : nil } }

            try write("log: {level: verbose}\nid_token: {clock_skew: 5s}\n")
            process.send(SIGHUP)
            try await log("reloaded log_level=verbose")
            try await log("keys=id_token.clock_skew")

            try write("log: {level: verbose}\nrate_limits: {per_api_key: 1/1h}\nid_token: {clock_skew: 5s}\n")
            process.send(SIGHUP)
            try await log("taken_over=rate_limits.per_api_key")
            let keyed = App(port: app.port, apiKey: AdminHarness.apiKey)
            #expect(try await keyed.send("GET", "/users/me").status == 401, "let in, and nobody is signed in")
            #expect(try await keyed.send("GET", "/users/me").status == 429)

            try write("log: {level: loud}\n")
            process.send(SIGHUP)
            try await log("not reloaded: log.level")
            #expect(try await app.send("GET", "/healthz").status == 200)

            try write("log: {level: off}\n")
            process.send(SIGHUP)
            try await log("reloaded log_level=off")
            process.send(SIGTERM)
            let ending = await process.ending()
            #expect(ending.status == 0)
            #expect(!ending.output.contains("stopping"))
            #expect(!ending.output.contains(AdminHarness.secret))
        }
    }

    @Test("SIGHUP publishes a client's second key, and not before the restart does the key that signs go")
    func publishedKeys() async throws {
        try await AdminHarness.with { harness in
            for name in ["one.pem", "two.pem"] {
                _ = try harness.write(P256.Signing.PrivateKey().pemRepresentation, as: name)
            }
            func write(_ keys: String) throws {
                _ = try harness.write(
                    "log: {level: info}\nproviders: {acme: {kind: oidc, issuer: 'https://acme.example', "
                        + "clients: [{id: a, redirect_uris: ['https://a.example/'], \(keys)}]}}\n", as: "latchkey.yaml")
            }
            func path(_ name: String) -> String { harness.directory.file(name) }
            try write("private_key_file: '\(path("one.pem"))', private_key_id: k-1")
            let process = try LatchkeyProcess(
                ["serve", "--config", path("latchkey.yaml")], environment: harness.environment,
                directory: harness.directory.path)
            let app = App(port: try await process.port(after: "listening"))
            /// The kids of clients' keys; the first is that of receipts.
            func published() async throws -> [String] {
                let body = try await app.send("GET", "/.well-known/jwks.json").response.body
                let keys = try JSONValue(parsing: body).object?["keys"]?.array ?? []
                return keys.dropFirst().compactMap { $0.object?["kid"]?.string }
            }
            func reloaded(_ keys: String, _ expected: [String]) async throws {
                try write(keys)
                process.send(SIGHUP)
                try await until { try await published() == expected }
            }
            #expect(try await published() == ["k-1"])
            let second = "other_private_key_file: '\(path("two.pem"))', other_private_key_id: k-2"
            try await reloaded(
                "private_key_file: '\(path("one.pem"))', private_key_id: k-1, \(second)", ["k-1", "k-2"])
            try await reloaded("private_key_file: '\(path("two.pem"))', private_key_id: k-2", ["k-2", "k-1"])
            process.send(SIGTERM)
            #expect(await process.ending().status == 0)
        }
    }
}
