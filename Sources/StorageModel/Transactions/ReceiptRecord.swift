public import Primitives

/// A receipt of a transaction, as it is recorded.
public struct ReceiptRecord: Sendable, Hashable {
    /// The hash of the id that stands in the receipt.
    public let id: TokenHash
    /// Stands for the authorization code, which makes no second receipt.
    public let code: TokenHash
    public let expiresAt: Timestamp

    public init(id: TokenHash, code: TokenHash, expiresAt: Timestamp) {
        self.id = id
        self.code = code
        self.expiresAt = expiresAt
    }
}

public enum ReceiptAdmission: Sendable, Hashable {
    case recorded(User)
    /// The session was revoked or expired in the meantime.
    case unknownSession
    /// The identity is somebody else's, or nobody's.
    case otherUser
    /// The code made a receipt before.
    case codeUsed
}

public enum ReceiptRedemption: Sendable, Hashable {
    case redeemed
    case alreadyRedeemed
    case expired
    case unknown
}
