import Primitives

extension IssuerBinding {
    /// The binding that a network's metadata asks for; nil for a provider without keys.
    init?(_ metadata: ProviderMetadata, trust: Trust) {
        guard let jwksURI = metadata.jwksURI else { return nil }
        self.init(
            issuer: metadata.issuer, jwksURI: jwksURI.text, tokenHost: metadata.tokenEndpoint.authority,
            hosts: metadata.endpointHosts, trust: trust)
    }

    /// The binding that the issuer's own OpenID configuration confirms; nil if it names no token endpoint.
    init?(_ own: IssuerMetadata) {
        guard let tokenHost = own.tokenHost else { return nil }
        self.init(
            issuer: own.issuer, jwksURI: own.jwksURI.text, tokenHost: tokenHost, hosts: own.hosts, trust: .confirmed)
    }

    /// Whether metadata has the same issuer, the same keys and the same host for tokens, and no endpoint elsewhere.
    func covers(_ metadata: ProviderMetadata) -> Bool {
        issuer.hasSameBytes(as: metadata.issuer) && jwksURI == metadata.jwksURI?.text
            && tokenHost == metadata.tokenEndpoint.authority && metadata.endpointHosts.isSubset(of: hosts)
    }
}

extension ProviderMetadata {
    /// The hosts of all endpoints that codes, tokens, secrets or users are sent to.
    fileprivate var endpointHosts: Set<String> {
        Set(
            [
                authorizationEndpoint, tokenEndpoint, userInfoEndpoint, serverInitiatedAuthorizationEndpoint,
                pushedAuthorizationRequestEndpoint,
            ].compactMap { $0?.authority } + mutualTLSAliases.endpoints.map(\.authority))
    }
}
