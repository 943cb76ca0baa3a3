import ArgumentParser
import Foundation
import LatchkeyConfiguration

/// Where the configuration is read from: shared by the commands that need one.
struct ConfigurationOptions: ParsableArguments {
    @Option(
        name: [.long, .customShort("c")],
        help: ArgumentHelp(
            "A YAML or JSON file. Environment variables (LATCHKEY_…) win over it.",
            discussion: "Without it, Config/latchkey.yaml is read if it is there.", valueName: "file"))
    var config: String?

    /// Reads the configuration; tells every problem and ends the process with 78 (EX_CONFIG) if there is one.
    func load(for purpose: ConfigurationLoader.Purpose) throws -> LoadedConfiguration {
        do throws(ConfigurationErrors) {
            return try read(for: purpose)
        } catch {
            let count = error.problems.count + error.omitted
            StandardError.print("latchkey: the configuration has \(count) \(count == 1 ? "problem" : "problems"):")
            StandardError.print(error.description)
            throw ExitCode(78)
        }
    }

    /// Reads the configuration.
    func read(for purpose: ConfigurationLoader.Purpose) throws(ConfigurationErrors) -> LoadedConfiguration {
        try ConfigurationLoader().load(
            file: config, environment: ProcessInfo.processInfo.environment, purpose: purpose)
    }
}

/// Lines for whoever started the command.
enum StandardError {
    static func print(_ text: String) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }
}
