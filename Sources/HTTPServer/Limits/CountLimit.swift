import Synchronization

/// Counts what is in progress, up to a maximum.
package final class CountLimit: Sendable {
    private let maximum: Int
    private let inProgress = Atomic(0)

    package init(maximum: Int) { self.maximum = maximum }

    package var count: Int { inProgress.load(ordering: .relaxed) }

    /// Counts one; false at the maximum.
    package func enter() -> Bool {
        guard inProgress.add(1, ordering: .relaxed).newValue <= maximum else {
            leave()
            return false
        }
        return true
    }

    package func leave() { inProgress.subtract(1, ordering: .relaxed) }
}
