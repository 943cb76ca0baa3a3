package import Primitives

/// A stored receipt of a transaction.
package struct ReceiptRecord: Sendable, Hashable {
    /// The hash of the receipt's id.
    package let id: TokenHash
    /// The hash of the authorization code, which makes only one receipt.
    package let code: TokenHash
    package let expiresAt: Timestamp

    package init(id: TokenHash, code: TokenHash, expiresAt: Timestamp) {
        self.id = id
        self.code = code
        self.expiresAt = expiresAt
    }
}

/// The result of storing a receipt.
package enum ReceiptAdmission: Sendable, Hashable {
    case recorded(User)
    /// The session was revoked or has expired.
    case unknownSession
    /// The identity belongs to another user, or to none.
    case otherUser
    /// The code made a receipt before.
    case codeUsed
}

/// The result of spending a receipt.
package enum ReceiptRedemption: Sendable, Hashable {
    case redeemed
    case alreadyRedeemed
    case expired
    case unknown
}
