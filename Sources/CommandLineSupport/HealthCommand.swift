import ArgumentParser
import LatchkeyConfiguration
import LatchkeyService

struct HealthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Checks the health of a running Latchkey.",
        discussion: """
            For the health checks of containers.

            Exit status: 0 if the server answers 200 within 3 seconds, 1 if not, 64 for wrong options, 78 if the \
            configuration does not tell where the server listens.
            """)

    @Argument(
        help: """
            The URL to request: https, or plain HTTP on a loopback address. Without it, /healthz at the http.host and \
            http.port of the configuration.
            """)
    var url: String?

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let http = url == nil ? try options.load(for: .health).configuration.http : nil
        let (asked, status) = try await reportingFailure {
            let asked = try url ?? HealthCheck.url(of: http ?? Configuration().http)
            return (asked, try await HealthCheck.status(of: asked, isOwn: url == nil))
        }
        guard status == 200 else { throw failed("\(asked) answered \(status)") }
        print("healthy")
    }
}
