public import Primitives

/// A key that receipts are signed with, on record.
public struct SigningKeyRecord: Sendable, Hashable {
    /// The `kid` of the key, which is never given to another.
    public let id: String
    /// The 64 bytes of a point of P-256.
    public let publicKey: [UInt8]
    /// As whoever uses the key protects it; the store does not look into it.
    public let privateKey: [UInt8]
    public let createdAt: Timestamp
    /// From when on it may sign. It is published before, so that whoever verifies has it by then.
    public let signsFrom: Timestamp

    public init(
        id: String, publicKey: [UInt8], privateKey: [UInt8], createdAt: Timestamp, signsFrom: Timestamp
    ) {
        self.id = id
        self.publicKey = publicKey
        self.privateKey = privateKey
        self.createdAt = createdAt
        self.signsFrom = signsFrom
    }
}

extension SigningKeyRecord: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Without the private key, however it is protected.
    public var description: String { "SigningKeyRecord(\(id))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}
