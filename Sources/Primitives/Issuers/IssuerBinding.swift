/// What an issuer is known by: the URL of its keys, and the hosts of its endpoints. Metadata that names the issuer with
/// anything else is not trusted.
package struct IssuerBinding: Sendable, Hashable {
    /// Why a binding is trusted, from the weakest reason to the strongest. The texts are stored.
    package enum Trust: String, Sendable, Hashable, CaseIterable {
        /// A network named the issuer first, and the issuer publishes no OpenID configuration.
        case firstUse = "first_use"
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

    /// Whether two bindings are the same, whatever the reasons for their trust.
    package func isSame(as other: IssuerBinding) -> Bool {
        issuer.hasSameBytes(as: other.issuer) && jwksURI == other.jwksURI && tokenHost == other.tokenHost
            && hosts == other.hosts
    }
}
