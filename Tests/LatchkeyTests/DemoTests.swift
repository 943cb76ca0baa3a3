import Foundation
import TestSupport
import Testing

/// What the README promises a newcomer: its own words, run by a shell.
@Suite(.serialized) struct DemoTests {
    /// The shell lines of the README that stand under `<!-- snippet: NAME -->`.
    private func snippet(_ name: String) throws -> String {
        let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let readme = here.appendingPathComponent("../../README.md")
        let text = try String(contentsOf: readme, encoding: .utf8)
        let start = try #require(text.range(of: "<!-- snippet: \(name) -->\n```sh\n")).upperBound
        let end = try #require(text.range(of: "\n```", range: start..<text.endIndex)).lowerBound
        return String(text[start..<end])
    }

    private func shell(_ script: String, token: String = "") throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", script]
        process.environment = ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "", "TOKEN": token]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }

    @Test("The README's curl signs a user in, and its next lines show and end the session")
    func readme() async throws {
        let directory = try TemporaryDirectory()
        let demo = try LatchkeyProcess(["demo", "--port", "0", "--simulator-port", "0"], directory: directory.path)
        let port = try await demo.port(after: "Latchkey")
        let simulator = try await demo.port(after: "simulated carriers are at")
        func here(_ script: String) -> String {
            script.replacingOccurrences(of: ":8080", with: ":\(port)")
                .replacingOccurrences(of: ":8081", with: ":\(simulator)")
        }
        let signIn = try shell(here(try snippet("demo")))
        let answer = try #require(
            try JSONSerialization.jsonObject(with: Data(signIn.utf8)) as? [String: Any], "\(signIn)")
        let token = try #require(answer["token"] as? String)
        #expect(answer["new_user"] as? Bool == true)

        let session = try shell(here(try snippet("session")), token: token)
        #expect(session.contains("user_id"))
        #expect(session.hasSuffix("{}"))
        #expect(try shell(here(try snippet("session")), token: token).contains("invalid_token"))

        // What the demonstration prints for its user is the same command.
        let printed = demo.said
        #expect(printed.contains("/demo/codes"))
        #expect(printed.contains("/auth/zenkey-signin"))
        demo.send(SIGINT)
        #expect(await demo.ending().status == 0)
    }

    @Test("The commands under “Run it” are accepted: with a key, a client and a database it would serve")
    func serve() async throws {
        let directory = try TemporaryDirectory()
        var environment: [String: String] = [:]
        for line in try snippet("serve").split(separator: "\n") where line.hasPrefix("export ") {
            let pair = line.dropFirst("export ".count).split(separator: "=", maxSplits: 1)
            let value = pair[1].prefix { $0 != " " }
            let hash = String(repeating: "ab", count: 32)
            environment[String(pair[0])] = value.replacingOccurrences(of: "sha256:…", with: "sha256:" + hash)
        }
        environment["LATCHKEY_DATABASE_URL"] = "sqlite:///\(directory.path)/latchkey.db"
        let ending = await (try LatchkeyProcess(["check-config", "--keys"], environment: environment)).ending()
        #expect(ending.status == 0, "\(ending.output)")
        #expect(ending.output.contains("LATCHKEY_HTTP_PORT"))
    }
}
