import Primitives

extension RelyingParty {
    /// Asks a carrier to have its user sign in, by one request that is never repeated.
    ///
    /// - Parameter key: The client's key, whose public half the carrier knows. It signs the request object.
    /// - Throws: ``OIDCError/Code/metadataRefused`` if the carrier has no such endpoint;
    ///   ``OIDCError/Code/carrierRefused`` or ``OIDCError/Code/clientRefused`` with the carrier's error code;
    ///   ``OIDCError/Code/unusableResponse``, or a transport code. After these the user may have been asked
    ///   nevertheless.
    public func start(
        _ request: ServerInitiatedAuthorizationRequest, signedWith key: ClientKey, provider: ProviderMetadata
    ) async throws(OIDCError) -> BackchannelAuthenticationResponse {
        guard let endpoint = provider.serverInitiatedAuthorizationEndpoint else {
            throw OIDCError(.metadataRefused, reason: "The carrier has no backchannel authentication endpoint.")
        }
        let claims = request.claims(audience: provider.issuer, tokenID: random.token(bytes: 16), now: clock.now())
        let object = try key.token(type: RequestObject.type, claims: claims)
        var outbound = request.outbound(to: endpoint, requestObject: object, limits: configuration.limits)
        outbound.correlationID = request.correlationID
        return try await bulkhead.send(outbound, "The backchannel authentication request", codeMayBeSpent: false) {
            (response) throws(OIDCError) in
            try BackchannelAuthenticationResponse(response, limits: configuration.limits, mayLackLifetime: true)
        }
    }
}
