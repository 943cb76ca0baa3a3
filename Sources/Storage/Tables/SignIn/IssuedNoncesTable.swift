package import Primitives
package import StorageModel

/// The table `sign_in_attempts`.
extension SQLStore {
    package func addIssuedNonce(_ nonce: IssuedNonceRecord) async throws(StorageError) {
        try await writes.submit { db in
            try db.perform(
                "INSERT INTO sign_in_attempts (nonce_hash, provider, expires_at) VALUES (?, ?, ?)",
                nonce.nonce, nonce.provider, nonce.expiresAt)
        }
    }

    package func takeIssuedNonce(nonce: TokenHash, provider: String, at now: Timestamp) async throws(StorageError)
        -> Bool
    {
        try await writes.submit { db in
            try db.run(
                "DELETE FROM sign_in_attempts WHERE nonce_hash = ? AND provider = ? AND expires_at > ?",
                nonce, provider, now) > 0
        }
    }
}
