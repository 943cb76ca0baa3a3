import ArgumentParser
import FoundationEssentials
import LatchkeyService

struct HealthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Checks the health of a running Latchkey.",
        discussion: """
            For the health checks of containers.

            Exit status: 0 if the server answers 200 within 3 seconds, 1 if not, 64 for wrong options.
            """)

    @Argument(
        help: """
            The URL to request: https, or plain HTTP on a loopback address. Without it, /healthz on 127.0.0.1, on the \
            port of LATCHKEY_HTTP_PORT or 8080.
            """)
    var url: String?

    func run() async throws {
        let url = url ?? HealthCheck.url(in: ProcessInfo.processInfo.environment)
        let status = try await reportingFailure { try await HealthCheck.status(of: url) }
        guard status == 200 else { throw failed("\(url) answered \(status)") }
        print("healthy")
    }
}
