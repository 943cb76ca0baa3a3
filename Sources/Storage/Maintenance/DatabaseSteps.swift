package import StorageModel

/// The migrations of a database: those done, and those missing.
package struct DatabaseSteps: Sendable, Hashable {
    /// The completed migrations, by name, in order.
    package let done: [String]
    /// The migrations that the next start, or ``run(on:)``, runs.
    package let pending: [String]

    /// Reads the configured SQLite database, which a server may be using. Blocks.
    package init(of configuration: SQLiteConfiguration) throws(StorageError) {
        let file = try DatabaseFile(configuration.path)
        guard let size = try file.size(), size > 0 else {
            self.init(pending: Schema.migrations)
            return
        }
        do {
            self.init(pending: try SQLiteConnections.read(file.path, configuration) { try Schema.missing($0) })
        } catch {
            throw StorageError(error, "the database \(file.path) cannot be used")
        }
    }

    /// Reads a PostgreSQL database. Blocks.
    package init(of configuration: PostgresConfiguration) throws(StorageError) {
        self.init(pending: try PostgresSchema.withConnection(configuration) { try PostgresSchema.missing($0) })
    }

    private init(pending: [Migration]) {
        let names = pending.map(\.name)
        self.pending = names
        done = Schema.migrations.map(\.name).filter { !names.contains($0) }
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
