import ArgumentParser
import LatchkeyService
import Primitives

struct APIKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "api-key",
        abstract: "Makes, lists and revokes API keys in the database.",
        discussion: """
            Beside the keys of the configuration. A running server takes a new key and refuses a revoked one within \
            \(AdminService.apiKeyDelay) seconds, without a restart. What is done stands in the audit record. Ends with \
            0 if it was done, 1 if not, 64 if the options are wrong, and 78 if the configuration is bad.
            """,
        subcommands: [CreateAPIKeyCommand.self, ListAPIKeysCommand.self, RevokeAPIKeyCommand.self])
}

struct CreateAPIKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Makes a key and prints it, this once: only its SHA-256 is kept.",
        discussion: "The key alone goes to standard output.")

    @OptionGroup var options: ConfigurationOptions

    @Argument(help: "What to call it: letters, digits and signs of . _ -")
    var name: String

    @Option(
        name: .long, help: "A client whose users and sessions it is good for; may stand several times. Without it, all."
    )
    var client: [String] = []

    @Option(
        name: .long,
        help: "An origin that requests with it must come from; may stand several times. Without it, from anywhere.")
    var origin: [String] = []

    func run() async throws {
        var request = AdminService.APIKeyRequest(name: name)
        request.clients = client
        request.origins = origin
        try await AdminCommand.print(options) { [request] desk, configuration in
            let key = try await desk.createAPIKey(request, in: configuration)
            StandardError.print(
                "\(request.name) is made; a running server takes it within \(AdminService.apiKeyDelay) seconds.")
            return [key.exposed]
        }
    }
}

struct ListAPIKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists the keys in the database, also those that were revoked.")

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        try await AdminCommand.print(options, ifNothing: "There are no keys in the database.") { desk, _ in
            try await desk.apiKeys()
        }
    }
}

struct RevokeAPIKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Revokes a key in the database; one of the configuration is removed there.")

    @OptionGroup var options: ConfigurationOptions

    @Argument(help: "What it is called.")
    var name: String

    func run() async throws {
        try await AdminCommand.print(options) { [name] desk, _ in try await desk.revokeAPIKey(name) }
    }
}
