import GRDB
package import StorageModel

/// The state of a database, read without changing it.
package struct DatabaseExamination: Sendable, Hashable {
    package enum Schema: Sendable, Hashable {
        /// There is no database yet; the first start makes one.
        case missing
        /// How many of this version's migrations it has; the next start runs the rest.
        case present(steps: Int, of: Int)
    }

    package let schema: Schema
    /// The free bytes on its disk; nil for PostgreSQL.
    package let freeBytes: UInt64?
    /// How many rows of provider tokens are encrypted with each key.
    package let tokenKeys: [String: Int]

    /// Reads a PostgreSQL database. Blocks.
    /// - Throws: ``StorageError`` as the opening of a store would.
    package init(_ configuration: PostgresConfiguration) throws(StorageError) {
        freeBytes = nil
        (schema, tokenKeys) = try PostgresSchema.withConnection(configuration) {
            connection throws -> (Schema, [String: Int]) in
            guard let steps = try PostgresSchema.stepsDone(connection) else { return (.missing, [:]) }
            let keys =
                try PostgresSchema.holdsTable("provider_tokens", connection)
                ? ProviderTokensTable.counts(in: .postgres(connection)) : [:]
            return (Schema.present(steps: steps, of: Storage.Schema.migrations.count), keys)
        }
    }

    /// Reads the configured SQLite database, which a server may be using. Blocks.
    /// - Throws: ``StorageError`` as the opening of a ``SQLiteStore`` would.
    package init(_ configuration: SQLiteConfiguration) throws(StorageError) {
        let file = try DatabaseFile(configuration.path)
        let size = try file.size()
        freeBytes = try file.freeBytes()
        guard let size, size > 0 else {
            schema = .missing
            tokenKeys = [:]
            return
        }
        do {
            (schema, tokenKeys) = try SQLiteConnections.read(file.path, configuration) { db in
                try Storage.Schema.validate(db)
                let migrator = Storage.Schema.migrator
                let steps = try migrator.appliedMigrations(db).count
                let keys = try db.tableExists("provider_tokens") ? ProviderTokensTable.counts(in: .sqlite(db)) : [:]
                return (Schema.present(steps: steps, of: migrator.migrations.count), keys)
            }
        } catch {
            let error = StorageError(error)
            throw StorageError(error.code, reason: "the database \(file.path) cannot be used: \(error.reason)")
        }
    }
}
