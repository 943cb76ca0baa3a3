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

/// Prints why a command fails to standard error, in one line that begins with the program's name.
/// - Returns: What ends the process with a status.
package func failed(_ reason: String, _ status: Int32 = 1) -> ExitCode {
    Console.warn("\(ProcessInfo.processInfo.processName): \(reason)")
    return ExitCode(status)
}

/// Runs an administrator's command on the configured database and prints its report. A command that fails prints one
/// line to standard error and ends the process as ``reportingFailure(exitCode:_:)`` does.
///
/// - Parameter notice: For people, printed to standard error if there are no lines.
package func runAdminCommand(
    _ options: ConfigurationOptions, as format: ReportFormat = .text, ifEmpty notice: String? = nil,
    _ command: (AdminService, Configuration) async throws -> CommandReport
) async throws {
    let configuration = try options.load(for: .operation).configuration
    try await reportingFailure {
        let admin = try AdminService(configuration, features: .ofProgram)
        let report = try await admin.perform { try await command($0, configuration) }
        report.print(as: format)
        if format == .text, report.text.isEmpty, let notice { Console.warn(notice) }
        if let failure = report.failure { throw failure }
    }
}

extension CommandReport {
    package func print(as format: ReportFormat) {
        for line in format == .json ? json : text { Swift.print(line) }
    }
}

/// Prints a failure to standard error in one line and ends the process with a status, by default 1; with 64 if the
/// command line is wrong, and with 78 if the configuration is.
package func reportingFailure<Value>(
    exitCode status: Int32 = 1, _ command: () async throws -> Value
) async throws -> Value {
    do {
        return try await command()
    } catch let error where error is AdministratorError || error is LatchkeyStartError {
        switch (error as? AdministratorError)?.reason {
        case .usage: throw failed("\(error)", 64)
        case .configuration: throw failed("\(error)", 78)
        case .failed, nil: throw failed("\(error)", status)
        }
    }
}

/// The value of every `--format`: text for people, or JSON for programs.
package enum ReportFormat: String, ExpressibleByArgument, CaseIterable {
    case text, json
}

package struct FormatOptions: ParsableArguments {
    @Option(help: "text for people, json for programs: one object per line.")
    package var format = ReportFormat.text

    package init() {}
}
