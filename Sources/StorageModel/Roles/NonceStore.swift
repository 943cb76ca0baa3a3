package import Primitives

/// The nonces that this server issued, each good for one sign-in.
package protocol NonceStore: Sendable {
    func addIssuedNonce(_ nonce: IssuedNonceRecord) async throws(StorageError)

    /// Spends an issued nonce: true once, for the provider it was issued for, before it expires.
    func takeIssuedNonce(nonce: TokenHash, provider: String, at now: Timestamp) async throws(StorageError) -> Bool
}
