package import Primitives
package import StorageModel

/// The table `receipts`.
extension SQLStore {
    package func addReceipt(
        _ receipt: ReceiptRecord, approvedBy identity: Identity, session: TokenHash, at now: Timestamp
    ) async throws(StorageError) -> ReceiptAdmission {
        try await writes.submit { db in
            guard let user = try SessionsTable.session(session, at: now, in: db)?.user else { return .unknownSession }
            guard try UsersTable.user(identity, in: db)?.id == user.id else { return .otherUser }
            let count = try db.run(
                """
                INSERT INTO receipts (receipt_hash, code_hash, user_id, expires_at) VALUES (?, ?, ?, ?) \
                ON CONFLICT (code_hash) DO NOTHING
                """, receipt.id, receipt.code, user.id, receipt.expiresAt)
            return count > 0 ? .recorded(user) : .codeUsed
        }
    }

    package func redeemReceipt(_ id: TokenHash, at now: Timestamp) async throws(StorageError) -> ReceiptRedemption {
        try await writes.submit { db in
            let count = try db.run(
                """
                UPDATE receipts SET redeemed_at = ?1 \
                WHERE receipt_hash = ?2 AND redeemed_at IS NULL AND expires_at > ?1
                """, now, id)
            guard count == 0 else { return .redeemed }
            let isRedeemed = try db.first(
                "SELECT redeemed_at IS NOT NULL FROM receipts WHERE receipt_hash = ?", id
            ) { $0.number(0) == 1 }
            guard let isRedeemed else { return .unknown }
            return isRedeemed ? .alreadyRedeemed : .expired
        }
    }
}

/// The table `signing_keys`.
enum SigningKeysTable {
    /// All keys in the order of their addition.
    static func all(in db: SQLSession) throws -> [SigningKeyRecord] {
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
