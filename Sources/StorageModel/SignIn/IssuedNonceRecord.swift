package import Primitives

/// A nonce that this server issued before a sign-in.
package struct IssuedNonceRecord: Sendable, Hashable {
    package let nonce: TokenHash
    package let provider: String
    package let expiresAt: Timestamp

    package init(nonce: TokenHash, provider: String, expiresAt: Timestamp) {
        self.nonce = nonce
        self.provider = provider
        self.expiresAt = expiresAt
    }
}
