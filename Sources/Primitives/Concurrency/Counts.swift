import Synchronization

/// Counts events.
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
