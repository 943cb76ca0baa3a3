import Primitives
import StorageModel
import Synchronization

/// Says whether the store can be used, asking it at most once a second and one time at once, however often it is asked
/// itself: anybody may ask.
public final class Readiness: Sendable {
    private struct State {
        var last: (time: Timestamp, isReady: Bool)?
        var look: Task<Bool, Never>?
    }

    private enum Step {
        case known(Bool)
        case looked(Task<Bool, Never>)
    }

    private let store: any MaintainedStore
    private let clock: WallClock
    private let state = Mutex(State())

    init(store: any MaintainedStore, clock: WallClock) {
        self.store = store
        self.clock = clock
    }

    public func isReady() async -> Bool {
        let now = clock.now()
        switch next(at: now) {
        case .known(let isReady): return isReady
        case .looked(let look): return await look.value
        }
    }

    private func next(at now: Timestamp) -> Step {
        state.withLock { state in
            if let last = state.last, last.time == now { return .known(last.isReady) }
            if let look = state.look { return .looked(look) }
            let look = Task { await self.look(at: now) }
            state.look = look
            return .looked(look)
        }
    }

    private func look(at now: Timestamp) async -> Bool {
        let isReady: Bool
        do {
            try await store.check()
            isReady = true
        } catch {
            isReady = false
        }
        state.withLock { $0 = State(last: (now, isReady)) }
        return isReady
    }
}
