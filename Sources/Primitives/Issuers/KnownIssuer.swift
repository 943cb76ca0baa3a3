/// What is known of a network and of an issuer that its metadata names.
package struct KnownIssuer: Sendable, Hashable {
    /// The issuer that the network has named before; nil if it has named none.
    package var networkIssuer: String?
    /// The issuer's binding; nil if there is none.
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
