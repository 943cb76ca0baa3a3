import Primitives
import Synchronization

/// Bindings for the life of a process: for a relying party without a store.
final class MemoryIssuerBindings: IssuerBindings {
    private struct State {
        var issuers: [MCCMNC: String] = [:]
        var bindings: [String: IssuerBinding] = [:]

        func known(of network: MCCMNC, _ issuer: String) -> KnownBinding {
            KnownBinding(networkIssuer: issuers[network], binding: bindings[issuer])
        }

        mutating func forgetNetworks(of issuer: String, besides network: MCCMNC? = nil) {
            issuers = issuers.filter { $0.key == network || !$0.value.hasSameBytes(as: issuer) }
        }
    }

    private let state = Mutex(State())

    func known(of network: MCCMNC, _ issuer: String) -> KnownBinding {
        state.withLock { $0.known(of: network, issuer) }
    }

    func bind(_ network: MCCMNC, to binding: IssuerBinding) -> KnownBinding {
        state.withLock { state in
            let former = state.bindings[binding.issuer]
            let hasRoom = former != nil || state.bindings.count < IssuerBindingLimits.maximumRows
            let replaces =
                switch binding.trust {
                case .firstUse: former == nil
                case .confirmed: former?.trust != .pinned
                case .pinned: true
                }
            if replaces, hasRoom {
                if binding.trust == .confirmed, let former, former.trust == .firstUse, !former.isSame(as: binding) {
                    state.forgetNetworks(of: binding.issuer, besides: network)
                }
                state.bindings[binding.issuer] = binding
            }
            let isNew = state.issuers[network] == nil
            if binding.trust == .pinned || isNew,
                !isNew || state.issuers.count < IssuerBindingLimits.maximumRows
            {
                state.issuers[network] = binding.issuer
            }
            return state.known(of: network, binding.issuer)
        }
    }

    func forgetFirstUse(_ issuer: String) {
        state.withLock { state in
            guard state.bindings[issuer]?.trust == .firstUse else { return }
            state.bindings[issuer] = nil
            state.forgetNetworks(of: issuer)
        }
    }
}
