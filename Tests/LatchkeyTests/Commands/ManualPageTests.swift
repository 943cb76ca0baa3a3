import Foundation
import Primitives
import TestSupport
import Testing

/// The manual page, and the scripts of shells that complete commands.
@Suite(.serialized) struct ManualPageTests {
    /// Set to `write`, the test writes the page instead of comparing it.
    private static let variable = "LATCHKEY_MANUAL"

    private func command() async throws -> JSONObject {
        let ending = await (try LatchkeyProcess(["--experimental-dump-help"])).ending()
        #expect(ending.status == 0)
        return try #require(try JSONValue(parsing: Array(ending.output.utf8)).object?["command"]?.object)
    }

    @Test("docs/latchkey.1 matches the program")
    func current() async throws {
        let text = ManualPage.text(of: try await command())
        let path = Repository.path("docs/latchkey.1")
        if ProcessInfo.processInfo.environment[Self.variable] == "write" {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            return
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text, "make manual writes docs/latchkey.1")
    }

    @Test("The page has every command, and no line that begins a macro by chance")
    func complete() async throws {
        let command = try await command()
        let lines = ManualPage.text(of: command).split(separator: "\n")
        let macros = ["TH", "SH", "SS", "PP", "TP", "B", "BR", "I"].map { "." + $0 }
        for line in lines where line.hasPrefix(".") || line.hasPrefix("'") {
            #expect(macros.contains { line == $0 || line.hasPrefix($0 + " ") }, "\(line)")
        }
        for name in ["serve", "users end\\-sessions", "api\\-key create", "explain\\-token"] {
            #expect(lines.contains { $0.hasPrefix(".SS \"latchkey \(name)") }, "\(name)")
        }
    }

    @Test("Shells get a script that completes the commands", arguments: ["bash", "zsh", "fish"])
    func completion(_ shell: String) async throws {
        let ending = await (try LatchkeyProcess(["--generate-completion-script", shell])).ending()
        #expect(ending.status == 0)
        for name in ["check-config", "end-sessions", "identity.moved"] {
            #expect(ending.output.contains(name), "\(name)")
        }
    }
}
