/// The issuers of all known networks, and the bindings of all known issuers.
package struct KnownIssuers: Sendable, Hashable {
    /// How many networks, and how many issuers, are kept: more than there are mobile networks.
    package static let maximumCount = 4096

    /// By the networks' `mccmnc`.
    package private(set) var networkIssuers: [String: String]
    /// By the issuers.
    package private(set) var bindings: [String: IssuerBinding]

    package init(networkIssuers: [String: String] = [:], bindings: [IssuerBinding] = []) {
        self.networkIssuers = networkIssuers
        self.bindings = Dictionary(bindings.map { ($0.issuer, $0) }) { first, _ in first }
    }

    package func known(of network: String, _ issuer: String) -> KnownIssuer {
        KnownIssuer(networkIssuer: networkIssuers[network], binding: bindings[issuer])
    }

    /// Keeps that a network names an issuer with a binding, by the rule of ``KnownIssuer/change(by:)``.
    /// - Returns: What is known afterwards.
    package mutating func bind(
        _ binding: IssuerBinding, to network: String, limit: Int = Self.maximumCount
    ) -> KnownIssuer {
        let change = known(of: network, binding.issuer).change(by: binding)
        if change.forgetsOtherNetworks { forgetNetworks(of: binding.issuer, besides: network) }
        if change.binding == .isReplaced || change.binding == .isAdded && bindings.count < limit {
            bindings[binding.issuer] = binding
        }
        if change.networkIssuer == .isReplaced || change.networkIssuer == .isAdded && networkIssuers.count < limit {
            networkIssuers[network] = binding.issuer
        }
        return known(of: network, binding.issuer)
    }

    /// Forgets a binding of first use, and the networks that named its issuer.
    package mutating func forgetFirstUse(of issuer: String) {
        guard bindings[issuer]?.trust == .firstUse else { return }
        bindings[issuer] = nil
        forgetNetworks(of: issuer)
    }

    private mutating func forgetNetworks(of issuer: String, besides network: String? = nil) {
        networkIssuers = networkIssuers.filter { $0.key == network || !$0.value.hasSameBytes(as: issuer) }
    }
}

/// What is known of a network and of an issuer that its metadata names.
package struct KnownIssuer: Sendable, Hashable {
    /// The issuer that the network has named before; nil if it has named none.
    package var networkIssuer: String?
    package var binding: IssuerBinding?

    package init(networkIssuer: String? = nil, binding: IssuerBinding? = nil) {
        (self.networkIssuer, self.binding) = (networkIssuer, binding)
    }

    /// What becomes of a kept value.
    package enum Effect: Sendable, Hashable {
        case stays
        /// There was none. It is only kept if there is room.
        case isAdded
        case isReplaced
    }

    /// What changes when a network names an issuer with a binding.
    package struct Change: Sendable, Hashable {
        /// What becomes of the issuer's binding.
        package let binding: Effect
        /// What becomes of the network's issuer.
        package let networkIssuer: Effect
        /// Whether the former binding was wrong, so that the other networks that named the issuer are forgotten.
        package let forgetsOtherNetworks: Bool
    }

    /// The rule for all stores:
    ///
    /// - A binding of first use is kept only where there is none.
    /// - A confirmed one replaces any but a pinned one. If it replaces one of first use that differs, the other
    ///   networks that named the issuer are forgotten.
    /// - A pinned one replaces any, also the network's issuer. Any other one is kept for a network without an issuer.
    package func change(by new: IssuerBinding) -> Change {
        let isWrong = new.trust == .confirmed && binding?.trust == .firstUse && binding?.isSame(as: new) == false
        return Change(
            binding: bindingEffect(of: new), networkIssuer: networkEffect(of: new), forgetsOtherNetworks: isWrong)
    }

    private func bindingEffect(of new: IssuerBinding) -> Effect {
        guard let binding else { return .isAdded }
        guard binding != new else { return .stays }
        return switch new.trust {
        case .firstUse: .stays
        case .confirmed: binding.trust == .pinned ? .stays : .isReplaced
        case .pinned: .isReplaced
        }
    }

    private func networkEffect(of new: IssuerBinding) -> Effect {
        guard let networkIssuer else { return .isAdded }
        return new.trust == .pinned && !networkIssuer.hasSameBytes(as: new.issuer) ? .isReplaced : .stays
    }
}

/// What an issuer is known by: the URL of its keys, and the hosts of its endpoints. Metadata that names the issuer with
/// anything else is not trusted.
package struct IssuerBinding: Sendable, Hashable {
    /// Why a binding is trusted, from the weakest reason to the strongest. The texts are stored.
    package enum Trust: String, Sendable, Hashable, CaseIterable {
        /// A network named the issuer first, and the issuer publishes no OpenID configuration.
        case firstUse = "first_use"
        /// The issuer's own OpenID configuration says the same.
        case confirmed
        /// The administrator configured the issuer of the network whose metadata this is.
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
