public import Primitives

/// An encrypted value that is read once, by its handle; the store cannot decrypt it.
public struct OneTimeRecord: Sendable, Hashable {
    public let handle: TokenHash
    /// What the value is for; a look-up with another purpose finds nothing.
    public let purpose: String
    public let content: [UInt8]
    public let expiresAt: Timestamp

    public init(handle: TokenHash, purpose: String, content: [UInt8], expiresAt: Timestamp) {
        self.handle = handle
        self.purpose = purpose
        self.content = content
        self.expiresAt = expiresAt
    }
}
