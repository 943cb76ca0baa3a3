import Synchronization

/// Counts what is in progress, up to a maximum.
package final class CountLimit: Sendable {
    private let maximum: Int
    private let inProgress = Atomic(0)

    package init(maximum: Int) { self.maximum = maximum }

    package var count: Int { inProgress.load(ordering: .relaxed) }

    /// One of what is in progress, until this object is released.
    package final class Place: Sendable {
        private let limit: CountLimit

        /// Nil at the maximum.
        package init?(in limit: CountLimit) {
            self.limit = limit
            // The end of this object takes it back, also after a failure.
            guard limit.inProgress.add(1, ordering: .relaxed).newValue <= limit.maximum else { return nil }
        }

        deinit { limit.inProgress.subtract(1, ordering: .relaxed) }
    }
}
