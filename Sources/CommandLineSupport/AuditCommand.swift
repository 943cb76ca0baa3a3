package import ArgumentParser
import LatchkeyService

/// `latchkey audit`, with the commands that features have beneath it.
package struct AuditCommand: AsyncParsableCommand {
    private static let subcommands = FeatureList.ofProgram.features.flatMap { $0.subcommands(of: "audit") }

    package static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: """
            \(subcommands.isEmpty ? "Prints" : "Prints, verifies or exports") the audit log of accounts, keys and the \
            configuration.
            """,
        discussion: """
            Prints the latest matching events, oldest first. Identities are shown as fingerprints, without subjects. \
            The log is kept for audit.retention.

            Exit status: 0 if the log was read (even if no event matches), 1 if not, 64 for wrong options, 78 for \
            an invalid configuration.
            """,
        subcommands: subcommands)

    @OptionGroup var options: ConfigurationOptions

    @OptionGroup var selection: AdminService.AuditSelection

    @OptionGroup var output: FormatOptions

    @Flag(name: .customLong("json"), help: .hidden)
    var isJSON = false

    package init() {}

    package func run() async throws {
        let format = isJSON ? .json : output.format
        try await runAdminCommand(options, as: format, ifEmpty: "No event matches.") { [selection] admin, _ in
            try await admin.audit(selection)
        }
    }

    /// Refuses the options that select events. The parser gives them to this command wherever they stand.
    /// - Throws: `ValidationError`.
    package func refuseSelection(because reason: String) throws {
        let selecting = [
            ("--user", selection.user != nil), ("--kind", selection.kind != nil), ("--since", selection.since != nil),
            ("--until", selection.until != nil), ("--limit", selection.limit != nil), ("--json", isJSON),
        ]
        for (name, isGiven) in selecting where isGiven {
            throw ValidationError("\(name) is an option of latchkey audit alone; \(reason)")
        }
    }
}
