import ArgumentParser
import CommandLineSupport
import Glibc
import LatchkeyFeatures
import LatchkeyService

/// `latchkey-dev`: what developers and auditors use, apart from the server's program.
@main
struct LatchkeyDevCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "latchkey-dev",
        abstract: "Latchkey with simulated carriers, for development, tests and audits.",
        discussion: "The server is another program, `latchkey`, which has none of these commands in it.",
        version: LatchkeyVersion.description,
        subcommands: [DemoCommand.self, CarrierCommand.self, ProviderCommand.self, ConformanceCommand.self])

    static func main() async {
        await FeatureList.$ofProgram.withValue(.standard) { await main(nil) }
    }
}

extension Console {
    /// Writes a line to standard output at once: a program that waits for the address reads it through a pipe.
    static func print(_ line: String) {
        Swift.print(line)
        fflush(nil)
    }
}
