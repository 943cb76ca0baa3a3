import Synchronization

/// Counts those who watch the status page, so many at most.
final class StatusWatchers: Sendable {
    static let maximum = 16

    private let count = Atomic(0)

    var hasRoom: Bool { count.load(ordering: .relaxed) < Self.maximum }

    /// Counts one in; false if there are too many, and then nobody was counted.
    func enter() -> Bool {
        guard count.add(1, ordering: .relaxed).newValue <= Self.maximum else {
            leave()
            return false
        }
        return true
    }

    func leave() { count.subtract(1, ordering: .relaxed) }
}
