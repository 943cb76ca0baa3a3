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
        let record = OneTimeRecord(
            handle: TokenHash(sha256Of: nonce), purpose: Self.purpose(provider), content: [],
            expiresAt: environment.clock.now().advanced(bySeconds: lifetime))
        _ = try await mappingStoreErrors(await store.addOneTimeRecord(record, insteadOf: []))
        return (Secret(nonce), Secret(environment.random.token(bytes: 16)), lifetime)
    }

    /// The text is stored, and other versions of the server read it: it never changes.
    fileprivate static func purpose(_ provider: String) -> String { "nonce for \(provider)" }
}

extension OneTimeRecordStore {
    /// Spends the nonce that ``NonceIssuer`` issued for a sign-in.
    /// - Throws: `invalid_request` if it was not issued, was used or has expired; `temporarily_unavailable`.
    package func takeIssuedNonce(of request: SignInRequest, at now: Timestamp) async throws(SignInError) {
        try await spend(TokenUse(ofNonceIn: request), at: now)
    }

    func spend(_ use: TokenUse, at now: Timestamp) async throws(SignInError) {
        let isFirst: Bool
        switch use.use {
        case .marking(let record):
            isFirst = try await mappingStoreErrors(await addOneTimeRecord(record, insteadOf: []))
        case .taking(let handle, let purpose):
            isFirst = try await mappingStoreErrors(await takeOneTimeRecord(handle, purpose: purpose, at: now)) != nil
        }
        guard isFirst else { throw use.usedBefore }
    }
}

extension TokenUse {
    /// The use of the nonce that ``NonceIssuer`` issued for a sign-in.
    /// - Throws: `invalid_request` without a nonce.
    init(ofNonceIn request: SignInRequest) throws(SignInError) {
        guard let nonce = request.nonce else { throw .nonceMissing }
        use = .taking(
            TokenHash(sha256Of: nonce.exposed), purpose: NonceIssuer.purpose(request.provider.text))
        usedBefore = .nonceNotIssued
    }
}
