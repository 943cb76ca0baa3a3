import OpenIDConnect
import Primitives
import StorageModel

/// The bindings of carriers' issuers in the store, so that a restart forgets none, and all instances know the same.
struct StoredIssuerBindings: IssuerBindings {
    let store: any IssuerBindingStore
    let clock: WallClock

    func known(of network: MCCMNC, _ issuer: String) async throws(OIDCError) -> KnownIssuer {
        try await mappingErrors(
            awaiting: await store.knownIssuer(of: network.text, issuer), to: OIDCError.init(ofBindings:))
    }

    func bind(_ network: MCCMNC, to binding: IssuerBinding) async throws(OIDCError) -> KnownIssuer {
        let now = clock.now()
        return try await mappingErrors(
            awaiting: await store.bindIssuer(binding, to: network.text, limit: KnownIssuers.maximumCount, at: now),
            to: OIDCError.init(ofBindings:))
    }

    func forgetFirstUse(_ issuer: String) async throws(OIDCError) {
        try await mappingErrors(awaiting: await store.removeFirstUse(of: issuer), to: OIDCError.init(ofBindings:))
    }
}

extension OIDCError {
    fileprivate init(ofBindings _: StorageError) {
        self.init(
            .storeUnavailable, retryAfter: 5,
            reason: "The database cannot tell what is known of the provider's issuer.")
    }
}
