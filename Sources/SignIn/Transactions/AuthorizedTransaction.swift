public import OpenIDConnect
public import Primitives

/// A transaction that its user approved at the carrier just now.
public struct AuthorizedTransaction: Sendable {
    public let receipt: Receipt
    /// The receipt as a signed JWT, for the operator's services; good once.
    public let signedReceipt: Secret
    /// Seconds until the receipt is worth nothing.
    public let expiresIn: Int64
    public let correlationID: CorrelationID
}
