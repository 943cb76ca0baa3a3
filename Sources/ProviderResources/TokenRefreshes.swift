import Primitives
import SignIn
import Storage
import StorageModel
import Synchronization

/// The refreshes of provider tokens in this process, one at a time for each row; and new tokens that could not be
/// stored.
final class TokenRefreshes: Sendable {
    /// How many rows' tokens are kept while the store does not work. The oldest give way, because a row may be deleted
    /// before its tokens are needed again.
    static let capacity = 1000

    /// Names this process in leases.
    let holder: String
    /// The first pause before a try to store what could not be stored.
    private let pause: Duration
    private let refreshes = SingleFlight<Int64, Result<ProviderTokens, SignInError>>()
    /// New tokens for a row of this version: the provider issued them, and the store did not take them.
    private let unsaved = Mutex(BoundedCache<Int64, (version: Int64, sealed: SealedTokens)>(capacity: capacity))

    init(random: RandomSource, pause: Duration = .milliseconds(250)) {
        holder = random.token(bytes: 16)
        self.pause = pause
    }

    /// Does `work` for a row, or waits for the work under way. It goes on after its callers have gone: the refresh
    /// token that was sent may be spent, so the response must be stored.
    func share(
        _ serial: Int64, _ work: @escaping @Sendable () async -> Result<ProviderTokens, SignInError>
    ) async throws(SignInError) -> ProviderTokens {
        try await refreshes.value(for: serial, work).get()
    }

    /// Keeps tokens that could not be stored, and stores them when the store works again. No other process has them,
    /// and one that takes the lease would send the refresh token again.
    func keepUnsaved(_ sealed: SealedTokens, _ serial: Int64, version: Int64, in store: SQLStore) {
        unsaved.withLock { $0.put((version, sealed), for: serial) }
        Task {
            var pause = pause
            while holdsUnsaved(serial, version: version) {
                try? await Task.sleep(for: pause)
                pause = min(pause * 2, .seconds(2))
                do throws(StorageError) {
                    _ = try await saveUnsaved(serial, version: version, in: store)
                } catch {
                    if error.code == .closed { return }
                }
            }
        }
    }

    /// Whether tokens are kept for a row of this version.
    func holdsUnsaved(_ serial: Int64, version: Int64) -> Bool {
        unsaved.withLock { $0[serial]?.version == version }
    }

    /// Stores what is kept for a row of this version. False if nothing is kept. If the row has changed since, what is
    /// kept is dropped.
    func saveUnsaved(
        _ serial: Int64, version: Int64, in store: SQLStore
    ) async throws(StorageError) -> Bool {
        guard let kept = unsaved.withLock({ $0[serial] }), kept.version == version else { return false }
        _ = try await store.replaceProviderTokens(serial, version: version, with: kept.sealed)
        unsaved.withLock { unsaved in
            if unsaved[serial]?.version == version { unsaved.remove(serial) }
        }
        return true
    }
}
