import Primitives

/// What an issuer is known by: the URL of its keys, and the hosts of its endpoints. Metadata that names the issuer with
/// anything else is not trusted.
package struct IssuerBinding: Sendable, Hashable {
    /// Why a binding is trusted, from the weakest reason to the strongest.
    package enum Trust: Sendable, Hashable, CaseIterable {
        /// A network named the issuer first, and the issuer publishes no OpenID configuration.
        case firstUse
        /// The issuer's own OpenID configuration says the same.
        case confirmed
        /// The operator configured the issuer of the network whose metadata this is.
        case pinned
    }

    /// As metadata spells it.
    package let issuer: String
    /// The URL of the key set.
    package let jwksURI: String
    /// The host of the token endpoint, with the port if it is not the usual one.
    package let tokenHost: String
    /// All hosts that endpoints may be on, spelled like ``tokenHost``.
    package let hosts: Set<String>
    /// Why the binding is trusted.
    package let trust: Trust

    package init(issuer: String, jwksURI: String, tokenHost: String, hosts: Set<String>, trust: Trust) {
        (self.issuer, self.jwksURI, self.tokenHost) = (issuer, jwksURI, tokenHost)
        (self.hosts, self.trust) = (hosts, trust)
    }

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

    /// Whether two bindings are the same, whatever the reasons for their trust.
    package func isSame(as other: IssuerBinding) -> Bool {
        issuer.hasSameBytes(as: other.issuer) && jwksURI == other.jwksURI && tokenHost == other.tokenHost
            && hosts == other.hosts
    }
}

extension ProviderMetadata {
    /// The hosts of all endpoints that codes, tokens, secrets or users are sent to.
    fileprivate var endpointHosts: Set<String> {
        Set(
            [authorizationEndpoint, tokenEndpoint, userInfoEndpoint, backchannelAuthenticationEndpoint]
                .compactMap { $0?.authority })
    }
}

/// What is kept about a network and an issuer.
package struct KnownBinding: Sendable, Hashable {
    /// The issuer that the network has named before; nil if it has named none.
    package var networkIssuer: String?
    /// The issuer's binding; nil if there is none.
    package var binding: IssuerBinding?

    package init(networkIssuer: String? = nil, binding: IssuerBinding? = nil) {
        (self.networkIssuer, self.binding) = (networkIssuer, binding)
    }
}

/// Keeps which issuer each network names, and the binding of each issuer. Every call is atomic.
package protocol IssuerBindings: Sendable {
    /// - Throws: ``OIDCError/Code/storeUnavailable``.
    func known(of network: MCCMNC, _ issuer: String) async throws(OIDCError) -> KnownBinding

    /// Keeps that the network names the issuer, and the issuer's binding:
    ///
    /// - A binding of first use is kept only where there is none.
    /// - A confirmed one replaces any but a pinned one. If it replaces one of first use that differs, the other
    ///   networks that named the issuer are forgotten.
    /// - A pinned one replaces any, also the network's issuer.
    ///
    /// - Returns: What is in force afterwards: it may be another process's binding. Nothing is in force for a new
    ///   network or issuer if there are ``IssuerBindingLimits/maximumRows`` of them.
    /// - Throws: ``OIDCError/Code/storeUnavailable``.
    func bind(_ network: MCCMNC, to binding: IssuerBinding) async throws(OIDCError) -> KnownBinding

    /// Forgets a binding of first use, and the networks that named its issuer.
    /// - Throws: ``OIDCError/Code/storeUnavailable``.
    func forgetFirstUse(_ issuer: String) async throws(OIDCError)
}

/// The bound of what is kept.
package enum IssuerBindingLimits {
    /// How many networks, and how many issuers, are kept: more than there are mobile networks.
    package static let maximumRows = 4096
}
