import OpenIDConnect
import Primitives
import StorageModel

/// The bindings of carriers' issuers in the store, so that a restart forgets none, and all instances know the same.
struct StoredIssuerBindings: IssuerBindings {
    let store: any IssuerBindingStore
    let clock: WallClock

    func known(of network: MCCMNC, _ issuer: String) async throws(OIDCError) -> KnownIssuer {
        do throws(StorageError) {
            return try await store.knownIssuer(of: network.text, issuer)
        } catch {
            throw Self.failure
        }
    }

    func bind(_ network: MCCMNC, to binding: IssuerBinding) async throws(OIDCError) -> KnownIssuer {
        do throws(StorageError) {
            return try await store.bindIssuer(
                binding, to: network.text, limit: KnownIssuers.maximumCount, at: clock.now())
        } catch {
            throw Self.failure
        }
    }

    func forgetFirstUse(_ issuer: String) async throws(OIDCError) {
        do throws(StorageError) {
            try await store.removeFirstUse(of: issuer)
        } catch {
            throw Self.failure
        }
    }

    private static let failure = OIDCError(
        .storeUnavailable, retryAfter: 5, reason: "The database cannot tell what is known of the carrier's issuer.")
}
