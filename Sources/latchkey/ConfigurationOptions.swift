import ArgumentParser
import CommandLineSupport
import Foundation
import LatchkeyConfiguration

/// The options of every command that reads the configuration.
struct ConfigurationOptions: ParsableArguments {
    @Option(
        name: [.long, .customShort("c")],
        help: ArgumentHelp(
            "A YAML or JSON file. Environment variables (LATCHKEY_…) override it.",
            discussion: "Without it, Config/latchkey.yaml is read if it exists.", valueName: "file"))
    var config: String?

    /// Reads the configuration; prints all problems and ends the process with 78 (EX_CONFIG) if there are any.
    func load(for purpose: ConfigurationLoader.Purpose) throws -> LoadedConfiguration {
        do throws(ConfigurationErrors) {
            return try read(for: purpose)
        } catch {
            let count = error.problems.count + error.omitted
            Console.warn("latchkey: the configuration has \(count) \(count == 1 ? "problem" : "problems"):")
            Console.warn(error.description)
            throw ExitCode(78)
        }
    }

    /// Reads the configuration.
    func read(for purpose: ConfigurationLoader.Purpose) throws(ConfigurationErrors) -> LoadedConfiguration {
        try ConfigurationLoader().load(file: config, environment: ProcessInfo.processInfo.environment, purpose: purpose)
    }
}
