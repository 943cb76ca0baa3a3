import OpenIDConnect
import Primitives
import StorageModel

/// The bindings of carriers' issuers in the store, so that a restart forgets none, and all instances know the same.
struct StoredIssuerBindings: IssuerBindings {
    let store: any IssuerBindingStore
    let clock: WallClock

    func known(of network: MCCMNC, _ issuer: String) async throws(OIDCError) -> KnownBinding {
        do throws(StorageError) {
            return KnownBinding(try await store.knownIssuer(of: network.text, issuer))
        } catch {
            throw Self.failure
        }
    }

    func bind(_ network: MCCMNC, to binding: IssuerBinding) async throws(OIDCError) -> KnownBinding {
        do throws(StorageError) {
            return KnownBinding(
                try await store.bindIssuer(
                    IssuerBindingRecord(binding), to: network.text, limit: IssuerBindingLimits.maximumRows,
                    at: clock.now()))
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

extension KnownBinding {
    fileprivate init(_ record: KnownIssuerRecord) {
        self.init(networkIssuer: record.networkIssuer, binding: record.binding.map(IssuerBinding.init))
    }
}

extension IssuerBinding {
    fileprivate init(_ record: IssuerBindingRecord) {
        let trust: Trust =
            switch record.trust {
            case .firstUse: .firstUse
            case .confirmed: .confirmed
            case .pinned: .pinned
            }
        self.init(
            issuer: record.issuer, jwksURI: record.jwksURI, tokenHost: record.tokenHost,
            hosts: Set(record.hosts.split(separator: " ").map(String.init)), trust: trust)
    }
}

extension IssuerBindingRecord {
    fileprivate init(_ binding: IssuerBinding) {
        let trust: Trust =
            switch binding.trust {
            case .firstUse: .firstUse
            case .confirmed: .confirmed
            case .pinned: .pinned
            }
        self.init(
            issuer: binding.issuer, jwksURI: binding.jwksURI, tokenHost: binding.tokenHost,
            hosts: binding.hosts.sorted().joined(separator: " "), trust: trust)
    }
}
