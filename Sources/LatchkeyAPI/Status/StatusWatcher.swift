import HTTPServer

/// A place among the watchers of the status events, taken before the response begins, so that a refusal is a response
/// of its own. It is given back when its stream ends, or when it was never read.
final class StatusWatcher: Sendable {
    private let limit: CountLimit

    /// Nil if all places are taken.
    init?(in limit: CountLimit) {
        guard limit.enter() else { return nil }
        self.limit = limit
    }

    deinit { limit.leave() }
}
