/// A step from one version of the tables to the next.
struct Migration: Sendable {
    /// Recorded in every database that it was run on.
    let name: String
    /// The statements for SQLite.
    let statements: [String]
    let postgresStatements: [String]

    /// - Parameters:
    ///   - statements: In SQLite's dialect; translated for PostgreSQL.
    ///   - sqlite: For SQLite only, after the statements for both.
    ///   - postgres: For PostgreSQL in its place.
    init(_ name: String, _ statements: String..., sqlite: String? = nil, postgres: String? = nil) {
        self.name = name
        self.statements = statements + [sqlite].compactMap(\.self)
        postgresStatements = statements.map(PostgresStatementText.translate(schema:)) + [postgres].compactMap(\.self)
    }
}
