public import Primitives

extension RelyingParty {
    /// Verifies a signed authorization response (JARM section 2.4).
    ///
    /// Anyone can bring one, so the checks that need no keys run first, and cached keys are fetched again on behalf of
    /// these responses once a minute at most.
    /// - Parameter clients: Our clients at this provider, each with what its responses are signed with
    ///   (`authorization_signed_response_alg`).
    public func verify(
        authorizationResponse text: Secret, for clients: [ClientID: SigningAlgorithm]
    ) async throws(AuthorizationResponseError) -> VerifiedAuthorizationResponse {
        guard case .ofIssuer(let issuer) = configuration.discovery, let client = clients.keys.first else {
            throw .failed(.issuer)
        }
        let unverified = try UnverifiedMessage<AuthorizationResponseValidationContext>(
            text,
            .init(
                issuer: issuer.text, clients: clients.mapValues { [$0] }, rules: configuration.idTokenRules,
                now: clock.now()))
        try await checkSignature(of: unverified, limitedBy: responseKeyFetches) { () throws(OIDCError) in
            try await provider(for: nil, clientID: client, correlationID: .random(from: random))
        }
        return try unverified.context.response()
    }
}
