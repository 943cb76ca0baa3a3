import OpenIDConnect
package import Primitives
package import StorageModel

/// Issues nonces, each good for one sign-in (`POST /auth/{provider}/attempts`): a stolen code is worth nothing without
/// the nonce it belongs to.
package struct NonceIssuer: Sendable {
    let environment: Environment
    /// In seconds.
    let lifetime: Int64
    let store: any OneTimeRecordStore

    /// Issues a nonce for a sign-in with a provider.
    /// - Returns: What an app puts into its authorization request, and the seconds until the nonce expires. The app
    ///   compares the state with the authorization response; this server does not keep it.
    /// - Throws: `not_found` for an unknown provider; `invalid_request` for one with mobile operators;
    ///   `unauthorized_client`; `temporarily_unavailable`.
    package func issue(
        provider: String, for caller: CallerTerms
    ) async throws(SignInError) -> (nonce: Secret, state: Secret, expiresIn: Int64) {
        let providers = environment.providers
        let target =
            if let only = providers[ProviderReference(provider: provider)] { only } else {
                try providers.find(withoutOperators: provider)
            }
        try caller.check(mayUseOneOf: target.server.clients.values)
        let nonce = environment.random.token()
        // A token with the nonce may be issued at its end, and be accepted for a while.
        let rules = target.relyingParty.idTokenRules
        let record = IssuedNonce.record(
            of: nonce, for: provider, until: environment.clock.now().advanced(bySeconds: lifetime),
            marking: rules.maximumAgeSeconds + 2 * rules.clockSkewSeconds + 1)
        _ = try await mappingStoreErrors(await store.addOneTimeRecord(record, insteadOf: []))
        return (Secret(nonce), Secret(environment.random.token(bytes: 16)), lifetime)
    }
}

extension OneTimeRecordStore {
    /// Spends the nonce that ``NonceIssuer`` issued for a sign-in.
    /// - Throws: `invalid_request` if it was not issued, was used or has expired; `temporarily_unavailable`.
    package func takeIssuedNonce(of request: SignInRequest, at now: Timestamp) async throws(SignInError) {
        let (hash, purpose) = try request.issuedNonce
        let content = try await mappingStoreErrors(await takeOneTimeRecord(hash, purpose: purpose, at: now))
        guard let content, IssuedNonce.isGood(content, at: now) else { throw .nonceNotIssued }
    }
}

extension SignInRequest {
    /// The handle and the purpose of the record of the nonce that ``NonceIssuer`` issued for a sign-in.
    var issuedNonce: (handle: TokenHash, purpose: String) {
        get throws(SignInError) {
            guard let nonce else { throw .nonceMissing }
            return (TokenHash(sha256Of: nonce.exposed), IssuedNonce.purpose(provider.text))
        }
    }

    /// The handles that the nonce of the ID token has if it was issued. The token has the nonce of the request or its
    /// SHA-256, and the former may be a SHA-256 already.
    var possibleNonces: [TokenHash] {
        guard let nonce else { return [] }
        let own = TokenHash(sha256Of: nonce.exposed)
        let digits = nonce.exposed.utf8.compactMap(\.hexadecimalValue)
        guard nonce.exposed.utf8.count == 64, digits.count == 64 else { return [own] }
        let bytes = stride(from: 0, to: 64, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
        return [own] + [TokenHash(bytes)].compactMap(\.self)
    }
}
