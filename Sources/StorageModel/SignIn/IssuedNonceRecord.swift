public import Primitives

/// A nonce of our own, handed out before a sign-in.
public struct IssuedNonceRecord: Sendable, Hashable {
    public let nonce: TokenHash
    public let provider: String
    public let expiresAt: Timestamp

    public init(nonce: TokenHash, provider: String, expiresAt: Timestamp) {
        self.nonce = nonce
        self.provider = provider
        self.expiresAt = expiresAt
    }
}
