import Synchronization

/// A flag that is set once and read by all.
package final class SharedFlag: Sendable {
    private let value: Atomic<Bool>

    package init(_ isSet: Bool = false) { value = Atomic(isSet) }

    package var isSet: Bool { value.load(ordering: .acquiring) }

    package func set() { value.store(true, ordering: .releasing) }
}
