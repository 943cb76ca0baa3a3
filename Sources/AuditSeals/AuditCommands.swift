import ArgumentParser
import CommandLineSupport
import LatchkeyConfiguration
import LatchkeyService

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

    @OptionGroup var proof: AdminService.AuditProof

    @OptionGroup var output: FormatOptions

    @ParentCommand var parent: AuditCommand

    func run() async throws {
        try parent.refuseSelection(because: "the log is always verified as a whole")
        try await runAdminCommand(options, as: output.format) { [proof] admin, configuration in
            try await admin.verifyAudit(configuration, proof)
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
            return CommandReport(text: [], json: [])
        }
    }
}
