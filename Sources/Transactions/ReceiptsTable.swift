import Primitives
import Storage
import StorageModel

struct ReceiptRecord: Sendable, Hashable {
    /// The hash of the receipt's id.
    let id: TokenHash
    /// The hash of the authorization code, which makes only one receipt.
    let code: TokenHash
    let expiresAt: Timestamp
}

enum ReceiptAdmission: Sendable, Hashable {
    case recorded(User)
    /// The session was revoked or has expired.
    case unknownSession
    /// The identity belongs to another user, or to none.
    case otherUser
    /// The code made a receipt before.
    case codeUsed
}

enum ReceiptRedemption: Sendable, Hashable {
    case redeemed
    case alreadyRedeemed
    case expired
    case unknown
}

extension SQLStore {
    func addReceipt(
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

    func redeemReceipt(_ id: TokenHash, at now: Timestamp) async throws(StorageError) -> ReceiptRedemption {
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
