import GRDB
public import StorageModel

/// The steps by which a database comes to the tables of this version.
public struct DatabaseSteps: Sendable, Hashable {
    /// What has been done to it, by name and in order.
    public let done: [String]
    /// What the next start, or ``run(on:)``, does.
    public let pending: [String]

    /// Looks at the database that a configuration names, which a server may be using meanwhile. Blocks.
    /// - Throws: ``StorageError`` as the opening of a ``SQLStore`` would.
    public init(of configuration: SQLiteConfiguration) throws(StorageError) {
        let file = try DatabaseFile(configuration.path)
        guard let size = try file.size(), size > 0 else {
            (done, pending) = ([], Schema.migrator.migrations)
            return
        }
        do {
            let applied = try SQLiteConnections.read(file.path, configuration) { db in
                try Schema.validate(db)
                return try Schema.migrator.appliedMigrations(db)
            }
            (done, pending) = (applied, Schema.migrator.migrations.filter { !applied.contains($0) })
        } catch {
            let error = StorageError(error)
            throw StorageError(error.code, reason: "the database \(file.path) cannot be used: \(error.reason)")
        }
    }

    /// Looks at a PostgreSQL database. Blocks.
    /// - Throws: ``StorageError`` as the opening of a ``SQLStore`` would.
    public init(of configuration: PostgresConfiguration) throws(StorageError) {
        let pending = try PostgresSchema.withConnection(configuration) { try PostgresSchema.pending($0) }
        self.pending = pending
        done = Schema.migrations.map(\.name).filter { !pending.contains($0) }
    }

    /// Does what is pending on a PostgreSQL database, which has to be there.
    /// - Returns: As it was before.
    /// - Throws: ``StorageError``, and then nothing was done.
    public static func run(on configuration: PostgresConfiguration) throws(StorageError) -> DatabaseSteps {
        let before = try DatabaseSteps(of: configuration)
        try PostgresSchema.bringUpToDate(configuration)
        return before
    }

    /// Makes the database if it is not there, and does what is pending. Servers may be running: what one of them does at
    /// this moment is not done twice.
    /// - Returns: As it was before.
    /// - Throws: ``StorageError``; what was done stays done.
    public static func run(on configuration: SQLiteConfiguration) async throws(StorageError) -> DatabaseSteps {
        let before = try DatabaseSteps(of: configuration)
        try await SQLStore(configuration: configuration).close()
        return before
    }
}
