import Primitives
import StorageModel

/// The table `receipts`.
enum ReceiptsTable {
    /// False if the code made a receipt before.
    static func insert(_ receipt: ReceiptRecord, for user: UserID, in db: SQLSession) throws -> Bool {
        var statement = try CachedStatement(db, insert)
        statement.bind(receipt.id)
        statement.bind(receipt.code)
        statement.bind(user.number)
        statement.bind(receipt.expiresAt.secondsSinceEpoch)
        try statement.run()
        return db.changesCount > 0
    }

    static func redeem(_ id: TokenHash, at now: Timestamp, in db: SQLSession) throws -> ReceiptRedemption {
        var update = try CachedStatement(db, redeem)
        update.bind(now.secondsSinceEpoch)
        update.bind(id)
        try update.run()
        if db.changesCount > 0 { return .redeemed }
        var query = try CachedStatement(db, "SELECT redeemed_at IS NOT NULL FROM receipts WHERE receipt_hash = ?")
        query.bind(id)
        guard try query.next() else { return .unknown }
        return query.number(0) == 1 ? .alreadyRedeemed : .expired
    }

    private static let insert = """
        INSERT INTO receipts (receipt_hash, code_hash, user_id, expires_at) VALUES (?, ?, ?, ?) \
        ON CONFLICT (code_hash) DO NOTHING
        """
    private static let redeem = """
        UPDATE receipts SET redeemed_at = ?1 WHERE receipt_hash = ?2 AND redeemed_at IS NULL AND expires_at > ?1
        """
}
