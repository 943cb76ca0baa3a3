import ArgumentParser
import LatchkeyService

struct VaultCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vault",
        abstract: "Changes the keys that providers' tokens are encrypted with.",
        discussion: """
            Works on the configured database, also while servers run on it. Ends with 0 if it was done, 1 if not, 64 if \
            the options are wrong, and 78 if the configuration is bad.
            """,
        subcommands: [RotateVaultCommand.self])
}

struct RotateVaultCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Encrypts the stored tokens with the first of vault.encryption_keys.",
        discussion: """
            The key that they are under has to stand behind the first. What was done stays done if the command is \
            interrupted; run it again for the rest. It stands in the audit record. Ends with 1 also if there are rows that \
            none of the keys opens. Without --apply it only counts the rows.
            """)

    @OptionGroup var options: ConfigurationOptions

    @Flag(name: .long, help: "Do it.")
    var apply = false

    func run() async throws {
        try await AdminCommand.print(options) { [apply] desk, configuration in
            try await desk.rotateVault(configuration, applies: apply) { Swift.print($0) }
        }
    }
}
