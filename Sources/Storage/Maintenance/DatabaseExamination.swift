package import Primitives
package import StorageModel

/// The state of a database, read without changing it.
package struct DatabaseExamination: Sendable, Hashable {
    /// How many of this version's migrations it has; the next start runs the rest. Nil without a database, which the
    /// first start makes.
    package let steps: Int?
    /// How many migrations this version has.
    package static let allSteps = Schema.migrations.count
    /// The free bytes on its disk; nil for PostgreSQL.
    package let freeBytes: UInt64?
    /// How many rows of provider tokens are encrypted with each key.
    package let tokenKeys: [String: Int]
    /// How many users' claims are encrypted with each key.
    package let claimKeys: [String: Int]
    /// The keys that sign receipts.
    package let signingKeys: [SigningKeyRecord]
    /// The bindings of carriers' issuers; nil if the database has no table for them yet.
    package let issuers: KnownIssuers?

    /// Reads a PostgreSQL database. Blocks.
    /// - Throws: ``StorageError`` as the opening of a store would.
    package init(_ configuration: PostgresConfiguration) throws(StorageError) {
        self = try PostgresSchema.withConnection(configuration) { connection in
            guard let steps = try PostgresSchema.stepsDone(connection) else { return Self(freeBytes: nil) }
            return try Self(steps, freeBytes: nil, in: .postgres(connection)) { table in
                try PostgresSchema.holdsTable(table, connection)
            }
        }
    }

    /// Reads the configured SQLite database, which a server may be using. Blocks.
    /// - Throws: ``StorageError`` as the opening of a ``SQLStore`` would.
    package init(_ configuration: SQLiteConfiguration) throws(StorageError) {
        let file = try DatabaseFile(configuration.path)
        let size = try file.size()
        let freeBytes = try file.freeBytes()
        guard let size, size > 0 else {
            self.init(freeBytes: freeBytes)
            return
        }
        do {
            self = try SQLiteConnections.read(file.path, configuration) { db in
                try Schema.validate(db)
                let steps = try Schema.appliedMigrations(db).count
                return try Self(steps, freeBytes: freeBytes, in: db.session, holds: db.holdsTable)
            }
        } catch {
            throw StorageError(error, "the database \(file.path) cannot be used")
        }
    }

    /// Of a place without a database.
    private init(freeBytes: UInt64?) {
        self.freeBytes = freeBytes
        (steps, tokenKeys, claimKeys, signingKeys, issuers) = (nil, [:], [:], [], nil)
    }

    private init(
        _ steps: Int, freeBytes: UInt64?, in db: SQLSession, holds: (_ table: String) throws -> Bool
    ) throws {
        self.steps = steps
        self.freeBytes = freeBytes
        tokenKeys = try holds("provider_tokens") ? ProviderTokensTable.counts(in: db) : [:]
        claimKeys = try steps == Self.allSteps ? StoredClaims.counts(in: db) : [:]
        signingKeys = try holds("signing_keys") ? SigningKeysTable.all(in: db) : []
        issuers = try holds("issuer_bindings") ? IssuerBindingsTable.all(in: db) : nil
    }
}
