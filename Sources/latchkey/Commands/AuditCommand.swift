import ArgumentParser
import LatchkeyConfiguration
import LatchkeyService

struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Prints the record of what was done to accounts.",
        discussion: """
            The latest events that fit, the oldest of them first. Of identities it has fingerprints, and no subject. The \
            record is kept for audit.retention.

            Ends with 0 if it could be read (even if nothing fits), 1 if not, 64 if the options are wrong, and 78 if the \
            configuration has problems.
            """)

    @OptionGroup var options: ConfigurationOptions

    @Option(name: .long, help: "Only what was done to this user.")
    var user: Int64?

    @Option(name: .long, help: "Only events of this kind, such as identity.moved.")
    var kind: String?

    @Option(name: .long, help: "Only events since then: 2026-11-21, 2026-11-21T01:02:03Z, or an age such as 24h or 7d.")
    var since: String?

    @Option(name: .long, help: "Only events before then.")
    var until: String?

    @Option(name: .long, help: "At most so many, 1 to 10000.")
    var limit = 100

    @Option(name: .long, help: "text for people, json for programs: one object a line.")
    var format = ReportFormat.text

    @Flag(name: .customLong("json"), help: .hidden)
    var isJSON = false

    func run() async throws {
        var selection = AdminService.AuditSelection()
        selection.user = user
        selection.kind = kind
        selection.since = since
        selection.until = until
        selection.limit = limit
        let isJSON = self.isJSON || format == .json
        try await AdminCommand.print(options, ifNothing: isJSON ? nil : "No event fits.") { [selection] desk, _ in
            try await desk.audit(selection, as: isJSON ? .json : .text)
        }
    }
}
