import Primitives
package import StorageModel

/// The API keys in the store, which operators make and revoke while servers run.
///
/// A read is used for five seconds. Within that time a new key may be unknown, and a revoked one accepted, on any
/// instance; guessing keys causes one read in that time.
package final class StoredAPIKeys: Sendable {
    /// How long a read is valid, in seconds.
    package static let freshness: Int64 = 5
    /// The most keys there can be.
    package static let limit = 1000

    private let known: CachedRead<(keys: APIKeys, origins: Set<String>), SignInError>

    init(store: any APIKeyStore, clock: WallClock) {
        known = CachedRead(lifetime: Self.freshness, clock: clock) { () async throws(SignInError) in
            let records = try await stored(await store.apiKeys(limit: Self.limit))
            let keys = APIKeys(records.map { ($0.hash, APIGrant($0)) })
            return (keys, keys.origins)
        }
    }

    /// What a key allows; nil if it is unknown or revoked.
    /// - Throws: `temporarily_unavailable` if the store cannot tell.
    package func grant(for hash: TokenHash) async throws(SignInError) -> APIGrant? {
        try await known().keys.grant(for: hash)
    }

    /// Reads the keys if the last read is too old.
    package func refresh() async { _ = try? await known() }

    /// The origins that any key is limited to, as of the last read.
    package var origins: Set<String> { known.lastValue?.origins ?? [] }
}

extension APIGrant {
    fileprivate init(_ key: StoredAPIKey) {
        self.init(name: key.name, clients: key.clients.map { Set($0) }, origins: key.origins.map { Set($0) })
    }
}
