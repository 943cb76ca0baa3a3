package import Primitives
import Synchronization

/// Bindings for the life of a process: for a relying party without a store.
package final class MemoryIssuerBindings: IssuerBindings {
    private let state: Mutex<KnownIssuers>

    /// - Parameter known: What is known at the beginning.
    package init(_ known: KnownIssuers = KnownIssuers()) { state = Mutex(known) }

    package func known(of network: MCCMNC, _ issuer: String) -> KnownIssuer {
        state.withLock { $0.known(of: network.text, issuer) }
    }

    package func bind(_ network: MCCMNC, to binding: IssuerBinding) -> KnownIssuer {
        state.withLock { $0.bind(binding, to: network.text) }
    }

    package func forgetFirstUse(_ issuer: String) { state.withLock { $0.forgetFirstUse(of: issuer) } }
}
