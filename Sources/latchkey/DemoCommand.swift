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

/// What the demonstration tells whoever started it.
enum DemoGuide {
    static func text(_ guide: Demo.Guide) -> String {
        """

        Latchkey \(LatchkeyVersion.text) is at \(guide.serverURL), the simulated carriers are at \(guide.simulatorURL).
        Users are kept in \(guide.database). Stop it with Ctrl-C.

        Open it in a browser, and read each call beside what you do:

            \(guide.serverURL)/

        Or sign a user in with curl (the first one plays the app that got a code from the carrier):

            curl -sS -X POST \(guide.simulatorURL)/demo/codes |
              curl -sS \(guide.serverURL)/auth/zenkey-signin \\
                -H 'X-API-KEY: \(guide.apiKey)' -H 'Content-Type: application/json' -d @-

        Then, with the token that it was answered:

            curl -sS \(guide.serverURL)/users/me -H 'X-API-KEY: \(guide.apiKey)' -H 'Authorization: Bearer TOKEN'
            curl -sS -X DELETE \(guide.serverURL)/auth/token -H 'X-API-KEY: \(guide.apiKey)' -H 'Authorization: Bearer TOKEN'

        """
    }
}
