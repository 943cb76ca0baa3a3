import ArgumentParser
import CommandLineSupport
import FoundationEssentials
import LatchkeyConfiguration

/// The options of every command that reads the configuration.
struct ConfigurationOptions: ParsableArguments {
    @Option(
        name: [.long, .customShort("c")],
        help: ArgumentHelp(
            """
            A YAML or JSON file; without it, Config/latchkey.yaml is read if it exists. Environment variables \
            (LATCHKEY_…) override it.
            """, valueName: "file"),
        completion: .file(extensions: ["yaml", "yml", "json"]))
    var config: String?

    /// Reads the configuration; prints all problems and ends the process with 78 (EX_CONFIG) if there are any.
    ///
    /// - Parameter settings: The settings that the command line gives.
    func load(
        for purpose: ConfigurationLoader.Purpose, _ settings: SettingOptions? = nil
    ) throws -> LoadedConfiguration { try load(for: purpose, settings?.parsed ?? SettingArguments()) }

    /// The same with settings that were read before.
    func load(
        for purpose: ConfigurationLoader.Purpose, _ settings: SettingArguments
    ) throws -> LoadedConfiguration {
        do throws(ConfigurationErrors) {
            return try read(for: purpose, settings)
        } catch {
            let count = error.problems.count + error.omitted
            Console.warn("latchkey: the configuration has \(count) \(count == 1 ? "problem" : "problems"):")
            Console.warn(error.description)
            for warning in error.warnings { Console.warn("warning: \(warning)") }
            throw ExitCode(78)
        }
    }

    /// Reads the configuration.
    func read(
        for purpose: ConfigurationLoader.Purpose, _ settings: SettingArguments = SettingArguments()
    ) throws(ConfigurationErrors) -> LoadedConfiguration {
        try ConfigurationLoader().load(
            file: config, environment: ProcessInfo.processInfo.environment,
            arguments: settings, purpose: purpose)
    }
}

/// The settings that are given as options, such as `--http-port 9000`: of the commands without arguments of their own.
struct SettingOptions: ParsableArguments {
    @Argument(
        parsing: .allUnrecognized,
        help: ArgumentHelp(
            "Settings, such as --http-port 8080 for http.port: they override the environment.",
            discussion: "latchkey check-config --keys lists them.", valueName: "--key value"))
    var arguments: [String] = []

    func validate() throws {
        do throws(SettingArguments.Refusal) {
            _ = try SettingArguments(arguments)
        } catch {
            throw ValidationError(error.description)
        }
    }

    /// The settings. `validate` has refused what cannot be read.
    var parsed: SettingArguments { (try? SettingArguments(arguments)) ?? SettingArguments() }
}
