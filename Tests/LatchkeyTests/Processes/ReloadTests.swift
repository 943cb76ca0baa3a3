import Foundation
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

            try write("log: {level: verbose}\nrate_limit_rules: {per_api_key: 1/1h}\nid_token: {clock_skew: 5s}\n")
            process.send(SIGHUP)
            try await log("taken_over=rate_limit_rules.per_api_key")
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
}
