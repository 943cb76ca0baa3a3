import ArgumentParser
import LatchkeyConfiguration
import LatchkeyService

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serves sign-ins until SIGTERM or SIGINT.",
        discussion: """
            SIGTERM lets the requests under way finish and ends with 0; a second one ends at once. A configuration \
            that has problems ends with 78 and all of them listed.
            """)

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let loaded = try options.load(for: .serve)
        let signals = TerminationSignals()
        let service = try await Start.service(loaded.configuration, warnings: loaded.warnings)
        await Stop.service(service, after: await signals.first(), drain: loaded.configuration.http.timeouts.drain)
    }
}
