package import ArgumentParser
import FoundationEssentials
package import LatchkeyConfiguration
package import LatchkeyService

extension FeatureList {
    /// The features of the program, which the root command sets before it reads the command line.
    @TaskLocal package static var ofProgram = FeatureList([])
}

/// The options of every command that reads the configuration.
package struct ConfigurationOptions: ParsableArguments {
    @Option(
        name: [.long, .customShort("c")],
        help: ArgumentHelp(
            """
            A YAML or JSON file; without it, Config/latchkey.yaml is read if it exists. Environment variables \
            (LATCHKEY_…) override it.
            """, valueName: "file"),
        completion: .file(extensions: ["yaml", "yml", "json"]))
    package var config: String?

    package init() {}

    /// Reads the configuration; prints all problems and ends the process with 78 (EX_CONFIG) if there are any.
    ///
    /// - Parameter settings: The settings that the command line gives.
    package func load(
        for purpose: ConfigurationLoader.Purpose, _ settings: SettingArguments = SettingArguments()
    ) throws -> LoadedConfiguration {
        do throws(ConfigurationErrors) {
            return try read(for: purpose, settings)
        } catch {
            let count = error.problems.count + error.omitted
            let failure = failed("the configuration has \(count) \(count == 1 ? "problem" : "problems"):", 78)
            Console.warn(error.description)
            for warning in error.warnings { Console.warn("warning: \(warning)") }
            throw failure
        }
    }

    package func read(
        for purpose: ConfigurationLoader.Purpose, _ settings: SettingArguments = SettingArguments()
    ) throws(ConfigurationErrors) -> LoadedConfiguration {
        try ConfigurationLoader(FeatureList.ofProgram.settings).load(
            file: config, environment: ProcessInfo.processInfo.environment,
            arguments: settings, purpose: purpose)
    }
}

/// The settings that are given as options, such as `--http-port 9000`: of the commands without other arguments.
package struct SettingOptions: ParsableArguments {
    @Argument(
        parsing: .allUnrecognized,
        help: ArgumentHelp(
            "Settings, such as --http-port 8080 for http.port: they override the environment.",
            discussion: "latchkey check-config --keys lists them.", valueName: "--key value"))
    package var arguments: [String] = []

    package init() {}

    package func validate() throws {
        do throws(SettingArguments.ArgumentError) {
            _ = try SettingArguments(arguments, of: FeatureList.ofProgram.settings)
        } catch {
            throw ValidationError(error.description)
        }
    }

    /// The settings. `validate` has refused what cannot be read.
    package var parsed: SettingArguments {
        (try? SettingArguments(arguments, of: FeatureList.ofProgram.settings)) ?? SettingArguments()
    }
}
