import ArgumentParser
import CommandLineSupport
import LatchkeyConfiguration
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn

struct APIKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "api-key",
        abstract: "Creates, lists and revokes API keys in the database.",
        discussion: """
            These keys are in addition to those of the configuration. A running server accepts a new key and refuses a \
            revoked one within \(AdminService.apiKeyDelay) seconds, without a restart. Every change is written to the \
            audit log.

            Exit status: 0 if it succeeded, 1 if not, 64 for wrong options, 78 for an invalid configuration.
            """,
        subcommands: [CreateAPIKeyCommand.self, ListAPIKeysCommand.self, RevokeAPIKeyCommand.self])
}

struct CreateAPIKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Creates a key and prints it once: only its SHA-256 is stored.",
        discussion: "Standard output has the key and nothing else, with --format json its name and the key.")

    @OptionGroup var options: ConfigurationOptions

    @Argument(help: "The key's name: letters, digits and . _ -")
    var name: String

    @Option(help: "A client whose users and sessions the key gives access to; may be repeated (default: all).")
    var client: [String] = []

    @Option(help: "An origin that requests with the key must come from; may be repeated (default: any).")
    var origin: [String] = []

    @OptionGroup var output: FormatOptions

    func run() async throws {
        try await runAdminCommand(options, as: output.format) { [name, client, origin] admin, configuration in
            let key = try await admin.createAPIKey(
                name, for: client, from: origin, known: configuration.allClients.map(\.id.text))
            Console.warn(
                "\(name) was created; a running server accepts it within \(AdminService.apiKeyDelay) seconds.")
            return CommandReport(text: [key.exposed]) { json in
                json.add("name", name)
                json.add("key", key.exposed)
            }
        }
    }
}

struct ListAPIKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists the keys in the database, including revoked ones.")

    @OptionGroup var options: ConfigurationOptions

    @OptionGroup var output: FormatOptions

    func run() async throws {
        let notice = "There are no keys in the database."
        try await runAdminCommand(options, as: output.format, ifEmpty: notice) { admin, _ in
            try await admin.apiKeys()
        }
    }
}

struct RevokeAPIKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revokes a key in the database; a configured key is removed from the configuration.")

    @OptionGroup var options: ConfigurationOptions

    @Argument(help: "The key's name.")
    var name: String

    @OptionGroup var output: FormatOptions

    func run() async throws {
        try await runAdminCommand(options, as: output.format) { [name] admin, _ in
            try await admin.revokeAPIKey(name)
        }
    }
}
