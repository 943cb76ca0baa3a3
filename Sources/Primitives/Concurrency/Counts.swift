import Synchronization

package final class Counts<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    package init(_ value: Value) { self.value = Mutex(value) }

    package func note(_ change: (inout Value) -> Void) { value.withLock { change(&$0) } }

    /// Since the process started.
    package var present: Value { value.withLock { $0 } }
}

/// A flag that is set once and read by all.
package final class SharedFlag: Sendable {
    private let value: Atomic<Bool>

    package init(_ isSet: Bool = false) { value = Atomic(isSet) }

    package var isSet: Bool { value.load(ordering: .acquiring) }

    /// - Returns: Whether it was set before.
    @discardableResult
    package func set() -> Bool { value.exchange(true, ordering: .acquiringAndReleasing) }
}

/// Wakes one task that waits, or that will wait next.
package struct Wakeup: Sendable {
    private let signals = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    package init() {}

    package func signal() { signals.continuation.yield() }

    /// Returns after a signal, or after a time. It may return early.
    package func wait(atMost limit: Duration?) async {
        let timer = limit.map { limit in
            Task { if (try? await Task.sleep(for: limit)) != nil { signal() } }
        }
        defer { timer?.cancel() }
        for await _ in signals.stream { return }
    }
}
