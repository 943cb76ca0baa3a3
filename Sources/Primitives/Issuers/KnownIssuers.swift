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
