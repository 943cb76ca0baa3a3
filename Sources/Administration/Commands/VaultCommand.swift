import ArgumentParser
import CommandLineSupport

struct VaultCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vault",
        abstract: "Changes the encryption key of providers' tokens and claims.",
        discussion: """
            Works on the configured database, also while servers run.

            Exit status: 0 if it succeeded, 1 if not, 64 for wrong options, 78 for an invalid configuration.
            """,
        subcommands: [RotateVaultCommand.self])
}

struct RotateVaultCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Encrypts the stored tokens and claims with the first of encryption_keys.",
        discussion: """
            The keys that they are encrypted with must follow the first. If the command is interrupted, finished rows \
            stay as they are; run it again for the rest. The change is written to the audit log. The exit status is \
            also 1 if none of the keys decrypts some rows. Without --apply the command only counts the rows.
            """)

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Encrypt the rows; without it, the command only counts them.")
    var apply = false

    @Flag(help: "With --apply: delete claims that no key decrypts. Their users' next sign-ins store new ones.")
    var deleteUnreadableClaims = false

    @OptionGroup var output: FormatOptions

    func run() async throws {
        let format = output.format
        try await runAdminCommand(options, as: format) { [apply, deleteUnreadableClaims] admin, configuration in
            try await admin.rotateVault(
                configuration, applies: apply, deletesUnreadableClaims: deleteUnreadableClaims
            ) { line in
                // A program reads standard output.
                if format == .json { Console.warn(line) } else { print(line) }
            }
        }
    }
}
