import Dispatch
import Synchronization

/// Wakes tasks that wait for a change outside the test, such as one of another process.
public final class ChangeSignal: Sendable {
    private struct State {
        var count: UInt64 = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    public init() {}

    /// Signals a change.
    public func post() {
        let waiting = state.withLock { state in
            state.count += 1
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Calls `find` at once and after each signal.
    /// - Returns: The found value; nil after `seconds`, times ``Patience/factor``.
    public func wait<Value>(atMostSeconds seconds: Int, for find: () -> Value?) async -> Value? {
        let end = DispatchTime.now() + .seconds(seconds * Patience.factor)
        let lastSignal = DispatchWorkItem { self.post() }
        DispatchQueue.global().asyncAfter(deadline: end, execute: lastSignal)
        defer { lastSignal.cancel() }
        while true {
            let seen = state.withLock { $0.count }
            if let value = find() { return value }
            guard DispatchTime.now() < end else { return nil }
            await next(after: seen)
        }
    }

    private func next(after seen: UInt64) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.count == seen { state.waiting.append(continuation) }
                return state.count != seen
            }
            if isThere { continuation.resume() }
        }
    }
}
