package import Primitives

/// A stored key that signs receipts and seals of the audit log.
package struct SigningKeyRecord: Sendable, Hashable {
    /// The `kid` of the key, which is never reused.
    package let id: String
    /// A point of P-256: 64 bytes.
    package let publicKey: [UInt8]
    /// The private key in protected form, which the store does not read.
    package let privateKey: [UInt8]
    package let createdAt: Timestamp
    /// When it may begin to sign. It is published earlier, so that verifiers have it by then.
    package let signsFrom: Timestamp

    package init(id: String, publicKey: [UInt8], privateKey: [UInt8], createdAt: Timestamp, signsFrom: Timestamp) {
        self.id = id
        self.publicKey = publicKey
        self.privateKey = privateKey
        self.createdAt = createdAt
        self.signsFrom = signsFrom
    }
}

/// Without the private key, even in protected form.
extension SigningKeyRecord: Redacted { package var shown: [Mirror.Child] { [("id", id)] } }
