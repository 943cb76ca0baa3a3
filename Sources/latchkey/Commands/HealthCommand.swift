import ArgumentParser
import LatchkeyService

struct HealthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Asks a running Latchkey whether it is well.",
        discussion: """
            For containers' health checks. Ends with 0 if it answers 200 within 3 seconds, else with 1; with 64 if the \
            options are wrong.
            """)

    @Argument(help: "The URL to ask: plain http on a loopback address, or https.")
    var url = "http://127.0.0.1:8080/healthz"

    func run() async throws {
        do {
            let status = try await HealthCheck.status(of: url)
            guard status == 200 else {
                StandardError.print("latchkey: \(url) answered \(status)")
                throw ExitCode(1)
            }
            print("well")
        } catch let error as HealthCheck.Failure {
            StandardError.print("latchkey: \(error)")
            throw ExitCode(1)
        }
    }
}
