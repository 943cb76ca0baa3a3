import Synchronization

/// Wakes one task that waits, or that will wait next.
final class Wakeup: Sendable {
    private struct State {
        var isSignalled = false
        var waiting: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    func signal() {
        let waiting = state.withLock { state in
            defer { state.waiting = nil }
            state.isSignalled = state.waiting == nil
            return state.waiting
        }
        waiting?.resume()
    }

    /// Returns after a signal, or after a time. It may return early.
    func wait(atMost limit: Duration?) async {
        let timer = limit.map { limit in
            Task { [weak self] in
                if (try? await Task.sleep(for: limit)) != nil { self?.signal() }
            }
        }
        defer { timer?.cancel() }
        await withCheckedContinuation { continuation in
            let isSignalled = state.withLock { state in
                defer { state.isSignalled = false }
                if !state.isSignalled { state.waiting = continuation }
                return state.isSignalled
            }
            if isSignalled { continuation.resume() }
        }
    }
}
