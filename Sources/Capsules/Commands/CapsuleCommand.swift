import ArgumentParser
import CommandLineSupport

struct CapsuleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "capsule",
        abstract: "Prints what was recorded of failed sign-ins.",
        discussion: """
            A failed sign-in leaves a capsule: what was requested, what the provider sent, the provider's metadata and \
            keys, and every check of the ID token with what was expected and found. Secrets and personal data are not \
            in it: a value that no specification and no configuration defines appears as a pseudonym, and equal values \
            of one capsule have the same.

            Exit status: 0 if it succeeded, 1 if not, 64 for wrong options, 78 for an invalid configuration.
            """,
        subcommands: [ListCapsulesCommand.self, ShowCapsuleCommand.self, ExportCapsuleCommand.self])
}

/// The options that name the sign-in of a capsule.
struct CapsuleOptions: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOptions

    @Argument(help: "The correlation id of the sign-in, from the error response or the log.")
    var correlationID: String

    func printCapsule(as format: ReportFormat) async throws {
        try await runAdminCommand(configuration, as: format) { admin, _ in try await admin.capsule(of: correlationID) }
    }
}

struct ListCapsulesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Prints the latest capsules, oldest first.",
        discussion: """
            One line each: the time, the correlation id, the provider, the flow, and what failed. With --format json, \
            one capsule on each line.

            Exit status: 0 if the capsules were read (even if there are none), 1 if not, 64 for wrong options, 78 for \
            an invalid configuration.
            """)

    @OptionGroup var options: ConfigurationOptions

    @Option(name: .long, help: "The most capsules, 1 to 1000.")
    var limit = 50

    @OptionGroup var output: FormatOptions

    func run() async throws {
        try await runAdminCommand(options, as: output.format, ifEmpty: "There are no capsules.") { [limit] admin, _ in
            try await admin.capsules(limit: limit)
        }
    }
}

struct ShowCapsuleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Prints the newest capsule of a sign-in, one value on each line.",
        discussion: """
            Exit status: 0 if there is one, 1 if not, 64 for wrong options, 78 for an invalid configuration.
            """)

    @OptionGroup var options: CapsuleOptions

    func run() async throws {
        try await options.printCapsule(as: .text)
    }
}

struct ExportCapsuleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Prints the newest capsule of a sign-in as one JSON object, for a bug report.",
        discussion: """
            Exit status: 0 if there is one, 1 if not, 64 for wrong options, 78 for an invalid configuration.
            """)

    @OptionGroup var options: CapsuleOptions

    func run() async throws {
        try await options.printCapsule(as: .json)
    }
}
