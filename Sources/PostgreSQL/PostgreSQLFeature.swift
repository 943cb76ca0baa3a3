package import LatchkeyConfiguration
package import LatchkeyService
package import Storage

/// Databases on a PostgreSQL server, in place of an SQLite file (docs/database.md).
package struct PostgreSQLFeature: Feature {
    package init?(_ settings: PostgreSQLSettings, in context: FeatureContext) { nil }

    package static func database(_ settings: Configuration.Database) -> (any DatabaseLocation)? {
        guard case .postgres(let url) = settings.url else { return nil }
        return PostgresConfiguration(
            url: url.secret, poolerURL: settings.postgresURLs.dropFirst().first?.url.secret,
            poolSize: settings.poolSize, statementTimeout: settings.statementTimeout,
            maximumWait: settings.maximumWait)
    }
}
