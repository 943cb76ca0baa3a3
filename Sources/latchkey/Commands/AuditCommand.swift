import ArgumentParser
import LatchkeyConfiguration
import LatchkeyService

struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Prints, verifies or exports the audit log of accounts, keys and the configuration.",
        discussion: """
            Prints the latest matching events, oldest first. Identities are shown as fingerprints, without subjects. \
            The log is kept for audit.retention.

            Exit status: 0 if the log was read (even if no event matches), 1 if not, 64 for wrong options, 78 for \
            an invalid configuration.
            """,
        subcommands: [VerifyAuditCommand.self, ExportAuditCommand.self])

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

    @Option(name: .long, help: "The most events, 1 to 10000 (default: 100).")
    var limit: Int?

    @OptionGroup var output: FormatOptions

    @Flag(name: .customLong("json"), help: .hidden)
    var isJSON = false

    func run() async throws {
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
    fileprivate func refuseSelection(because reason: String) throws {
        let selecting = [
            ("--user", user != nil), ("--kind", kind != nil), ("--since", since != nil), ("--until", until != nil),
            ("--limit", limit != nil), ("--json", isJSON),
        ]
        for (name, isGiven) in selecting where isGiven {
            throw ValidationError("\(name) is an option of latchkey audit alone; \(reason)")
        }
    }
}

struct VerifyAuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Checks that no sealed event of the audit log was changed, removed or inserted.",
        discussion: """
            A running server seals new events every ten seconds: a seal signs their digests, and that of the seal \
            before. The command checks all seals, names the first entry that is not as it was sealed, and prints the \
            number and the digest of the newest seal. Keep them elsewhere: with --expect, the command also finds that \
            the end of the log was cut off. It needs encryption_keys, to know the server's own keys.

            Exit status: 0 if everything is as it was sealed, 1 if not, 64 for wrong options, 78 for an invalid \
            configuration, or one without the keys that the server's signing keys are encrypted with.
            """)

    @OptionGroup var options: ConfigurationOptions

    @Option(
        name: .long,
        help: ArgumentHelp(
            "A seal that must be there, as the command printed it earlier, or the log.", valueName: "number:digest"))
    var expect: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Vouch for a key that signed seals: the thumbprint (RFC 7638) that you noted. Can be given several times.",
            valueName: "thumbprint"))
    var key: [String] = []

    @OptionGroup var output: FormatOptions

    @ParentCommand var parent: AuditCommand

    func run() async throws {
        try parent.refuseSelection(because: "the log is always verified as a whole")
        var proof = AdminService.AuditProof()
        proof.expected = expect
        proof.keys = key
        try await runAdminCommand(options) { [proof, output] admin, configuration in
            try await admin.verifyAudit(configuration, proof, as: output.format.lines) { print($0) }
            return []
        }
    }
}

struct ExportAuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Prints the audit log with its seals, for a verifier of your own.",
        discussion: """
            One JSON object on each line: the events that a seal covers, then the seal, and so on; at the end the \
            events that are not sealed yet. Tests/Audit/verify.py verifies it.

            Exit status: 0 if the log was read, 1 if not, 64 for wrong options, 78 for an invalid configuration.
            """)

    @OptionGroup var options: ConfigurationOptions

    @ParentCommand var parent: AuditCommand

    func run() async throws {
        try parent.refuseSelection(because: "an export is always whole")
        try await runAdminCommand(options) { admin, _ in
            try await admin.exportAudit { print($0) }
            return []
        }
    }
}
