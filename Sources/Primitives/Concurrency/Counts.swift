import Synchronization

/// Counts events.
package final class Counts<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    package init(_ value: Value) { self.value = Mutex(value) }

    package func note(_ change: (inout Value) -> Void) { value.withLock { change(&$0) } }

    /// Since the process started.
    package var present: Value { value.withLock { $0 } }
}
