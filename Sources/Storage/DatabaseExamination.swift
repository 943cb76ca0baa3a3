import GRDB

/// What there is to say of a database without changing it.
public struct DatabaseExamination: Sendable, Hashable {
    public enum Schema: Sendable, Hashable {
        /// There is no database yet; the first start makes it.
        case missing
        /// How many of this version's steps it has gone through; the next start does the rest.
        case present(steps: Int, of: Int)
    }

    public let schema: Schema
    /// Bytes that there is room for on its disk.
    public let freeBytes: UInt64

    /// Looks at the database that a configuration names, which a server may be using meanwhile. Blocks.
    /// - Throws: ``StorageError`` as the opening of a ``SQLiteStore`` would.
    public init(_ configuration: SQLiteConfiguration) throws(StorageError) {
        let file = try DatabaseFile(configuration.path)
        let size = try file.size()
        freeBytes = try file.freeBytes()
        guard let size, size > 0 else {
            schema = .missing
            return
        }
        do {
            schema = try SQLiteConnections.read(file.path, configuration) { db in
                try Storage.Schema.validate(db)
                let migrator = Storage.Schema.migrator
                return .present(steps: try migrator.appliedMigrations(db).count, of: migrator.migrations.count)
            }
        } catch {
            let error = StorageError(error)
            throw StorageError(error.code, reason: "the database \(file.path) cannot be used: \(error.reason)")
        }
    }
}
