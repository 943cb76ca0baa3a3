package import StorageModel

/// The migrations of a database: those done, and those missing.
package struct DatabaseSteps: Sendable, Hashable {
    /// The completed migrations, by name, in order.
    package let done: [String]
    /// The migrations that the next start, or ``run(on:)``, runs.
    package let pending: [String]

    /// Reads the configured SQLite database, which a server may be using. Blocks.
    /// - Throws: ``StorageError`` as the opening of a ``SQLStore`` would.
    package init(of configuration: SQLiteConfiguration) throws(StorageError) {
        let file = try DatabaseFile(configuration.path)
        guard let size = try file.size(), size > 0 else {
            (done, pending) = ([], Schema.migrations.map(\.name))
            return
        }
        do {
            let applied = try SQLiteConnections.read(file.path, configuration) { db in
                try Schema.validate(db)
                return try Schema.appliedMigrations(db)
            }
            (done, pending) = (applied, Schema.migrations.map(\.name).filter { !applied.contains($0) })
        } catch {
            throw StorageError(error, "the database \(file.path) cannot be used")
        }
    }

    /// Reads a PostgreSQL database. Blocks.
    /// - Throws: ``StorageError`` as the opening of a ``SQLStore`` would.
    package init(of configuration: PostgresConfiguration) throws(StorageError) {
        let pending = try PostgresSchema.withConnection(configuration) { try PostgresSchema.missing($0).map(\.name) }
        self.pending = pending
        done = Schema.migrations.map(\.name).filter { !pending.contains($0) }
    }

    /// Runs the missing migrations on a PostgreSQL database, which must exist.
    /// - Returns: The state before.
    /// - Throws: ``StorageError``, and then nothing was changed.
    package static func run(on configuration: PostgresConfiguration) throws(StorageError) -> DatabaseSteps {
        let before = try DatabaseSteps(of: configuration)
        try PostgresSchema.bringUpToDate(configuration)
        return before
    }

    /// Makes the database if it is missing, and runs the missing migrations. Servers may be running: no migration runs
    /// twice.
    /// - Returns: The state before.
    /// - Throws: ``StorageError``; completed migrations stay.
    package static func run(on configuration: SQLiteConfiguration) async throws(StorageError) -> DatabaseSteps {
        let before = try DatabaseSteps(of: configuration)
        try await SQLStore(configuration: configuration).close()
        return before
    }
}
