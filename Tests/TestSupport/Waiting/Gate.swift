import Synchronization

/// Holds tasks until a test opens it.
public final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    public init() {}

    /// Waits until the gate is open.
    public func pass() async {
        await withCheckedContinuation { continuation in
            let ready = state.withLock { state -> [CheckedContinuation<Void, Never>] in
                if state.isOpen { return [continuation] }
                state.waiting.append(continuation)
                let arrived = state.watchers.filter { $0.count <= state.waiting.count }.map(\.continuation)
                state.watchers.removeAll { $0.count <= state.waiting.count }
                return arrived
            }
            for continuation in ready { continuation.resume() }
        }
    }

    /// Waits until `count` tasks wait at the gate.
    public func untilWaiting(_ count: Int = 1) async {
        await withCheckedContinuation { continuation in
            let isSo = state.withLock { state in
                if state.waiting.count >= count { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isSo { continuation.resume() }
        }
    }

    public func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
