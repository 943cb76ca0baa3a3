public import Primitives

/// What is remembered of transactions: the keys that receipts are signed with, and the receipts.
///
/// As with ``Store``, an error says only "cannot tell".
public protocol TransactionStore: Sendable {
    /// All signing keys, the one added last at the end.
    func signingKeys() async throws(StorageError) -> [SigningKeyRecord]

    /// Adds a key if the one added last is still the one that the caller knows of, or there is still none.
    /// - Parameter newest: The id of that key; nil for none.
    /// - Returns: False if somebody else was quicker; then nothing was stored.
    func addSigningKey(_ key: SigningKeyRecord, after newest: String?) async throws(StorageError) -> Bool

    /// Forgets signing keys. What is unknown is passed over.
    func removeSigningKeys(_ ids: [String]) async throws(StorageError)

    /// Records a receipt, if the identity that approved the transaction belongs to the user who holds the session.
    func addReceipt(
        _ receipt: ReceiptRecord, approvedBy identity: Identity, session: TokenHash, at now: Timestamp
    ) async throws(StorageError) -> ReceiptAdmission

    /// Spends a receipt: `.redeemed` once, before it expires.
    func redeemReceipt(_ id: TokenHash, at now: Timestamp) async throws(StorageError) -> ReceiptRedemption
}

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
