package import Storage
package import StorageModel

/// The claims of a user, encrypted by the use case: the id of the key, a colon, and the content; without a key, JSON.
package struct StoredClaims: Sendable, Hashable {
    package let user: UserID
    package let publicID: String
    package let claims: String
}

// The rows that `latchkey vault rotate` encrypts with another key.
extension SQLStore {
    /// How many rows of tokens and of users' claims are encrypted with each key, by the keys' ids. The empty id stands
    /// for claims that are not encrypted. Reads all users.
    package func encryptedRowCounts() async throws(StorageError) -> [String: Int] {
        try await reads.submit { db in
            try ProviderTokensTable.counts(in: db).merging(try UsersTable.claimCounts(in: db), uniquingKeysWith: +)
        }
    }

    /// Rows of provider tokens that are encrypted with another key, in the order they were added, at most `limit`.
    package func providerTokens(
        notUnder keyID: String, after serial: Int64, limit: Int
    ) async throws(StorageError) -> [ProviderTokenRecord] {
        try await reads.submit { db in
            try db.all(
                "\(ProviderTokensTable.select) WHERE serial > ? AND key_id <> ? ORDER BY serial LIMIT ?",
                serial, keyID, Int64(limit), read: ProviderTokenRecord.init)
        }
    }

    /// Stores the same tokens encrypted with another key; skips rows that changed since they were read. Versions stay,
    /// so that a process that has claimed a row can store its result.
    /// - Parameter rows: The rows as they were read, each with its tokens encrypted with another key.
    /// - Returns: How many rows were changed.
    package func resealProviderTokens(
        _ rows: [(record: ProviderTokenRecord, sealed: SealedTokens)]
    ) async throws(StorageError) -> Int {
        try await writes.submit { db in
            try rows.count { row in
                try db.run(
                    "UPDATE provider_tokens SET key_id = ?, content = ? WHERE serial = ? AND version = ?",
                    row.sealed.keyID, row.sealed.content, row.record.serial, row.record.version) > 0
            }
        }
    }

    /// Claims that are encrypted with another key, or not at all, in the order of their users, at most `limit`.
    package func claims(
        notUnder keyID: String, after user: UserID, limit: Int
    ) async throws(StorageError) -> [StoredClaims] {
        try await reads.submit { db in
            try db.all(
                """
                SELECT id, public_id, provider_claims FROM users \
                WHERE id > ? AND provider_claims IS NOT NULL AND \(UsersTable.claimKey) <> ? ORDER BY id LIMIT ?
                """, user, keyID, Int64(limit)
            ) { row in
                StoredClaims(user: UserID(row.number(0)), publicID: try row.text(1), claims: try row.text(2))
            }
        }
    }

    /// Stores the same claims encrypted with another key, or removes those for which `sealed` is nil. Those that
    /// changed since they were read are left as they are.
    /// - Returns: How many were changed.
    package func resealClaims(
        _ rows: [(record: StoredClaims, sealed: String?)]
    ) async throws(StorageError) -> Int {
        try await writes.submit { db in
            try rows.count { row in
                try db.run(
                    "UPDATE users SET provider_claims = ? WHERE id = ? AND provider_claims = ?", row.sealed,
                    row.record.user, row.record.claims) > 0
            }
        }
    }
}
