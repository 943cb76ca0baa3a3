public import Primitives
import StorageModel

/// Hands out nonces, each good for one sign-in (`POST /auth/{provider}/attempts`): then a stolen code is worth nothing
/// without the attempt it belongs to.
///
/// An attempt is this and nothing else; a sign-in whose browser is away is a `PendingRedirect`.
public struct NonceIssuer: Sendable {
    let configuration: SignInConfiguration
    let store: any Store
    let clock: WallClock
    let random: RandomSource

    /// What an app puts into its authorization request.
    public struct Issued: Sendable {
        public let nonce: Secret
        /// For the app to compare with what comes back; this server does not keep it.
        public let state: Secret
        /// Seconds until the nonce is worth nothing.
        public let expiresIn: Int64
    }

    /// Makes and remembers a nonce for a sign-in with a provider.
    /// - Throws: `not_found` for an unknown provider; `temporarily_unavailable`.
    public func issue(provider: String) async throws(SignInError) -> Issued {
        guard configuration.providers[provider] != nil else { throw .unknownProvider }
        let nonce = random.token()
        let lifetime = configuration.lifetimes.issuedNonce
        let attempt = IssuedNonceRecord(
            nonce: try TokenHash(sha256Of: nonce), provider: provider,
            expiresAt: clock.now().advanced(bySeconds: lifetime))
        try await storing { () async throws(StorageError) in try await store.addIssuedNonce(attempt) }
        return Issued(nonce: Secret(nonce), state: Secret(random.token(bytes: 16)), expiresIn: lifetime)
    }
}
