package import ArgumentParser
import LatchkeyConfiguration
import LatchkeyService

/// `latchkey audit`, with the commands that features have beneath it.
package struct AuditCommand: AsyncParsableCommand {
    private static let subcommands = FeatureList.ofProgram.subcommands(of: "audit")

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

    @Option(help: "Only events of this user.")
    var user: Int64?

    @Option(help: "Only events of this kind, such as identity.moved.", completion: .list(AdminService.auditKinds))
    var kind: String?

    @Option(
        help: "Only events since this time: 2026-11-21, 2026-11-21T01:02:03Z, or an age such as 24h or 7d."
    ) var since: String?

    @Option(help: "Only events before this time.")
    var until: String?

    @Option(help: "The most events, 1 to 10000 (default: 100).")
    var limit: Int?

    @OptionGroup var output: FormatOptions

    @Flag(name: .customLong("json"), help: .hidden)
    var isJSON = false

    package init() {}

    package func run() async throws {
        var selection = AdminService.AuditSelection()
        selection.user = user
        selection.kind = kind
        selection.since = since
        selection.until = until
        if let limit { selection.limit = limit }
        let isJSON = self.isJSON || output.format == .json
        try await runAdminCommand(options, ifEmpty: isJSON ? nil : "No event matches.") { [selection] admin, _ in
            try await admin.audit(selection, as: isJSON ? .json : .text)
        }
    }
}

extension AuditCommand {
    /// Refuses the options that select events. The parser gives them to this command wherever they stand.
    /// - Throws: `ValidationError`.
    package func refuseSelection(because reason: String) throws {
        let selecting = [
            ("--user", user != nil), ("--kind", kind != nil), ("--since", since != nil), ("--until", until != nil),
            ("--limit", limit != nil), ("--json", isJSON),
        ]
        for (name, isGiven) in selecting where isGiven {
            throw ValidationError("\(name) is an option of latchkey audit alone; \(reason)")
        }
    }
}
