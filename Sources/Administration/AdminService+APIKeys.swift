import LatchkeyConfiguration
package import LatchkeyService
import OpenIDConnect
package import Primitives
import SignIn
import Storage
import StorageModel

extension AdminService {
    /// The most lines of ``apiKeys()``.
    private static let maximumListed = 5000

    /// Creates an API key, which servers on this database accept within ``apiKeyDelay`` seconds. Only its hash is
    /// stored.
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

    /// The most seconds until running servers accept a new key and refuse a revoked one.
    package static var apiKeyDelay: Int64 { StoredAPIKeys.freshness }

    /// The keys in the database, one line each, without the configuration's.
    package func apiKeys() async throws -> CommandReport {
        let keys = try await store.apiKeysWithRevoked(limit: Self.maximumListed)
        return CommandReport(text: keys.map(\.line), json: keys.map(\.jsonLine))
    }

    /// Revokes a key: servers on this database refuse it within ``apiKeyDelay`` seconds.
    /// - Throws: ``AdministratorError`` if there is no such key.
    package func revokeAPIKey(_ name: String) async throws -> CommandReport {
        let event = event(.apiKeyRevoked) { $0.add("name", name) }
        let isRevoked = try await store.revokeAPIKey(name, at: event.time, recording: event)
        guard isRevoked else {
            throw AdministratorError("there is no valid key of this name; latchkey api-key list shows the keys")
        }
        let line = "\(name) was revoked; running servers refuse it within \(Self.apiKeyDelay) seconds."
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
