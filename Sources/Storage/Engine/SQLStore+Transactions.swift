public import Primitives
public import StorageModel

extension SQLStore {
    public func signingKeys() async throws(StorageError) -> [SigningKeyRecord] {
        try await reads.submit { db in try SigningKeysTable.keys(in: db) }
    }

    public func addSigningKey(
        _ key: SigningKeyRecord, after newest: String?
    ) async throws(StorageError) -> Bool {
        try await writes.submit { db in try SigningKeysTable.insert(key, after: newest, in: db) }
    }

    public func removeSigningKeys(_ ids: [String]) async throws(StorageError) {
        try await writes.submit { db in
            for id in ids { try SigningKeysTable.delete(id, in: db) }
        }
    }

    public func addReceipt(
        _ receipt: ReceiptRecord, approvedBy identity: Identity, session: TokenHash, at now: Timestamp
    ) async throws(StorageError) -> ReceiptAdmission {
        try await writes.submit { db in
            guard let user = try SessionsTable.session(session, at: now, in: db)?.user else { return .unknownSession }
            guard try UsersTable.user(identity, in: db)?.id == user.id else { return .otherUser }
            return try ReceiptsTable.insert(receipt, for: user.id, in: db) ? .recorded(user) : .codeUsed
        }
    }

    public func redeemReceipt(_ id: TokenHash, at now: Timestamp) async throws(StorageError) -> ReceiptRedemption {
        try await writes.submit { db in try ReceiptsTable.redeem(id, at: now, in: db) }
    }
}
