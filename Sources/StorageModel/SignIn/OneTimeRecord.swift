package import Primitives

/// An encrypted value that is read once, by its handle; the store cannot decrypt it. Without content, something that is
/// good for once.
package struct OneTimeRecord: Sendable, Hashable {
    package let handle: TokenHash
    /// What the value is for; a look-up with another purpose finds nothing.
    package let purpose: String
    package let content: [UInt8]
    package let expiresAt: Timestamp

    /// The bytes that a database needs for a record besides its content, with its indexes.
    package static let overhead = 248

    package init(handle: TokenHash, purpose: String, content: [UInt8], expiresAt: Timestamp) {
        self.handle = handle
        self.purpose = purpose
        self.content = content
        self.expiresAt = expiresAt
    }
}
