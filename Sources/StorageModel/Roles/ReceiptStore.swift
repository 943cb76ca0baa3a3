package import Primitives

/// The receipts of authorized transactions.
package protocol ReceiptStore: Sendable {
    /// Stores a receipt, if the identity that approved the transaction belongs to the user who holds the session.
    func addReceipt(
        _ receipt: ReceiptRecord, approvedBy identity: Identity, session: TokenHash, at now: Timestamp
    ) async throws(StorageError) -> ReceiptAdmission

    /// Spends a receipt: `.redeemed` once, before it expires.
    func redeemReceipt(_ id: TokenHash, at now: Timestamp) async throws(StorageError) -> ReceiptRedemption
}
