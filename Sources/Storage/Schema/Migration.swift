import StorageModel

/// A step from one version of the tables to the next.
struct Migration: Sendable {
    /// Recorded in every database that it was run on.
    let name: String
    /// The statements for SQLite.
    let statements: [String]
    let postgresStatements: [String]

    /// - Parameter statements: In SQLite's dialect; translated for PostgreSQL.
    init(_ name: String, _ statements: String...) {
        self.name = name
        self.statements = statements
        postgresStatements = statements.map(PostgresStatementText.translate(schema:))
    }

    /// - Parameter postgres: For PostgreSQL only.
    init(_ name: String, postgres: String) {
        self.name = name
        statements = []
        postgresStatements = [postgres]
    }

    /// - Parameters:
    ///   - sqlite: For SQLite only, after the statement for both.
    ///   - postgres: For PostgreSQL in its place.
    init(_ name: String, _ statement: String, sqlite: String, postgres: String) {
        self.name = name
        statements = [statement, sqlite]
        postgresStatements = [PostgresStatementText.translate(schema: statement), postgres]
    }
}
