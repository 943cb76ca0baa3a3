import Foundation
import Primitives
import TestSupport
import Testing

/// Follows docs/mobile-apps.md: a server with a configuration of its own, and simulated carriers.
@Suite(.serialized) struct SimulatedCarriersTests {
    private static let document = "docs/mobile-apps.md"

    private func example(_ language: String, _ name: String?, containing text: String = "\n") throws -> Example {
        try #require(
            try Example.all().first {
                $0.document == Self.document && $0.language == language && $0.name == name
                    && ("\n" + $0.text).contains(text)
            }, "\(name ?? text)")
    }

    /// The arguments of the only command of an example.
    private func arguments(_ name: String, of program: String) throws -> [String] {
        let words = try example("sh", name).commands.flatMap { $0.split(separator: " ").map(String.init) }
        #expect(words.first == program)
        return Array(words.dropFirst())
    }

    @Test("The server of the example signs in a user of the simulated carriers of the example")
    func signIn() async throws {
        let directory = try TemporaryDirectory()
        let carriers = try LatchkeyProcess(
            try arguments("carriers", of: "latchkey-dev").map { $0 == "8081" ? "0" : $0 }, of: "latchkey-dev")
        let carriersPort = try await carriers.port(after: "discovery UI")
        let configuration = try example("yaml", nil, containing: "127.0.0.1:8081/ui/discovery-ui").text
            .replacing("127.0.0.1:8081", with: "127.0.0.1:\(carriersPort)")
        try Data(configuration.utf8).write(to: URL(fileURLWithPath: directory.file("simulated.yaml")))
        let server = try LatchkeyProcess(
            try arguments("serve", of: "latchkey"), environment: ["LATCHKEY_HTTP_PORT": "0"], directory: directory.path)
        let port = try await server.port(after: "listening")
        let shell = Shell(port: port, carriers: carriersPort, directory: directory.path)
        let answer = try JSONValue(parsing: Array(try shell.run(try example("sh", "simulated-sign-in").text).utf8))
            .object
        #expect(answer?["new_user"] == true && answer?["token"]?.string != nil, "\(String(describing: answer))")
        for process in [server, carriers] {
            process.send(SIGTERM)
            #expect(await process.ending().status == 0)
        }
    }
}
