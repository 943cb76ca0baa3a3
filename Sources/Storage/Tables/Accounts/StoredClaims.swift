package import StorageModel

/// The claims of a user, encrypted by the use case: the id of the key, a colon, and the content; without a key, JSON.
package struct StoredClaims: Sendable, Hashable {
    package let user: UserID
    package let publicID: String
    package let claims: String

    /// How many users' claims are encrypted with each key. The empty key stands for claims that are not encrypted.
    package static func counts(in db: SQLSession) throws -> [String: Int] {
        try db.counts("SELECT \(key), count(*) FROM users WHERE provider_claims IS NOT NULL GROUP BY 1")
    }

    fileprivate static let key =
        "CASE substr(provider_claims, 1, 1) WHEN '{' THEN '' ELSE substr(provider_claims, 1, 16) END"
}

extension SQLSession {
    /// The counts of a query of texts and numbers.
    func counts(_ sql: SQL) throws -> [String: Int] {
        // Swift takes canonically equivalent ids for the same; the database groups by bytes.
        Dictionary(try all(sql) { row in (try row.text(0), Int(row.number(1))) }, uniquingKeysWith: +)
    }
}

// MARK: Changing the encryption key of claims

extension SQLStore {
    /// How many users' claims are encrypted with each key, by the keys' ids. The empty id stands for claims that are
    /// not encrypted. Reads all users.
    package func claimCounts() async throws(StorageError) -> [String: Int] {
        try await reads.submit { db in try StoredClaims.counts(in: db) }
    }

    /// Claims that are encrypted with another key, or not at all, in the order of their users, at most `limit`.
    package func claims(
        notUnder keyID: String, after user: UserID, limit: Int
    ) async throws(StorageError) -> [StoredClaims] {
        try await reads.submit { db in
            try db.all(
                """
                SELECT id, public_id, provider_claims FROM users \
                WHERE id > ? AND provider_claims IS NOT NULL AND \(StoredClaims.key) <> ? ORDER BY id LIMIT ?
                """, user, keyID, Int64(limit)
            ) { row in
                StoredClaims(user: row.user(0), publicID: try row.text(1), claims: try row.text(2))
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
