import Primitives
import Storage
import StorageModel

extension TestStore {
    func signingKeys() async throws(StorageError) -> [SigningKeyRecord] {
        try await using { store async throws(StorageError) in try await store.signingKeys() }
    }

    func addSigningKey(_ key: SigningKeyRecord, after newest: String?) async throws(StorageError) -> Bool {
        try await using { store async throws(StorageError) in try await store.addSigningKey(key, after: newest) }
    }

    func removeSigningKeys(_ ids: [String]) async throws(StorageError) {
        try await using { store async throws(StorageError) in try await store.removeSigningKeys(ids) }
    }

    func addReceipt(
        _ receipt: ReceiptRecord, approvedBy identity: Identity, session: TokenHash, at now: Timestamp
    ) async throws(StorageError) -> ReceiptAdmission {
        try await using { store async throws(StorageError) in
            try await store.addReceipt(receipt, approvedBy: identity, session: session, at: now)
        }
    }

    func redeemReceipt(_ id: TokenHash, at now: Timestamp) async throws(StorageError) -> ReceiptRedemption {
        try await using { store async throws(StorageError) in try await store.redeemReceipt(id, at: now) }
    }
}
