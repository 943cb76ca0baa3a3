import Primitives
import StorageModel
import Synchronization

/// The refreshes of provider tokens in this process: one at a time for each row, shared by all who need it; and what came
/// of one that could not be stored.
final class TokenRefreshes: Sendable {
    private typealias UnderWay = Task<Result<ProviderTokens, SignInError>, Never>

    /// New tokens for a row of this version, which the provider gave and the store did not take.
    private struct Unsaved {
        let version: Int64
        let sealed: SealedTokens
        let order: UInt64
    }

    private struct State {
        var underWay: [Int64: UnderWay] = [:]
        var unsaved: [Int64: Unsaved] = [:]
        var order: UInt64 = 0
    }

    /// How many rows' tokens are kept for a store that does not work. Rows may be gone before anybody asks for theirs, so
    /// the oldest give way.
    static let capacity = 1000
    private let state = Mutex(State())

    /// Does `work` for a row, or waits for whoever does. It goes on if its callers have gone: a refresh token that was sent
    /// may be spent, and what came for it must be stored.
    func share(
        _ serial: Int64, _ work: @escaping @Sendable () async -> Result<ProviderTokens, SignInError>
    ) async throws(SignInError) -> ProviderTokens {
        let task = state.withLock { state in
            if let task = state.underWay[serial] { return task }
            let task = UnderWay {
                let result = await work()
                self.state.withLock { $0.underWay[serial] = nil }
                return result
            }
            state.underWay[serial] = task
            return task
        }
        return try await task.value.get()
    }

    func keepUnsaved(_ sealed: SealedTokens, _ serial: Int64, version: Int64) {
        state.withLock { state in
            state.order += 1
            state.unsaved[serial] = Unsaved(version: version, sealed: sealed, order: state.order)
            guard state.unsaved.count > Self.capacity else { return }
            if let oldest = state.unsaved.min(by: { $0.value.order < $1.value.order }) {
                state.unsaved[oldest.key] = nil
            }
        }
    }

    /// Takes out what is kept for a row; nil if there is nothing, or the row has changed since.
    func takeUnsaved(_ serial: Int64, version: Int64) -> SealedTokens? {
        state.withLock { state in
            guard let unsaved = state.unsaved.removeValue(forKey: serial), unsaved.version == version else {
                return nil
            }
            return unsaved.sealed
        }
    }
}
