import ArgumentParser
import CommandLineSupport
import LatchkeyService

struct HealthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Checks the health of a running Latchkey.",
        discussion: """
            For the health checks of containers.

            Exit status: 0 if the server answers 200 within 3 seconds, 1 if not, 64 for wrong options.
            """)

    @Argument(help: "The URL to request: https, or plain HTTP on a loopback address.")
    var url = "http://127.0.0.1:8080/healthz"

    func run() async throws {
        let status = try await reportingFailure { try await HealthCheck.status(of: url) }
        guard status == 200 else {
            Console.warn("latchkey: \(url) answered \(status)")
            throw ExitCode(1)
        }
        print("healthy")
    }
}
