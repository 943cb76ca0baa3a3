/// What is known of a carrier's issuer.
package struct IssuerBindingRecord: Sendable, Hashable {
    /// Why it is trusted. A reason that this version does not know is read as the weakest.
    package enum Trust: String, Sendable, Hashable, CaseIterable {
        case firstUse = "first_use"
        case confirmed
        case pinned
    }

    package let issuer: String
    package let jwksURI: String
    package let tokenHost: String
    /// All hosts that endpoints may be on, sorted, with a space between them.
    package let hosts: String
    package let trust: Trust

    package init(issuer: String, jwksURI: String, tokenHost: String, hosts: String, trust: Trust) {
        self.issuer = issuer
        self.jwksURI = jwksURI
        self.tokenHost = tokenHost
        self.hosts = hosts
        self.trust = trust
    }
}

/// What is stored of a network and of an issuer.
package struct KnownIssuerRecord: Sendable, Hashable {
    /// The issuer of the network; nil if the network is not known.
    package let networkIssuer: String?
    /// Nil if the issuer is not known.
    package let binding: IssuerBindingRecord?

    package init(networkIssuer: String?, binding: IssuerBindingRecord?) {
        self.networkIssuer = networkIssuer
        self.binding = binding
    }
}
