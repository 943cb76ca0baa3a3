import StorageModel

/// A step from one version of the tables to the next.
struct Migration: Sendable {
    /// On record in every database that has gone through it.
    let name: String
    /// As SQLite is told.
    let statements: [String]
    let postgresStatements: [String]

    /// - Parameter statements: In SQLite's words, which are translated for PostgreSQL.
    init(_ name: String, _ statements: String...) {
        self.name = name
        self.statements = statements
        postgresStatements = statements.map(PostgresStatementText.translate(schema:))
    }

    /// - Parameter postgres: What only PostgreSQL is told.
    init(_ name: String, postgres: String) {
        self.name = name
        statements = []
        postgresStatements = [postgres]
    }

    /// - Parameters:
    ///   - sqlite: What only SQLite is told, after the statements for both.
    ///   - postgres: What PostgreSQL is told in its place.
    init(_ name: String, _ statement: String, sqlite: String, postgres: String) {
        self.name = name
        statements = [statement, sqlite]
        postgresStatements = [PostgresStatementText.translate(schema: statement), postgres]
    }
}
