import Primitives
import StorageModel

extension Store {
    /// Spends the nonce that ``NonceIssuer`` handed out for a sign-in.
    /// - Throws: `invalid_request` if it was not handed out, was spent or has expired; `temporarily_unavailable`.
    func takeIssuedNonce(of request: SignInRequest, at now: Timestamp) async throws(SignInError) {
        guard let nonce = request.nonce else { throw .nonceMissing }
        let hash = try TokenHash(sha256Of: nonce.exposed)
        let wasTaken = try await storing { () async throws(StorageError) in
            try await takeIssuedNonce(nonce: hash, provider: request.provider, at: now)
        }
        guard wasTaken else { throw .nonceNotIssued }
    }
}
