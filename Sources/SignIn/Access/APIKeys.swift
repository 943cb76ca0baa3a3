import Primitives
package import StorageModel
import Synchronization

/// What a caller may do: with an API key, or from the origin of a web frontend.
package struct APIGrant: Sendable, Hashable {
    /// The clients whose users and sessions it may access; nil for all.
    package let clients: Set<String>?
    /// The origins that it is limited to; nil for any.
    package let origins: Set<String>?
    /// Whether the key belongs to an administrator, who may see the administrators' pages.
    package let isAdministrator: Bool

    package init(clients: Set<String>? = nil, origins: Set<String>? = nil, isAdministrator: Bool = false) {
        self.isAdministrator = isAdministrator
        self.clients = clients
        self.origins = origins
    }
}

/// The configured API keys, sent in `X-API-KEY`, and what each may do.
package struct APIKeys: Sendable {
    private let entries: [(hash: TokenHash, grant: APIGrant)]

    package init(_ keys: [(hash: TokenHash, grant: APIGrant)]) { entries = keys }

    /// What a key may do; nil if it is unknown. Takes the same time whichever key matches.
    package func grant(for hash: TokenHash) -> APIGrant? {
        var found = -1
        for index in entries.indices {
            let isSame = entries[index].hash == hash
            found = isSame ? index : found
        }
        return found < 0 ? nil : entries[found].grant
    }

    /// The origins that any key is limited to.
    package var origins: Set<String> {
        entries.reduce(into: []) { $0.formUnion($1.grant.origins ?? []) }
    }
}

/// The API keys in the store, which administrators make and revoke while servers run.
///
/// A read is used for five seconds. Within that time a new key may be unknown, and a revoked one accepted, on any
/// instance; guessing keys causes one read in that time.
package final class StoredAPIKeys: Sendable {
    /// How long a read is valid, in seconds.
    package static let freshness: Int64 = 5
    package static let limit = 1000

    private let store: any KeyStore
    private let last: CachedRead<(keys: APIKeys, origins: Set<String>), SignInError>

    init(store: any KeyStore, clock: WallClock) {
        self.store = store
        last = CachedRead(lifetime: Self.freshness, clock: clock)
    }

    private func known() async throws(SignInError) -> APIKeys {
        if let known = last.current { return known.keys }
        return try await last.value { [store] () async throws(SignInError) in
            let records = try await mappingStoreErrors(await store.apiKeys(limit: Self.limit))
            let keys = APIKeys(
                records.map { key in
                    (key.hash, APIGrant(clients: key.clients.map { Set($0) }, origins: key.origins.map { Set($0) }))
                })
            return (keys, keys.origins)
        }.keys
    }

    /// What a key allows; nil if it is unknown or revoked.
    /// - Throws: `temporarily_unavailable` if the store cannot tell.
    package func grant(for hash: TokenHash) async throws(SignInError) -> APIGrant? {
        try await known().grant(for: hash)
    }

    /// Reads the keys if the last read is too old.
    package func refresh() async { _ = try? await known() }

    /// The origins that any key is limited to, as of the last read.
    package var origins: Set<String> { last.lastValue?.origins ?? [] }
}

/// A value that is read from the store when it is needed and the last read is too old. Callers that need it at the same
/// time share one read, so that any number of requests cause one read in `lifetime` seconds.
final class CachedRead<Value: Sendable, Failure: Error>: Sendable {
    private let lifetime: Int64
    private let clock: WallClock
    private let last = Mutex<(value: Value, time: Timestamp)?>(nil)
    private let reads = SingleFlight<Int, Result<Value, Failure>>()

    /// - Parameter lifetime: How long a value that was read is used, in seconds. A failure is not kept.
    init(lifetime: Int64, clock: WallClock) {
        self.lifetime = lifetime
        self.clock = clock
    }

    /// The value that was read last, however old it is.
    var lastValue: Value? { last.withLock { $0?.value } }

    /// The value that was read last, if it is not too old.
    var current: Value? { value(notOlderThan: lifetime, at: clock.now()) }

    /// The value that was read last, if it was less than so many seconds ago. A clock that was set back makes it old.
    func value(notOlderThan seconds: Int64, at now: Timestamp) -> Value? {
        last.withLock { last in
            guard let last, last.time <= now, now < last.time.advanced(bySeconds: seconds) else { return nil }
            return last.value
        }
    }

    /// Keeps a value that was read otherwise.
    func keep(_ value: Value, readAt time: Timestamp) { last.withLock { $0 = (value, time) } }

    /// The value, read again if it is too old.
    func value(_ read: @escaping @Sendable () async throws(Failure) -> Value) async throws(Failure) -> Value {
        let now = clock.now()
        let current = { self.value(notOlderThan: self.lifetime, at: now) }
        if let value = current() { return value }
        return try await reads.value(for: 0, unless: { _ in current().map { .success($0) } }) {
            do throws(Failure) {
                let value = try await read()
                self.keep(value, readAt: now)
                return .success(value)
            } catch {
                return .failure(error)
            }
        }.get()
    }
}
