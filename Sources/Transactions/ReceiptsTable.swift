import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel

struct ReceiptRecord: Sendable, Hashable {
    /// The hash of the receipt's id.
    let id: TokenHash
    /// The hash of the authorization code, which makes only one receipt.
    let code: TokenHash
    let expiresAt: Timestamp
}

extension SQLStore {
    /// Records a receipt for the user of a session, if that user approved. A code makes one receipt.
    /// - Returns: Why it is not recorded; nil if it is.
    func addReceipt(
        _ receipt: ReceiptRecord, approvedBy identity: Identity, session: TokenHash, at now: Timestamp
    ) async throws(StorageError) -> SignInError? {
        try await writes.submit { db in
            guard let user = try SessionsTable.session(session, at: now, in: db)?.user else { return .sessionUnknown }
            guard try UsersTable.user(identity, in: db)?.id == user.id else {
                return SignInError(.failed(.sameUser), codeWasPosted: true)
            }
            let count = try db.run(
                """
                INSERT INTO receipts (receipt_hash, code_hash, user_id, expires_at) VALUES (?, ?, ?, ?) \
                ON CONFLICT (code_hash) DO NOTHING
                """, receipt.id, receipt.code, user.id, receipt.expiresAt)
            return count > 0 ? nil : .codeUsed
        }
    }

    /// - Returns: Why it cannot be redeemed; nil if it is redeemed now.
    func redeemReceipt(_ id: TokenHash, at now: Timestamp) async throws(StorageError) -> SignInError? {
        try await writes.submit { db in
            let count = try db.run(
                """
                UPDATE receipts SET redeemed_at = ?1 \
                WHERE receipt_hash = ?2 AND redeemed_at IS NULL AND expires_at > ?1
                """, now, id)
            guard count == 0 else { return nil }
            let isRedeemed = try db.first(
                "SELECT redeemed_at IS NOT NULL FROM receipts WHERE receipt_hash = ?", id
            ) { $0.number(0) == 1 }
            guard let isRedeemed else { return .unknownReceipt }
            return isRedeemed ? .usedReceipt : .expiredReceipt
        }
    }
}
