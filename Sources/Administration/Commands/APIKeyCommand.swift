import ArgumentParser
import CommandLineSupport
import LatchkeyConfiguration
package import LatchkeyService
import OpenIDConnect
package import Primitives
import SignIn
import StorageModel

struct APIKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "api-key",
        abstract: "Creates, lists and revokes API keys in the database.",
        discussion: """
            These keys are in addition to those of the configuration. A running server accepts a new key and refuses a \
            revoked one within \(StoredAPIKeys.freshness) seconds, without a restart. Every change is written to the \
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
                "\(name) was created; a running server accepts it within \(StoredAPIKeys.freshness) seconds.")
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

extension AdminService {
    /// The most lines of ``apiKeys()``.
    private static let maximumListed = 5000

    /// Creates an API key, which servers on this database accept within ``StoredAPIKeys/freshness`` seconds.
    /// Only its hash is stored.
    /// - Parameters:
    ///   - clients: If empty, the key is for all.
    ///   - origins: As written on the command line. If empty, the key is valid from any.
    ///   - known: The configured clients: a key for any other client is a mistake.
    /// - Throws: ``AdministratorError`` for an invalid or used name, an unknown client, or an invalid origin.
    package func createAPIKey(
        _ name: String, for clients: [String] = [], from origins: [String] = [], known: [String]
    ) async throws -> Secret {
        guard APIKey.isName(name) else {
            throw AdministratorError("the name must be 1 to 64 letters, digits and . _ -")
        }
        for client in clients where !known.contains(client) {
            throw AdministratorError("no provider has a client \(client.debugDescription)")
        }
        let origins = try origins.map { text in
            guard let origin = Origin(text) else {
                throw AdministratorError(
                    "\(text.debugDescription) is not an origin; write https://app.example.com, without a path")
            }
            return origin.text
        }
        let secret = Secret(RandomSource.system.token())
        let key = StoredAPIKey(
            name: name, hash: TokenHash(sha256Of: secret.exposed),
            clients: clients.isEmpty ? nil : clients, origins: origins.isEmpty ? nil : origins, createdAt: clock.now())
        let event = event(.apiKeyCreated) { json in
            json.add("name", name)
            if let clients = key.clients { json.add("clients", clients) }
            if let origins = key.origins { json.add("origins", origins) }
        }
        let addition = try await store.addAPIKey(key, limit: StoredAPIKeys.limit, recording: event)
        switch addition {
        case .added: return secret
        case .nameTaken: throw AdministratorError("there is already a key \(name); revoke it, or choose another name")
        case .tooMany: throw AdministratorError("there are \(StoredAPIKeys.limit) keys; revoke some first")
        }
    }

    /// The keys in the database, one line each, without the configuration's.
    package func apiKeys() async throws -> CommandReport {
        let keys = try await store.apiKeysWithRevoked(limit: Self.maximumListed)
        return CommandReport(text: keys.map(\.line), json: keys.map(\.jsonLine))
    }

    /// Revokes a key: servers on this database refuse it within ``StoredAPIKeys/freshness`` seconds.
    /// - Throws: ``AdministratorError`` if there is no such key.
    package func revokeAPIKey(_ name: String) async throws -> CommandReport {
        let event = event(.apiKeyRevoked) { $0.add("name", name) }
        let isRevoked = try await store.revokeAPIKey(name, at: event.time, recording: event)
        guard isRevoked else {
            throw AdministratorError("there is no valid key of this name; latchkey api-key list shows the keys")
        }
        let line = "\(name) was revoked; running servers refuse it within \(StoredAPIKeys.freshness) seconds."
        return report([line]) { $0.add("name", name) }
    }
}

extension StoredAPIKey {
    fileprivate var line: String {
        var words = [name, "created=\(UTCTime.text(createdAt))"]
        if let clients { words.append("clients=\(clients.joined(separator: ","))") }
        if let origins { words.append("origins=\(origins.joined(separator: ","))") }
        if let revokedAt { words.append("revoked=\(UTCTime.text(revokedAt))") }
        return words.joined(separator: " ")
    }

    fileprivate var jsonLine: String {
        JSONObjectWriter.text { json in
            json.add("name", name)
            json.add("created_at", UTCTime.text(createdAt))
            if let clients { json.add("clients", clients) }
            if let origins { json.add("origins", origins) }
            json.add("revoked_at", ifPresent: revokedAt.map(UTCTime.text))
        }
    }
}
