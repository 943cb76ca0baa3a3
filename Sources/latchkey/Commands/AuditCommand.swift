import ArgumentParser
import LatchkeyConfiguration
import LatchkeyService

struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Prints the audit record of accounts.",
        discussion: """
            Prints the latest matching events, oldest first. Identities are shown as fingerprints, without subjects. \
            The record is kept for audit.retention.

            Exit status: 0 if the record was read (even if no event matches), 1 if not, 64 for wrong options, 78 for \
            an invalid configuration.
            """)

    @OptionGroup var options: ConfigurationOptions

    @Option(name: .long, help: "Only events of this user.")
    var user: Int64?

    @Option(
        name: .long, help: "Only events of this kind, such as identity.moved.",
        completion: .list(AdminService.auditKinds))
    var kind: String?

    @Option(
        name: .long, help: "Only events since this time: 2026-11-21, 2026-11-21T01:02:03Z, or an age such as 24h or 7d."
    ) var since: String?

    @Option(name: .long, help: "Only events before this time.")
    var until: String?

    @Option(name: .long, help: "The most events, 1 to 10000.")
    var limit = 100

    @OptionGroup var output: FormatOptions

    @Flag(name: .customLong("json"), help: .hidden)
    var isJSON = false

    func run() async throws {
        var selection = AdminService.AuditSelection()
        selection.user = user
        selection.kind = kind
        selection.since = since
        selection.until = until
        selection.limit = limit
        let isJSON = self.isJSON || output.format == .json
        try await runAdminCommand(options, ifEmpty: isJSON ? nil : "No event matches.") { [selection] admin, _ in
            try await admin.audit(selection, as: isJSON ? .json : .text)
        }
    }
}
