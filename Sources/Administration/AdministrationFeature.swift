package import ArgumentParser
package import LatchkeyConfiguration
package import LatchkeyService
import StorageModel

/// The administrator's commands for accounts, keys and the database (docs/operations.md). It is no part of the running
/// server.
package struct AdministrationFeature: Feature {
    package init?(_ settings: NoSettings, in context: FeatureContext) { nil }

    package static var commands: [any ParsableCommand.Type] {
        [
            UsersCommand.self, APIKeyCommand.self, VaultCommand.self, MigrateCommand.self, BackupCommand.self,
            RestoreCommand.self, CopyCommand.self,
        ]
    }
}

extension CommandReport {
    /// At most `limit` lines, and one more that says so if there are more.
    func cut(at limit: Int) -> CommandReport {
        guard text.count > limit else { return self }
        return CommandReport(
            text: text.prefix(limit) + ["… and more; the first \(limit) are shown"],
            json: json.prefix(limit) + [#"{"more":true}"#])
    }
}

extension AuditEvent.Kind {
    static let apiKeyCreated = AuditEvent.Kind("api_key.created")
    static let apiKeyRevoked = AuditEvent.Kind("api_key.revoked")
    static let allSessionsRevoked = AuditEvent.Kind("session.all_revoked")
    /// The stored tokens and claims are encrypted with another key.
    static let vaultRotated = AuditEvent.Kind("vault.rotated")
}
