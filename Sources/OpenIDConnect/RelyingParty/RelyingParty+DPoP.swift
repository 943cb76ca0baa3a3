import Primitives

/// Tokens that are bound to a key, and the proofs of requests that use them (DPoP, RFC 9449).
extension RelyingParty {
    /// What becomes of the tokens of new sign-ins at a provider.
    func dpop(at provider: ProviderMetadata) -> DPoPUse {
        DPoPUse(configuration.extensions.dpop, at: provider, prefersBoundTokens: configuration.prefersBoundTokens)
    }

    /// A key for a new authorization at a provider; nil if its tokens are not bound to one.
    public func newDPoPKey(at provider: ProviderMetadata) -> DPoPKey? {
        dpop(at: provider) == .none ? nil : DPoPKey()
    }

    /// Sends a request, with a proof if there is a key. If the server demands a nonce in the proof, the request is sent
    /// once more with the nonce that it gave: the server has done nothing with the first one (RFC 9449 sections 8 and
    /// 9). Both together have the time of one.
    /// - Parameters:
    ///   - what: Names the request in errors.
    ///   - key: Nil for a request without a proof.
    ///   - provider: Whose metadata says which claims proofs have.
    ///   - accessToken: The access token in the request, bound to the key; nil at an authorization server.
    ///   - codeMayBeSpent: Whether the authorization code may be used up after a failure of the transport; nil if it
    ///     may be where the request may have been sent.
    ///   - make: Makes the request. What a server accepts once, such as a client assertion, is new in the second one.
    func send<Value>(
        _ what: StaticString, provingPossessionOf key: DPoPKey?, at provider: ProviderMetadata,
        accessToken: Secret? = nil, codeMayBeSpent: Bool?, _ make: () throws(OIDCError) -> OutboundRequest,
        read: (OutboundResponse) throws(OIDCError) -> Value
    ) async throws(OIDCError) -> Value {
        guard let key else {
            return try await bulkhead.send(try make(), what, codeMayBeSpent: codeMayBeSpent, read: read)
        }
        let start = uptime.elapsed()
        var demanded: DPoPNonce?
        while true {
            var request = try make()
            let server = DPoPNonces.Server(of: request.url, hasResources: accessToken != nil)
            let proof = DPoPProof(
                method: request.method, url: request.url, accessToken: accessToken,
                nonce: demanded ?? dpopNonces[server], id: random.token(bytes: 16), issuedAt: clock.now(),
                contentClaims: request.contentClaims(provider.demands.dpopClaims))
            request.headers.append(("DPoP", try proof.text(signedWith: key).exposed))
            let isSecond = demanded != nil
            if isSecond { request.timeout -= uptime.elapsed() - start }
            let value: Value? = try await bulkhead.send(request, what, codeMayBeSpent: codeMayBeSpent) {
                (response) throws(OIDCError) in
                let nonce = response.dpopNonce.flatMap(DPoPNonce.init)
                guard DPoPChallenge.isIn(response, hasAccessToken: accessToken != nil) else {
                    if let nonce, (200..<300).contains(response.status) { dpopNonces.keep(nonce, of: server) }
                    return try read(response)
                }
                guard let nonce, !isSecond else {
                    throw OIDCError(
                        .unusableResponse, carrierError: "use_dpop_nonce", codeMayBeSpent: codeMayBeSpent ?? true,
                        reason: isSecond
                            ? "\(what) got a demand for another DPoP nonce after it had the one demanded."
                            : "\(what) got a demand for a DPoP nonce, and no valid nonce.")
                }
                dpopNonces.keep(nonce, of: server)
                demanded = nonce
                return nil
            }
            if let value { return value }
        }
    }
}
