import Primitives
import StorageModel
import Synchronization

/// The refreshes of provider tokens in this process, one at a time for each row; and new tokens that could not be
/// stored.
final class TokenRefreshes: Sendable {
    /// How many rows' tokens are kept while the store does not work. The oldest give way, because a row may be deleted
    /// before its tokens are needed again.
    static let capacity = 1000

    private let refreshes = SingleFlight<Int64, Result<ProviderTokens, SignInError>>()
    /// New tokens for a row of this version: the provider issued them, and the store did not take them.
    private let unsaved = Mutex(BoundedCache<Int64, (version: Int64, sealed: SealedTokens)>(capacity: capacity))

    /// Does `work` for a row, or waits for the work under way. It goes on after its callers have gone: the refresh
    /// token that was sent may be spent, so the response must be stored.
    func share(
        _ serial: Int64, _ work: @escaping @Sendable () async -> Result<ProviderTokens, SignInError>
    ) async throws(SignInError) -> ProviderTokens {
        try await refreshes.value(for: serial, work).get()
    }

    /// Keeps tokens that could not be stored.
    func keepUnsaved(_ sealed: SealedTokens, _ serial: Int64, version: Int64) {
        unsaved.withLock { $0.put((version, sealed), for: serial) }
    }

    /// Takes out what is kept for a row; nil if there is nothing, or the row has changed since.
    func takeUnsaved(_ serial: Int64, version: Int64) -> SealedTokens? {
        guard let unsaved = unsaved.withLock({ $0.remove(serial) }), unsaved.version == version else { return nil }
        return unsaved.sealed
    }
}
