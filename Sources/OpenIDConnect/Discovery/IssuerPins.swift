import Primitives

/// Which issuer each source of metadata may name: the configured one, or the one first seen. A value without network.
///
/// Metadata that an issuer serves itself must name that issuer (OpenID Connect Discovery section 4.3). Carriers'
/// metadata comes from a broker, by network: a carrier could name another carrier's issuer beside keys and endpoints of
/// its own, and so vouch for the other's users. Therefore a network may name an issuer only with endpoints of the
/// issuer's operator, and with the keys that the operator's other networks name.
struct IssuerPins: Sendable {
    private let configured: [MCCMNC: String]
    private let requirements: ProviderMetadata.Requirements
    private var firstSeen: BoundedCache<MetadataSource, String>

    init(_ configuration: RelyingParty.Configuration) {
        configured = configuration.pinnedIssuers
        requirements = configuration.metadataRequirements
        firstSeen = BoundedCache(capacity: max(configuration.cache.maximumNetworks, 4096))
    }

    /// Pins the source to the issuer that its metadata names.
    /// - Parameter others: The current metadata of other sources.
    /// - Throws: ``OIDCError/Code/metadataRefused`` if the source may not name this issuer.
    mutating func pin(
        _ source: MetadataSource, to metadata: ProviderMetadata, others: [ProviderMetadata]
    ) throws(OIDCError) {
        let isConfigured = expected(of: source) != nil
        let expected = expected(of: source) ?? firstSeen[source]
        guard expected?.hasSameBytes(as: metadata.issuer) ?? true else {
            throw OIDCError(
                .metadataRefused,
                reason: "The metadata names another issuer than the one configured or first seen for it.")
        }
        if !isConfigured { try checkClaim(of: metadata, others) }
        firstSeen.put(metadata.issuer, for: source)
    }

    private func expected(of source: MetadataSource) -> String? {
        switch source {
        case .network(let network, _): configured[network]
        case .issuer(let issuer): issuer.text
        }
    }

    private func checkClaim(of metadata: ProviderMetadata, _ others: [ProviderMetadata]) throws(OIDCError) {
        let issuer = EndpointURL(metadata.issuer, policy: requirements.urlPolicy)
        let endpoints = [metadata.tokenEndpoint, metadata.jwksURI, metadata.userInfoEndpoint].compactMap(\.self)
        let areOfOneOperator = endpoints.allSatisfy { endpoint in
            issuer.map { requirements.trustedHosts.areOfOneOperator(endpoint.host, $0.host) } ?? false
        }
        let othersAgree = others.allSatisfy {
            !$0.issuer.hasSameBytes(as: metadata.issuer) || $0.jwksURI == metadata.jwksURI
        }
        guard areOfOneOperator, othersAgree else {
            let what = areOfOneOperator ? "another network's issuer, with other keys" : "an issuer of another operator"
            throw OIDCError(
                .metadataRefused,
                reason: "The network's metadata names \(what). If that is right, configure the network's issuer.")
        }
    }
}
