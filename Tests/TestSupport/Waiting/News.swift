import Dispatch
import Synchronization

/// Wakes those who wait for something that changes outside the test, as another process does.
public final class News: Sendable {
    private struct State {
        var count: UInt64 = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    public init() {}

    /// Something has changed.
    public func post() {
        let waiting = state.withLock { state in
            state.count += 1
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Looks at once and after each piece of news, for so many seconds.
    /// - Returns: What was found; nil if it was not by then.
    public func wait<Value>(atMostSeconds seconds: Int, for find: () -> Value?) async -> Value? {
        let end = DispatchTime.now() + .seconds(seconds)
        let lastNews = DispatchWorkItem { self.post() }
        DispatchQueue.global().asyncAfter(deadline: end, execute: lastNews)
        defer { lastNews.cancel() }
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
