public import Primitives

/// Logout: a provider reports that sessions have ended, or is asked to end its own.
extension RelyingParty {
    /// Verifies a logout token (OpenID Connect Back-Channel Logout section 2.6).
    ///
    /// The caller is unauthenticated, so the checks that need no keys run first, and cached keys are fetched again on
    /// behalf of logout tokens once a minute at most.
    /// - Parameter clients: Our clients at this provider, each with what its ID tokens may be signed with
    ///   (`id_token_signed_response_alg`). Where that is several, RS256 among them, only RS256 is accepted, unless the
    ///   provider does not list it.
    public func verify(
        logoutToken text: Secret, for clients: [ClientID: Set<SigningAlgorithm>]
    ) async throws(LogoutTokenError) -> LogoutToken {
        guard case .ofIssuer(let issuer) = configuration.discovery, let client = clients.keys.first else {
            throw .failed(.issuer)
        }
        let unverified = try UnverifiedMessage<LogoutValidationContext>(
            text, .init(issuer: issuer.text, clients: clients, rules: configuration.idTokenRules, now: clock.now()))
        try await checkSignature(of: unverified, limitedBy: logoutKeyFetches) { () throws(OIDCError) in
            let correlationID = CorrelationID.random(from: random)
            let metadata = try await listing(
                unverified.token.algorithm,
                try await provider(for: nil, clientID: client, correlationID: correlationID),
                correlationID)
            let allowed = unverified.context.client.flatMap { Self.logoutAlgorithms(of: clients, at: metadata)[$0] }
            guard allowed?.contains(unverified.token.algorithm) == true else { throw OIDCError.failed(.algorithm) }
            return metadata
        }
        return try unverified.context.logout()
    }

    /// What the logout tokens of each client may be signed with. A registration that names no algorithm means RS256
    /// (OpenID Connect Dynamic Client Registration section 2), and a logout token has the algorithm of ID tokens
    /// (Back-Channel Logout section 2.4). A provider that does not list RS256 cannot mean it.
    static func logoutAlgorithms(
        of clients: [ClientID: Set<SigningAlgorithm>], at provider: ProviderMetadata?
    ) -> [ClientID: Set<SigningAlgorithm>] {
        guard provider?.signingAlgorithms.contains(.rs256) ?? true else { return clients }
        return clients.mapValues { $0.contains(.rs256) ? [.rs256] : $0 }
    }

    /// Where to send a browser so that the provider ends its own session (OpenID Connect RP-Initiated Logout section
    /// 2); nil if the provider has no such endpoint.
    ///
    /// `client_id` is there beside `id_token_hint`, as the specification allows: the hint may be left out, or have
    /// expired at the provider.
    /// - Parameters:
    ///   - hint: The ID token of the sign-in, for this client. It is left out if it is another issuer's, or if the URL
    ///     would be longer than ``IDTokenHint/maximumURLBytes``.
    ///   - returnURL: Where the provider sends the browser back to, with `state`.
    public func endSessionURL(
        clientID: ClientID, hint: IDTokenHint? = nil, returnURL: String, state: Secret, correlationID: CorrelationID
    ) async throws(OIDCError) -> EndpointURL? {
        guard case .ofIssuer = configuration.discovery else { return nil }
        let metadata = try await provider(for: nil, clientID: clientID, correlationID: correlationID)
        guard let endpoint = metadata.endSessionEndpoint else { return nil }
        let configured = configuration.logoutParameters.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        let parameters = configured.isEmpty ? Self.logoutParameterNames.map { ($0, "{\($0)}") } : configured
        var values = ["client_id": clientID.text, "post_logout_redirect_uri": returnURL, "state": state.exposed]
        func url() -> EndpointURL {
            endpoint.appending(
                query: parameters.compactMap { name, value in
                    guard value.hasPrefix("{") else { return (name, value) }
                    return values[String(value.dropFirst().dropLast())].map { (name, $0) }
                })
        }
        guard let hint, hint.issuer.hasSameBytes(as: metadata.issuer) else { return url() }
        values["id_token_hint"] = hint.token.exposed
        let hinted = url()
        guard hinted.text.utf8.count > IDTokenHint.maximumURLBytes else { return hinted }
        values["id_token_hint"] = nil
        return url()
    }

    /// The usual parameters of a logout request, for which a configured one can stand.
    package static let logoutParameterNames = ["client_id", "post_logout_redirect_uri", "state", "id_token_hint"]
}
