import GRDB
public import StorageModel

/// What there is to say of a database without changing it.
public struct DatabaseExamination: Sendable, Hashable {
    public enum Schema: Sendable, Hashable {
        /// There is no database yet; the first start makes it.
        case missing
        /// How many of this version's steps it has gone through; the next start does the rest.
        case present(steps: Int, of: Int)
    }

    public let schema: Schema
    /// Bytes that there is room for on its disk; nil where that is a server's.
    public let freeBytes: UInt64?
    /// How many rows of provider tokens are under each key.
    public let tokenKeys: [String: Int]

    /// Looks at a PostgreSQL database. Blocks.
    /// - Throws: ``StorageError`` as the opening of a store would.
    public init(_ configuration: PostgresConfiguration) throws(StorageError) {
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

    /// Looks at the database that a configuration names, which a server may be using meanwhile. Blocks.
    /// - Throws: ``StorageError`` as the opening of a ``SQLiteStore`` would.
    public init(_ configuration: SQLiteConfiguration) throws(StorageError) {
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
