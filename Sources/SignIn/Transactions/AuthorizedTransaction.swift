package import OpenIDConnect
package import Primitives

/// A transaction that the user approved at the carrier.
package struct AuthorizedTransaction: Sendable {
    package let receipt: Receipt
    /// The receipt as a signed JWT, for the operator's services; good once.
    package let signedReceipt: Secret
    /// Seconds until the receipt expires.
    package let expiresIn: Int64
    package let correlationID: CorrelationID
}
