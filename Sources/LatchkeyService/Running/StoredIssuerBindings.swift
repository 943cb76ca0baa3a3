import OpenIDConnect
import Primitives
import StorageModel

/// The bindings of carriers' issuers in the store, so that a restart forgets none, and all instances know the same.
struct StoredIssuerBindings: IssuerBindings {
    let store: any IssuerBindingStore
    let clock: WallClock

    func known(of network: MCCMNC, _ issuer: String) async throws(OIDCError) -> KnownIssuer {
        try await mappingErrors(await store.knownIssuer(of: network.text, issuer))
    }

    func bind(_ network: MCCMNC, to binding: IssuerBinding) async throws(OIDCError) -> KnownIssuer {
        let now = clock.now()
        return try await mappingErrors(
            await store.bindIssuer(binding, to: network.text, limit: KnownIssuers.maximumCount, at: now))
    }

    func forgetFirstUse(_ issuer: String) async throws(OIDCError) {
        try await mappingErrors(await store.removeFirstUse(of: issuer))
    }

    private func mappingErrors<Value>(
        _ call: @autoclosure () async throws(StorageError) -> Value
    ) async throws(OIDCError) -> Value {
        do throws(StorageError) {
            return try await call()
        } catch {
            throw OIDCError(
                .storeUnavailable, retryAfter: 5,
                reason: "The database cannot tell what is known of the provider's issuer.")
        }
    }
}
