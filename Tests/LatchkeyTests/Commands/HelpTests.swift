import Foundation
import Primitives
import TestSupport
import Testing

/// The help of the commands of both programs.
@Suite(.serialized) struct HelpTests {
    private static let programs = ["latchkey", "latchkey-dev"]

    /// The commands that `--help` of a program lists.
    private func commands(of program: String) async throws -> [String] {
        let overview = await (try LatchkeyProcess(["--help"], of: program)).ending()
        #expect(overview.status == 0)
        let list = try #require(overview.output.components(separatedBy: "SUBCOMMANDS:\n").last)
        return list.split(separator: "\n").compactMap { line in
            guard line.hasPrefix("  "), !line.hasPrefix("  See "), let first = line.dropFirst(2).first, first != " "
            else { return nil }
            return line.split(separator: " ").first.map(String.init)
        }
    }

    @Test("What developers use is in their program, and not in the server's")
    func apart() async throws {
        let server = Set(try await commands(of: "latchkey"))
        #expect(server.isSuperset(of: ["serve", "doctor", "explain-token", "check-config", "health"]))
        let developers = Set(try await commands(of: "latchkey-dev"))
        #expect(developers == ["demo", "carrier", "provider", "conformance"])
        #expect(server.isDisjoint(with: developers))
    }

    @Test("The help of every command has its exit status and the meaning of every option", arguments: programs)
    func complete(program: String) async throws {
        for command in try await commands(of: program) {
            let help = await (try LatchkeyProcess(["help", command], of: program)).ending()
            #expect(help.status == 0)
            let words = help.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(words.contains("Exit status: 0"), "\(command)")
            // An option without a meaning is alone on its line, and no indented line follows it.
            let lines = help.output.components(separatedBy: "\n")
            for (line, next) in zip(lines, lines.dropFirst()) where line.hasPrefix("  -") {
                let hasMeaning = line.dropFirst(2).contains("  ") || next.hasPrefix("          ")
                #expect(hasMeaning, "\(command): \(line)")
            }
        }
    }

    @Test("docs/operations.md names every command", arguments: programs)
    func documented(program: String) async throws {
        let text = try Repository.text("docs/operations.md")
        let section = try #require(
            text.components(separatedBy: "## Commands\n").last?.components(separatedBy: "\n## ").first)
        for command in try await commands(of: program) {
            #expect(section.contains("`\(program) \(command)"), "\(command)")
        }
    }

    @Test(
        "Wrong options exit with status 64", arguments: ["serve", "doctor", "health", "audit"])
    func usage(command: String) async throws {
        #expect(await (try LatchkeyProcess([command, "--no-such-option"])).ending().status == 64)
    }

    @Test("check-config prints its result, the keys and the schema as JSON")
    func checkConfigJSON() async throws {
        let directory = try TemporaryDirectory()
        func run(_ arguments: [String]) async throws -> (status: Int32, json: JSONObject) {
            let ending = await (try LatchkeyProcess(["check-config"] + arguments, directory: directory.path)).ending()
            return (ending.status, try #require(try JSONValue(parsing: Array(ending.output.utf8)).object))
        }
        let invalid = try await run(["--format", "json", "--http-port=70000"])
        #expect(invalid.status == 78 && invalid.json["valid"] == false)
        let keys = (invalid.json["problems"]?.array ?? []).compactMap { $0.object?["key"]?.string }
        #expect(keys.contains("http.port") && keys.contains("api_keys"))
        #expect(invalid.json["keys"] == nil && invalid.json["warnings"]?.array != nil)
        let all = try await run(["--format", "json", "--keys"])
        let port = all.json["keys"]?.array?.compactMap(\.object).first { $0["key"] == "http.port" }
        #expect(port?["variable"] == "LATCHKEY_HTTP_PORT" && port?["option"] == "--http-port")
        let schema = try await run(["--schema"])
        #expect(schema.status == 0 && schema.json["properties"]?.object?["http"] != nil)
    }

    @Test("A setting may be an option", arguments: ["serve", "check-config", "doctor"])
    func setting(command: String) async throws {
        let ended = await (try LatchkeyProcess([command, "--http-port=70000"])).ending()
        #expect(ended.status == 78)
        #expect(ended.output.contains("http.port: 70000 is out of range"))
    }
}
