import Primitives
public import StorageModel
import Synchronization

/// The API keys in the store, which operators make and revoke while servers run.
///
/// They are read again when they were read five seconds ago and somebody asks: so long may a new key be unknown and a
/// revoked one be taken, on every server. Whoever guesses keys causes one read in that time and no more.
public final class StoredAPIKeys: Sendable {
    /// For how many seconds what was read counts.
    public static let freshness: Int64 = 5
    /// The most keys there can be.
    package static let limit = 1000

    private struct State {
        var known = Known(keys: APIKeys(), origins: [])
        var readAt: Timestamp?
        var look: Task<Result<Known, SignInError>, Never>?
    }

    private struct Known: Sendable {
        let keys: APIKeys
        let origins: Set<String>
    }

    private enum Step {
        case known(Known)
        case looked(Task<Result<Known, SignInError>, Never>)
    }

    private let store: any APIKeyStore
    private let clock: WallClock
    private let state = Mutex(State())

    init(store: any APIKeyStore, clock: WallClock) {
        self.store = store
        self.clock = clock
    }

    /// What a key is good for; nil if it is unknown or revoked.
    /// - Throws: `temporarily_unavailable` if the store cannot tell.
    public func grant(for hash: TokenHash) async throws(SignInError) -> APIGrant? {
        try await known().keys.grant(for: hash)
    }

    /// Reads the keys if it is time.
    public func refresh() async { _ = try? await known() }

    /// The origins that some key is for, as far as they have been read.
    public var origins: Set<String> { state.withLock { $0.known.origins } }

    private func known() async throws(SignInError) -> Known {
        let now = clock.now()
        switch next(at: now) {
        case .known(let known): return known
        case .looked(let look): return try await look.value.get()
        }
    }

    private func next(at now: Timestamp) -> Step {
        state.withLock { state in
            // A clock that was set back makes what was read old.
            if let readAt = state.readAt, readAt <= now, now < readAt.advanced(bySeconds: Self.freshness) {
                return .known(state.known)
            }
            if let look = state.look { return .looked(look) }
            let look = Task { await self.look(at: now) }
            state.look = look
            return .looked(look)
        }
    }

    private func look(at now: Timestamp) async -> Result<Known, SignInError> {
        do throws(SignInError) {
            let records = try await stored(await store.apiKeys(limit: Self.limit))
            let keys = APIKeys(records.map { ($0.hash, APIGrant($0)) })
            let known = Known(keys: keys, origins: keys.origins)
            state.withLock { $0 = State(known: known, readAt: now) }
            return .success(known)
        } catch {
            state.withLock { $0.look = nil }
            return .failure(error)
        }
    }
}

extension APIGrant {
    fileprivate init(_ key: StoredAPIKey) {
        self.init(name: key.name, clients: key.clients.map { Set($0) }, origins: key.origins.map { Set($0) })
    }
}
