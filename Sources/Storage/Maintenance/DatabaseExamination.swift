package import Primitives
package import StorageModel

/// The state of a database, read without changing it.
package struct DatabaseExamination: Sendable, Hashable {
    /// The version of its tables, 0 without tables; the next start brings them up to date. Nil without a database,
    /// which the first start makes.
    package let steps: Int?
    /// The version of the tables that this version has.
    package static let allSteps = Schema.version
    /// The free bytes on its disk; nil for PostgreSQL.
    package let freeBytes: UInt64?
    /// How many rows of provider tokens are encrypted with each key.
    package let tokenKeys: [String: Int]
    /// How many users' claims are encrypted with each key.
    package let claimKeys: [String: Int]
    /// The keys that sign receipts.
    package let signingKeys: [SigningKeyRecord]
    /// The bindings of carriers' issuers; nil without tables.
    package let issuers: KnownIssuers?

    /// Reads a PostgreSQL database. Blocks.
    package init(_ configuration: PostgresConfiguration) throws(StorageError) {
        self = try PostgresSchema.withConnection(configuration) { connection in
            let missing = try PostgresSchema.missing(connection)
            guard missing.count < Schema.migrations.count else { return Self(steps: nil, freeBytes: nil) }
            return try Self(missing, freeBytes: nil, in: .postgres(connection))
        }
    }

    /// Reads the configured SQLite database, which a server may be using. Blocks.
    package init(_ configuration: SQLiteConfiguration) throws(StorageError) {
        let file = try DatabaseFile(configuration.path)
        let size = try file.size()
        let freeBytes = try file.freeBytes()
        guard let size, size > 0 else {
            self.init(steps: nil, freeBytes: freeBytes)
            return
        }
        do {
            self = try SQLiteConnections.read(file.path, configuration) { db in
                let missing = try Schema.missing(db)
                guard missing.count < Schema.migrations.count else { return Self(steps: 0, freeBytes: freeBytes) }
                return try Self(missing, freeBytes: freeBytes, in: db.session)
            }
        } catch {
            throw StorageError(error, "the database \(file.path) cannot be used")
        }
    }

    /// Of a place without tables.
    private init(steps: Int?, freeBytes: UInt64?) {
        (self.steps, self.freeBytes) = (steps, freeBytes)
        (tokenKeys, claimKeys, signingKeys, issuers) = ([:], [:], [], nil)
    }

    private init(_ missing: [Migration], freeBytes: UInt64?, in db: SQLSession) throws {
        steps = Schema.version(lacking: missing)
        self.freeBytes = freeBytes
        tokenKeys = try ProviderTokensTable.counts(in: db)
        claimKeys = try StoredClaims.counts(in: db)
        signingKeys = try SigningKeysTable.all(in: db)
        issuers = try IssuerBindingsTable.all(in: db)
    }
}
