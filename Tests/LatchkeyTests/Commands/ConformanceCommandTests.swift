import Foundation
import TestSupport
import Testing

@Suite("latchkey-dev conformance") struct ConformanceCommandTests {
    /// A configuration whose database, provider, proxy and receiver exist on this machine.
    private func configuration(_ peer: RawHTTPPeer, database: String, more: String = "") -> String {
        """
        api_keys: ["sha256:\(String(repeating: "0f", count: 32))"]
        allow_loopback_http: true
        database: {url: "sqlite:///\(database)"}
        outbound: {proxy: "\(peer.url("/"))"}
        telemetry: {otlp_endpoint: "\(peer.url("/otlp"))"}
        zenkey:
          discovery_url: "\(peer.url("/discovery"))"
          trusted_issuers: ["127.0.0.1"]
          issuers: {"310010": "\(peer.url("/carrier"))"}
          clients: [{id: carriers-app, secret: hidden-value-1, redirect_uris: ["https://app.example/signed-in"]}]
        providers:
          acme:
            kind: oidc
            issuer: "\(peer.url("/acme"))"
            clients: [{id: acme-app, secret: hidden-value-2, redirect_uris: ["https://app.example/signed-in"]}]
        \(more)
        """
    }

    private struct Run {
        let status: Int32
        let output: String
        /// What the command left in its temporary folder.
        let remains: [String]
    }

    private func run(
        _ arguments: [String], with directory: TemporaryDirectory, _ text: String
    ) async throws -> Run {
        try directory.write(text, as: "latchkey.yaml")
        let scratch = directory.file("scratch")
        try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: true)
        let process = try LatchkeyProcess(
            ["conformance", "--config", directory.file("latchkey.yaml")] + arguments, of: "latchkey-dev",
            environment: ["TMPDIR": scratch], directory: directory.path)
        let ending = await process.ending()
        return Run(
            status: ending.status, output: ending.output,
            remains: try FileManager.default.contentsOfDirectory(atPath: scratch))
    }

    /// Runs the command, and expects that it touches nothing that the configuration names.
    private func isolated(_ arguments: [String], status: Int32, more: String = "") async throws -> String {
        let directory = try TemporaryDirectory(files: ["data/latchkey.db": "the operator's file"])
        let database = directory.file("data/latchkey.db")
        let peer = try RawHTTPPeer { _ in }
        defer { peer.stop() }
        let run = try await run(arguments, with: directory, configuration(peer, database: database, more: more))
        #expect(run.status == status, "\(run.output.suffix(2000))")
        #expect(peer.connectionCount == 0)
        #expect(try String(contentsOfFile: database, encoding: .utf8) == "the operator's file")
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.file("data")) == ["latchkey.db"])
        #expect(run.remains.isEmpty)
        #expect(!run.output.contains("hidden-value"))
        return run.output
    }

    @Test("Everything is refused that must be; the configured database, provider, proxy and receiver stay untouched")
    func json() async throws {
        let output = try await isolated(["--provider", "acme", "--format", "json"], status: 0)
        let line = try #require(output.split(separator: "\n").first { $0.hasPrefix("{") })
        let report = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        let cases = try #require(report["cases"] as? [[String: Any]])
        #expect(report["violation"] as? Int == 0)
        #expect(report["refused_requests"] as? Int == 0)
        #expect(cases.count > 100)
        let expired = try #require(cases.first { $0["id"] as? String == "expired-6-minutes" })
        #expect(expired["accepted"] as? Bool == false)
        #expect(expired["error"] as? String == "invalid_id_token")
        #expect(expired["source"] as? String == "RFC 7519 section 4.1.4")
        #expect(expired["verdict"] as? String == "ok")
    }

    @Test("With --strict the status is 1 if something is accepted that should be refused")
    func strict() async throws {
        let output = try await isolated(["--provider", "zenkey", "--strict"], status: 1)
        #expect(output.contains(" cases: 0 violations, "))
        #expect(output.contains("LOOSENED  code-without-nonce"))
        #expect(output.contains("accepted because: zenkey.clients[].nonce is client"))
    }

    @Test("A setting that lets pass what must be refused is named, and the status is 1, as the document shows")
    func loosened() async throws {
        let output = try await isolated(["--provider", "acme"], status: 1, more: "id_token: {clock_skew: 600}")
        let document = try Repository.text("docs/operations.md")
        let block = try #require(document.range(of: "```text\n  VIOLATION "))
        let end = try #require(document.range(of: "```", range: block.upperBound..<document.endIndex))
        let example = "  VIOLATION " + document[block.upperBound..<end.lowerBound]
        #expect(output.contains(example), "\(output.suffix(2000))")
    }

    @Test(
        "A provider that cannot be examined and an invalid configuration end before anything runs",
        arguments: [
            (["--provider", "acme", "--client", "nope"], "", 64, "has no client nope; it has acme-app"),
            (["--provider", "nobody"], "", 64, "latchkey-dev: no provider has the name nobody"),
            ([], "", 64, "--provider"),
            (["--provider", "acme"], "no_such_key: 7", 78, "no_such_key"),
        ] as [([String], String, Int32, String)])
    func refusals(arguments: [String], more: String, status: Int32, says: String) async throws {
        #expect(try await isolated(arguments, status: status, more: more).contains(says))
    }
}
