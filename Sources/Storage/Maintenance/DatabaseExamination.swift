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
        freeBytes = nil
        (steps, tokenKeys, claimKeys, signingKeys, issuers) = try PostgresSchema.withConnection(configuration) {
            connection in
            guard let steps = try PostgresSchema.stepsDone(connection) else { return (nil, [:], [:], [], nil) }
            let holdsTokens = try PostgresSchema.holdsTable("provider_tokens", connection)
            return (
                steps, try holdsTokens ? ProviderTokensTable.counts(in: .postgres(connection)) : [:],
                try steps == Self.allSteps ? StoredClaims.counts(in: .postgres(connection)) : [:],
                try PostgresSchema.holdsTable("signing_keys", connection)
                    ? SigningKeysTable.all(in: .postgres(connection)) : [],
                try PostgresSchema.holdsTable("issuer_bindings", connection)
                    ? IssuerBindingsTable.all(in: .postgres(connection)) : nil
            )
        }
    }

    /// Reads the configured SQLite database, which a server may be using. Blocks.
    /// - Throws: ``StorageError`` as the opening of a ``SQLStore`` would.
    package init(_ configuration: SQLiteConfiguration) throws(StorageError) {
        let file = try DatabaseFile(configuration.path)
        let size = try file.size()
        freeBytes = try file.freeBytes()
        guard let size, size > 0 else {
            (steps, tokenKeys, claimKeys, signingKeys, issuers) = (nil, [:], [:], [], nil)
            return
        }
        do {
            (steps, tokenKeys, claimKeys, signingKeys, issuers) = try SQLiteConnections.read(
                file.path, configuration
            ) { db in
                try Schema.validate(db)
                let holdsTokens = try db.holdsTable("provider_tokens")
                let steps = try Schema.appliedMigrations(db).count
                return (
                    steps, try holdsTokens ? ProviderTokensTable.counts(in: db.session) : [:],
                    try steps == Self.allSteps ? StoredClaims.counts(in: db.session) : [:],
                    try db.holdsTable("signing_keys") ? SigningKeysTable.all(in: db.session) : [],
                    try db.holdsTable("issuer_bindings")
                        ? IssuerBindingsTable.all(in: db.session) : nil
                )
            }
        } catch {
            throw StorageError(error, "the database \(file.path) cannot be used")
        }
    }
}
