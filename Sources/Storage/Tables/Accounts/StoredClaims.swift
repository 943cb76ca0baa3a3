package import StorageModel

/// The claims of a user, encrypted by the use case: the id of the key, a colon, and the content.
package struct StoredClaims: Sendable, Hashable {
    package let user: UserID
    package let publicID: String
    package let claims: String

    /// How many users' claims are encrypted with each key.
    static func counts(in db: SQLSession) throws -> [String: Int] {
        let counts = try db.all(
            "SELECT \(key), count(*) FROM users WHERE \(isEncrypted) GROUP BY 1"
        ) { row in (try row.text(0), Int(row.number(1))) }
        return Dictionary(uniqueKeysWithValues: counts)
    }

    fileprivate static let key = "substr(provider_claims, 1, 16)"
    /// Without a key the claims are JSON.
    fileprivate static let isEncrypted = "provider_claims IS NOT NULL AND substr(provider_claims, 1, 1) <> '{'"
}

// MARK: Changing the encryption key of claims

extension SQLStore {
    /// How many users' claims are encrypted with each key, by the keys' ids. Reads all users.
    package func claimCounts() async throws(StorageError) -> [String: Int] {
        try await reads.submit { db in try StoredClaims.counts(in: db) }
    }

    /// Claims that are encrypted with another key, in the order of their users, at most `limit`.
    package func claims(
        notUnder keyID: String, after user: UserID, limit: Int
    ) async throws(StorageError) -> [StoredClaims] {
        try await reads.submit { db in
            try db.all(
                """
                SELECT id, public_id, provider_claims FROM users \
                WHERE id > ? AND \(StoredClaims.isEncrypted) AND \(StoredClaims.key) <> ? ORDER BY id LIMIT ?
                """, user, keyID, Int64(limit)
            ) { row in
                StoredClaims(user: row.user(0), publicID: try row.text(1), claims: try row.text(2))
            }
        }
    }

    /// Stores the same claims encrypted with another key; skips those that changed since they were read.
    /// - Returns: How many were changed.
    package func resealClaims(
        _ rows: [(record: StoredClaims, sealed: String)]
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
