package import Primitives
package import Storage
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

    /// Reads the database, which servers may be using. Blocks.
    package init(_ place: any DatabaseLocation) throws(StorageError) {
        let freeBytes = try place.freeBytes()
        let found = try place.read { missing, db in
            guard missing.count < Schema.migrations.count else {
                return Self(steps: db.isPostgres ? nil : 0, freeBytes: freeBytes)
            }
            return try Self(missing, freeBytes: freeBytes, in: db)
        }
        self = found ?? Self(steps: nil, freeBytes: freeBytes)
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
        claimKeys = try UsersTable.claimCounts(in: db)
        signingKeys = try SigningKeysTable.all(in: db)
        issuers = try IssuerBindingsTable.all(in: db)
    }
}
