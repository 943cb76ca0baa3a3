import Examination
import Foundation
import HTTPServer
import LatchkeyConfiguration
import LatchkeyFeatures
import Logging
import OpenIDConnect
import Primitives
import Synchronization
import TestSupport
import Testing

@testable import LatchkeyService

/// HTTPS of the built program.
@Suite("Certificates", .serialized)
struct CertificateTests {
    private func environment(_ harness: AdminHarness, _ chain: String, _ key: String) throws -> [String: String] {
        try write(harness, chain, key)
        _ = try harness.write(TLSTexts.authority, as: "authority.pem")
        return harness.environment.merging([
            "LATCHKEY_TLS_CERTIFICATE_FILE": harness.directory.file("chain.pem"),
            "LATCHKEY_TLS_PRIVATE_KEY_FILE": harness.directory.file("key.pem"), "LATCHKEY_TLS_PORT": "0",
        ]) { $1 }
    }

    private func write(_ harness: AdminHarness, _ chain: String, _ key: String) throws {
        _ = try harness.write(chain, as: "chain.pem")
        _ = try harness.write(key, as: "key.pem")
    }

    /// The name in the server's certificate, and the result of `/healthz`.
    private func ask(_ harness: AdminHarness, _ port: Int) async throws -> String {
        let ending = try await Program.run(
            "curl",
            [
                "-sSv", "--max-time", "120", "--cacert", harness.directory.file("authority.pem"),
                "https://localhost:\(port)/healthz",
            ])
        let name = ending.output.firstMatch(of: /subject: CN=([a-z.]+)/)?.1 ?? "?"
        return name + (ending.output.contains(#"{"status":"ok"}"#) ? " ok" : " failed")
    }

    @Test("HTTPS is served beside HTTP; SIGHUP applies a new certificate, and refuses one whose key does not match")
    func reload() async throws {
        try await AdminHarness.with { harness in
            let process = try LatchkeyProcess(
                ["serve"], environment: environment(harness, TLSTexts.chain, TLSTexts.key),
                directory: harness.directory.path)
            let plain = App(port: try await process.port(after: "listening"))
            let port = try await process.wait { said in
                said.firstMatch(of: /url=https:\/\/127.0.0.1:([0-9]+)\n/).flatMap { Int($0.1) }
            }
            func log(_ text: String) async throws { _ = try await process.wait { $0.contains(text) ? true : nil } }
            #expect(try await plain.send("GET", "/healthz").status == 200)
            #expect(try await ask(harness, port) == "first.example ok")

            try write(harness, TLSTexts.otherChain, TLSTexts.key)
            process.send(SIGHUP)
            try await log("not reloaded: tls.private_key_file: the file has a private key that does not belong")
            #expect(try await ask(harness, port) == "first.example ok")

            try write(harness, TLSTexts.otherChain, TLSTexts.otherKey)
            process.send(SIGHUP)
            try await log("serving with the new certificate valid_until=2120-01-01T00:00:00Z")
            #expect(try await ask(harness, port) == "second.example ok")

            process.send(SIGTERM)
            let ending = await process.ending()
            #expect(ending.status == 0)
            for text in [TLSTexts.key, TLSTexts.otherKey] {
                #expect(!ending.output.contains(text.split(separator: "\n")[1]))
            }
        }
    }

    @Test("Changed files are applied once they stop changing; unusable files are refused and reported once")
    func watch() throws {
        let directory = try TemporaryDirectory(files: ["chain": TLSTexts.chain, "key": TLSTexts.key])
        var settings = Configuration.TLS()
        settings.certificateFile = directory.file("chain")
        settings.privateKeyFile = directory.file("key")
        /// Puts a new file in the former one's place, because a file of the same size that is written twice within one
        /// tick of the kernel's clock has the same times.
        func write(_ text: String, as name: String) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: directory.file(name)), options: .atomic)
        }
        let log = RememberedLog()
        let renewal = try #require(
            try CertificateRenewal(settings, clock: .system, logger: log.logger))
        func names() -> [String] { log.lines }

        renewal.look()
        renewal.look()
        #expect(names() == [])
        // The certificate changes before its key: the mismatched pair is never seen unchanged twice.
        try write(TLSTexts.otherChain, as: "chain")
        renewal.look()
        try write(TLSTexts.otherKey, as: "key")
        renewal.look()
        #expect(names() == [])
        renewal.look()
        #expect(names() == ["notice serving with the new certificate"])
        renewal.look()
        #expect(names().count == 1)

        for (chain, key, words) in [
            (TLSTexts.chain, TLSTexts.otherKey, "does not belong to the first certificate"),
            (TLSTexts.expired, TLSTexts.key, "expired on 2021-01-01"), ("", TLSTexts.key, "no certificate in PEM"),
        ] {
            try write(chain, as: "chain")
            try write(key, as: "key")
            let before = names().count
            for _ in 0..<4 { renewal.look() }
            #expect(names().count == before + 1)
            #expect(names().last?.contains("is refused, and the current one stays in use") == true)
            #expect(names().last?.contains(words) == true, "\(names().last ?? "")")
        }
        try FileManager.default.removeItem(atPath: directory.file("key"))
        for _ in 0..<4 { renewal.look() }
        #expect(names().last?.contains("tls.private_key_file: the file does not exist") == true)
        #expect(UTCTime.text(renewal.tls.validity.lowerBound) == "2020-01-01T00:00:00Z")
    }

    @Test("check-config and serve refuse a key of another certificate; check-config warns of an expired certificate")
    func checkConfig() async throws {
        try await AdminHarness.with { harness in
            let environment = try environment(harness, TLSTexts.chain, TLSTexts.otherKey)
            for command in ["check-config", "serve"] {
                let ending = try await harness.run([command], environment: environment)
                #expect(ending.status == 78)
                #expect(ending.output.contains("tls.private_key_file: the file has a private key that does not belong"))
            }
            try write(harness, TLSTexts.expired, TLSTexts.key)
            let ending = try await harness.run(["check-config"], environment: environment)
            #expect(ending.status == 0)
            #expect(ending.output.contains("warning: tls.certificate_file: the certificate expired on 2021-01-01"))
        }
    }

    @Test(
        "The doctor reports how long the certificate is valid",
        arguments: [
            (TLSTexts.chain, "2119-06-01", .ok, "is valid until 2120-01-01T00:00:00Z, 214 more days"),
            (TLSTexts.chain, "2119-12-25", .warning, "7 more days"),
            (TLSTexts.chain, "2119-12-30", .problem, "2 more days"),
            (TLSTexts.chain, "2120-01-02", .problem, "expired on 2120-01-01"),
            (TLSTexts.future, "2109-01-01", .problem, "is not valid before 2110-01-01"),
        ] as [(String, String, DoctorReport.Finding.Severity, String)])
    func doctor(
        _ chain: String, _ day: String, _ severity: DoctorReport.Finding.Severity, _ words: String
    ) async throws {
        let directory = try TemporaryDirectory(files: ["chain": chain, "key": TLSTexts.key])
        var configuration = Configuration()
        configuration.tls.certificateFile = directory.file("chain")
        configuration.tls.privateKeyFile = directory.file("key")
        configuration.database.url = DatabaseURL(path: directory.file("latchkey.db"))
        let now = try #require(UTCTime.moment(day))
        let http = ScriptedHTTPClient { _ throws(OutboundError) in OutboundResponse.json("{}") }
        let report = await Doctor(configuration, features: .none, http: http, clock: WallClock { now }).examine()
        let findings = report.findings.filter { $0.area == .certificates && $0.subject == directory.file("chain") }
        #expect(findings.map(\.severity) == [severity])
        #expect(findings.first?.message.contains(words) == true, "\(report.text)")
    }
}

/// Records log messages with their levels.
private final class RememberedLog: Sendable {
    private let kept = Mutex<[String]>([])

    var lines: [String] { kept.withLock { $0 } }

    var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

    private struct Handler: LogHandler {
        let log: RememberedLog
        var metadata = Logger.Metadata()
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { log.kept.withLock { $0.append("\(event.level) \(event.message)") } }
    }
}
