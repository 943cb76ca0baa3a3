import ArgumentParser
import Foundation
import LatchkeyConfiguration
import LatchkeyService

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Runs Latchkey with simulated carriers on 127.0.0.1, to try it out.",
        discussion: """
            Prints a curl that signs a user in. The users are kept in latchkey-demo.db in the working directory; \
            delete it to start anew.

            Ends with 0 after SIGTERM or SIGINT, 1 if it cannot start, 64 if the options are wrong, and 78 if the \
            configuration has problems.
            """)

    @Option(name: .long, help: "The port of Latchkey; 0 lets the system choose.")
    var port: UInt16 = 8080

    @Option(name: .long, help: "The port of the simulated carriers; 0 lets the system choose.")
    var simulatorPort: UInt16 = 8081

    @Option(name: .long, help: "The file of the SQLite database.")
    var database = "latchkey-demo.db"

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        var configuration = try options.load(for: .demo).configuration
        configuration.http.port = port
        configuration.database.url = DatabaseURL(path: database)
        let signals = TerminationSignals()
        do {
            let demo = try await Demo.start(configuration, simulatorPort: simulatorPort)
            FileHandle.standardOutput.write(Data(DemoGuide.text(demo.guide).utf8))
            _ = await signals.first()
            await demo.shutdown(within: .seconds(5))
            demo.service.flushLog()
        } catch let error as LatchkeyStartError {
            StandardError.print("latchkey: \(error)")
            throw ExitCode(1)
        }
    }
}
