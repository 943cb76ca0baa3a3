import ArgumentParser
public import LatchkeyService

/// The program of the server: the commands of the core, and those of its features.
public enum ServerProgram {
    /// Reads the command line, and runs its command. Ends the process if that fails.
    /// - Parameter features: Those of `latchkey` are `FeatureList.standard` of `LatchkeyFeatures`.
    public static func main(with features: FeatureList) async {
        await FeatureList.$ofProgram.withValue(features) { await LatchkeyCommand.main(nil) }
    }
}

private struct LatchkeyCommand: AsyncParsableCommand {
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
        ] + FeatureList.ofProgram.features.flatMap { $0.commands })
}
