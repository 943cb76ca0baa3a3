package import ArgumentParser
package import LatchkeyConfiguration
package import LatchkeyService

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
