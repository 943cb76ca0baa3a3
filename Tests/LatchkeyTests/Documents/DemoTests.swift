import Foundation
import TestSupport
import Testing

/// Runs the commands of the README and the guides in a shell.
@Suite(.serialized) struct DemoTests {
    /// The shell commands of a document under `<!-- snippet: NAME -->`.
    private func snippet(_ name: String, of document: String = "README.md") throws -> String {
        let text = try Repository.text(document)
        let start = try #require(text.range(of: "<!-- snippet: \(name) -->\n```sh\n")).upperBound
        let end = try #require(text.range(of: "\n```", range: start..<text.endIndex)).lowerBound
        return String(text[start..<end])
    }

    private func shell(
        _ script: String, token: String = "", environment: [String: String] = [:], in directory: String? = nil
    ) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", script]
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let programs = LatchkeyProcess.program?.deletingLastPathComponent().path ?? ""
        process.environment = ["PATH": programs + ":" + path, "TOKEN": token]
            .merging(Patience.sanitizerOptions) { $1 }.merging(environment) { $1 }
        if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }

    @Test("The README's curl commands sign a user in, show the session, and end it")
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
        let response = try #require(
            try JSONSerialization.jsonObject(with: Data(signIn.utf8)) as? [String: Any], "\(signIn)")
        let token = try #require(response["token"] as? String)
        #expect(response["new_user"] as? Bool == true)

        let session = try shell(here(try snippet("session")), token: token)
        #expect(session.contains("user_id"))
        #expect(session.hasSuffix("{}"))
        #expect(try shell(here(try snippet("session")), token: token).contains("invalid_token"))

        // The demonstration prints the same command.
        let printed = demo.said
        #expect(printed.contains("/demo/codes"))
        #expect(printed.contains("/auth/zenkey-signin"))
        demo.send(SIGINT)
        #expect(await demo.ending().status == 0)
    }

    @Test("The demonstration refers to a browser only if it serves pages")
    func pages() async throws {
        for hasPages in [false, true] {
            let directory = try TemporaryDirectory()
            if hasPages {
                try FileManager.default.createDirectory(
                    atPath: directory.file("Public"), withIntermediateDirectories: false)
                try Data("<!DOCTYPE html>".utf8).write(to: URL(fileURLWithPath: directory.file("Public/index.html")))
            }
            let demo = try LatchkeyProcess(["demo", "--port", "0", "--simulator-port", "0"], directory: directory.path)
            _ = try await demo.wait { $0.contains("Bearer TOKEN") ? true : nil }
            #expect(demo.said.contains("Open it in a browser") == hasPages)
            #expect(demo.said.contains("no pages here") == !hasPages)
            demo.send(SIGINT)
            #expect(await demo.ending().status == 0)
        }
    }

    @Test("A demonstration whose port is in use names the option for another port")
    func takenPort() async throws {
        try await withDemo { directory, here in
            let port = here(":8080").dropFirst()
            let second = try LatchkeyProcess(
                ["demo", "--port", String(port), "--simulator-port", "0"], directory: directory)
            let ending = await second.ending()
            #expect(ending.status == 1)
            #expect(ending.output.contains("choose another port with --port"), "\(ending.output)")
            #expect(!ending.output.contains("http.port"))
        }
    }

    private func withDemo(_ body: (_ directory: String, _ here: (String) -> String) async throws -> Void) async throws {
        let directory = try TemporaryDirectory()
        let demo = try LatchkeyProcess(["demo", "--port", "0", "--simulator-port", "0"], directory: directory.path)
        let port = try await demo.port(after: "Latchkey")
        let simulator = try await demo.port(after: "simulated carriers are at")
        try await body(directory.path) { script in
            script.replacingOccurrences(of: ":8080", with: ":\(port)")
                .replacingOccurrences(of: ":8081", with: ":\(simulator)")
        }
        demo.send(SIGINT)
        #expect(await demo.ending().status == 0)
    }

    @Test("The commands of docs/backchannel-authentication.md ask a user, approve, and get the session")
    func backchannelAuthentication() async throws {
        let document = "docs/backchannel-authentication.md"
        try await withDemo { _, here in
            let started = try shell(here(try snippet("start", of: document)))
            let response = try #require(
                try JSONSerialization.jsonObject(with: Data(started.utf8)) as? [String: Any], "\(started)")
            let handle = try #require(response["auth_req_id"] as? String, "\(started)")
            #expect(try shell(here(try snippet("approve", of: document))).contains("204"))
            let session = try shell(here(try snippet("poll", of: document)), environment: ["AUTH_REQ_ID": handle])
            #expect(session.contains("refresh_token"), "\(session)")
        }
    }

    @Test("The commands of docs/migration.md move an account and show it to the operator")
    func migration() async throws {
        let document = "docs/migration.md"
        try await withDemo { directory, here in
            let moved = try shell(here(try snippet("port", of: document)))
            #expect(moved.components(separatedBy: "\"new_user\":true").count == 2, "\(moved)")
            #expect(moved.components(separatedBy: "\"new_user\":false").count == 2, "\(moved)")
            let shown = try shell(here(try snippet("operator", of: document)), in: directory)
            #expect(shown.contains("identity.moved"), "\(shown)")
            #expect(shown.contains("user 1 public_id="), "\(shown)")
            #expect(shown.contains("/carriers/310410"), "\(shown)")
        }
    }

    @Test("The commands under “Run it” are valid: the server would start with a key, a client and a database")
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
