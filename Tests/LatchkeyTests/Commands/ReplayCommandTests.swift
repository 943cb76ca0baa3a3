import Foundation
import Primitives
import TestSupport
import Testing

@Suite("latchkey replay") struct ReplayCommandTests {
    private func run(_ arguments: [String]) async throws -> LatchkeyProcess.Ending {
        let directory = try TemporaryDirectory()
        let process = try LatchkeyProcess(
            ["replay", "--config", ExampleCapsules.folder + "/latchkey.yaml"] + arguments, environment: [:],
            directory: directory.path)
        return await process.ending()
    }

    private static let capsule = ExampleCapsules.folder + "/expiry.json"

    @Test("prints which check fails, what it expected and what it found, and ends with 1")
    func fails() async throws {
        let ending = try await run([Self.capsule])
        #expect(ending.status == 1)
        for text in [
            "then: invalid_id_token, check expiry, step validate: ", "now:  invalid_id_token, check expiry, step",
            "  check expiry\n    expected: The ID token has expired, or has no valid exp.\n    found:    exp is ",
            "taken from the capsule: the check signature: passed\n",
            "result: the check expiry fails, as before\n",
        ] { #expect(ending.output.contains(text), "\(ending.output)") }
    }

    @Test("prints what the capsule says of a failure that is not replayed, and ends with 69")
    func notReplayed() async throws {
        let capsule = ExampleCapsules.folder + "/invalid_grant.json"
        let ending = try await run([capsule])
        #expect(ending.status == 69, "\(ending.output)")
        for text in [
            "this failure cannot be replayed: no check of an ID token", "failure.provider_code: invalid_grant\n",
        ] { #expect(ending.output.contains(text), "\(ending.output)") }
        let json = try await run([capsule, "--format", "json"])
        #expect(json.status == 69 && json.output.contains(#"{"capsule":2,"#), "\(json.output)")
    }

    @Test("--with says whether it would pass with another setting, and ends with 0")
    func passes() async throws {
        let clock = ExampleCapsules.folder + "/clock.json"
        let ending = try await run([clock, "--with", "id_token.clock_skew=300", "--format", "json"])
        #expect(ending.status == 0, "\(ending.output)")
        let line = try #require(ending.output.split(separator: "\n").first { $0.hasPrefix("{") })
        let report = try #require(try JSONValue(parsing: Array(line.utf8)).object)
        #expect(report["passes"] == true && report["same"] == false)
        #expect(report["then"]?.object?["check"]?.string == "expiry")
        #expect(report["changed_settings"]?.array?.first?.object?["now"]?.string == "300")
    }

    @Test(
        "A wrong option, file or configuration ends before anything is replayed",
        arguments: [
            (["--with", "id_token.clock_skw=1"], 64, "did you mean id_token.clock_skew?"),
            (["--with", "id_token.clock_skew"], 64, "id_token.clock_skew has no value"),
            (["--with", "api_keys=x"], 64, "would show a secret"),
            (["--with", "id_token.clock_skew=1", "--with", "id_token.clock_skew=2"], 64, "more than once"),
            (["--with", "id_token.clock_skew=soon"], 78, "id_token.clock_skew"),
        ] as [([String], Int32, String)])
    func refusals(arguments: [String], status: Int32, says: String) async throws {
        let ending = try await run([Self.capsule] + arguments)
        #expect(ending.status == status, "\(ending.output)")
        #expect(ending.output.contains(says), "\(ending.output)")
    }

    @Test("A file that is no capsule ends with 66")
    func files() async throws {
        let text = String(decoding: try ExampleCapsules.bytes("expiry.json"), as: UTF8.self)
        let directory = try TemporaryDirectory(files: [
            "old.json": text.replacing(#"{"capsule":2"#, with: #"{"capsule":1"#),
            "no.json": "{",
        ])
        let rows: [(String, Int32, String)] = [
            ("missing.json", 66, "cannot be read; name a readable file"), ("no.json", 66, "it is not JSON"),
            ("old.json", 66, "it is of format 1"),
        ]
        for (name, status, says) in rows {
            let ending = try await run([directory.file(name)])
            #expect(ending.status == status, "\(name): \(ending.output)")
            #expect(ending.output.contains(says), "\(name): \(ending.output)")
        }
    }
}
