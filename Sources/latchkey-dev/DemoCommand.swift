import ArgumentParser
import CommandLineSupport
import LatchkeyConfiguration
import LatchkeyDemo
import LatchkeyService

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Runs Latchkey with simulated carriers on 127.0.0.1, to try it out.",
        discussion: """
            Prints a curl command that signs a user in. The users are stored in latchkey-demo.db in the working \
            directory; delete the file to start over.

            The demo has its own http.host, http.port, database.url, api_keys (demo-key), console, zenkey and \
            allow_loopback_http, and warns of such keys in a configuration. It takes the other keys, such as \
            allowed_origins, sessions and providers.

            Exit status: 0 after SIGTERM or SIGINT, 1 if the demo cannot start, 64 for wrong options, 78 for an \
            invalid configuration.
            """)

    @Option(help: "The port of Latchkey; 0 lets the system choose.")
    var port: UInt16 = 8080

    @Option(help: "The port of the simulated carriers; 0 lets the system choose.")
    var simulatorPort: UInt16 = 8081

    @Option(help: "The file of the SQLite database.")
    var database = "latchkey-demo.db"

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let loaded = try options.load(for: .demo)
        for warning in loaded.warnings.map(\.description) + Demo.unusedKeys(of: loaded) {
            Console.warn("warning: \(warning)")
        }
        var configuration = loaded.configuration
        configuration.http.port = port
        configuration.database.url = DatabaseURL(path: database)
        let signals = TerminationSignals(ignoresHangup: true)
        let demo: Demo
        do {
            demo = try await Demo.start(configuration, simulatorPort: simulatorPort)
        } catch let error as LatchkeyStartError {
            throw failed("\(error)")
        }
        Console.print(demo.guide)
        _ = await signals.first()
        await demo.shutdown(within: .seconds(5))
        demo.service.flushLog()
    }
}
