import ArgumentParser
import CommandLineSupport
import LatchkeyFeatures
import LatchkeyService

@main
struct LatchkeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "latchkey",
        abstract: "The backend of an app whose users sign in with their mobile carrier.",
        discussion: """
            A client posts the authorization code that it received. Latchkey exchanges the code at the right carrier, \
            validates the ID token, stores the user and returns a session of its own.

            New here? `latchkey-dev demo` runs it together with simulated carriers.
            """,
        version: LatchkeyVersion.description,
        subcommands: [
            ServeCommand.self, CheckConfigCommand.self, HealthCommand.self, AuditCommand.self,
        ] + FeatureList.standard.commands)

    static func main() async {
        await FeatureList.$ofProgram.withValue(.standard) { await main(nil) }
    }
}
