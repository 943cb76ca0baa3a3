package import ArgumentParser
import FoundationEssentials
package import LatchkeyConfiguration
package import LatchkeyService

/// Prints why a command fails to standard error, in one line that begins with the program's name.
/// - Returns: What ends the process with a status.
package func failed(_ reason: String, _ status: Int32 = 1) -> ExitCode {
    Console.warn("\(ProcessInfo.processInfo.processName): \(reason)")
    return ExitCode(status)
}

/// Runs an administrator's command on the configured database and prints its lines. A command that fails prints one
/// line to standard error and ends the process as ``reportingFailure(exitCode:_:)`` does.
///
/// - Parameter notice: Printed to standard error if there are no lines; nil where a program reads them.
package func runAdminCommand(
    _ options: ConfigurationOptions, ifEmpty notice: String? = nil,
    _ command: (AdminService, Configuration) async throws -> [String]
) async throws {
    let configuration = try options.load(for: .operation).configuration
    try await reportingFailure {
        let admin = try AdminService(configuration, features: .ofProgram)
        let result: Result<[String], any Error>
        do { result = .success(try await command(admin, configuration)) } catch { result = .failure(error) }
        await admin.close()
        let lines = try result.get()
        for line in lines { print(line) }
        if lines.isEmpty, let notice { Console.warn(notice) }
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

    /// How the administrators' commands print their lines.
    package var lines: AdminService.LineFormat { self == .json ? .json : .text }
}

/// The option of commands that print lines.
package struct FormatOptions: ParsableArguments {
    @Option(help: "text for people, json for programs: one object per line.")
    package var format = ReportFormat.text

    package init() {}
}

/// The options of commands that repair accounts.
package struct RepairOptions: ParsableArguments {
    @OptionGroup package var configuration: ConfigurationOptions

    @Option(help: "The reason, for the audit log.")
    package var reason: String?

    @Flag(help: "Apply the change; without it, the command only prints what it would do.")
    package var apply = false

    @OptionGroup package var output: FormatOptions

    package init() {}
}
