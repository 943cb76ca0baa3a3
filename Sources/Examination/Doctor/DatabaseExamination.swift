package import Primitives
package import Storage
package import StorageModel

/// The state of a database, read without changing it.
package struct DatabaseExamination: Sendable, Hashable {
    /// The version of its tables, 0 without tables; the next start brings them up to date. Nil without a database,
    /// which the first start makes.
    package private(set) var steps: Int?
    /// The version of the tables that this version has.
    package static let allSteps = Schema.version
    /// The free bytes on its disk; nil for PostgreSQL.
    package let freeBytes: UInt64?
    /// How many rows of provider tokens are encrypted with each key.
    package private(set) var tokenKeys: [String: Int] = [:]
    /// How many users' claims are encrypted with each key.
    package private(set) var claimKeys: [String: Int] = [:]
    /// The keys that sign receipts.
    package private(set) var signingKeys: [SigningKeyRecord] = []
    /// The bindings of carriers' issuers; nil without tables.
    package private(set) var issuers: KnownIssuers?

    /// Reads the database, which servers may be using. Blocks.
    package init(_ place: any DatabaseLocation) throws(StorageError) {
        let examination = Self(freeBytes: try place.freeBytes())
        let found = try place.read { missing, db in
            var found = examination
            guard missing.count < Schema.migrations.count else {
                found.steps = db.isPostgres ? nil : 0
                return found
            }
            found.steps = Schema.version(lacking: missing)
            found.tokenKeys = try ProviderTokensTable.counts(in: db)
            found.claimKeys = try UsersTable.claimCounts(in: db)
            found.signingKeys = try SigningKeysTable.all(in: db)
            found.issuers = try IssuerBindingsTable.all(in: db)
            return found
        }
        self = found ?? examination
    }

    private init(freeBytes: UInt64?) { self.freeBytes = freeBytes }
}
