/// Wakes one task that waits, or that will wait next.
struct Wakeup: Sendable {
    private let signals = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    func signal() { signals.continuation.yield() }

    /// Returns after a signal, or after a time. It may return early.
    func wait(atMost limit: Duration?) async {
        let timer = limit.map { limit in
            Task { if (try? await Task.sleep(for: limit)) != nil { signal() } }
        }
        defer { timer?.cancel() }
        for await _ in signals.stream { return }
    }
}
