package import StorageModel

/// The table `signing_keys`.
package enum SigningKeysTable {
    /// All keys in the order of their addition.
    package static func all(in db: SQLSession) throws -> [SigningKeyRecord] {
        try db.all(
            "SELECT kid, public_key, private_key, created_at, signs_from FROM signing_keys ORDER BY serial"
        ) { row in
            SigningKeyRecord(
                id: try row.text(0), publicKey: row.blob(1), privateKey: row.blob(2), createdAt: row.time(3),
                signsFrom: row.time(4))
        }
    }
}

extension SQLStore {
    package func signingKeys() async throws(StorageError) -> [SigningKeyRecord] {
        try await reads.submit { db in try SigningKeysTable.all(in: db) }
    }

    package func addSigningKey(
        _ key: SigningKeyRecord, after newest: String?, recording event: AuditEvent
    ) async throws(StorageError) -> Bool {
        try await writes.submit { db in
            let added = try db.run(
                """
                INSERT INTO signing_keys (kid, predecessor, public_key, private_key, created_at, signs_from) \
                SELECT ?, ?, ?, ?, ?, ? \
                WHERE (SELECT kid FROM signing_keys ORDER BY serial DESC LIMIT 1) IS NOT DISTINCT FROM ? \
                ON CONFLICT DO NOTHING
                """, key.id, newest ?? "", key.publicKey, key.privateKey, key.createdAt, key.signsFrom, newest)
            guard added > 0 else { return false }
            try AuditTable.insert(event, in: db)
            return true
        }
    }

    package func removeSigningKeys(
        _ ids: [String], recording event: @escaping @Sendable (String) -> AuditEvent
    ) async throws(StorageError) {
        try await writes.submit { db in
            for id in ids where try db.run("DELETE FROM signing_keys WHERE kid = ?", id) > 0 {
                try AuditTable.insert(event(id), in: db)
            }
        }
    }
}
