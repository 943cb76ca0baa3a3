import HTTPTypes
import Synchronization

/// Counts the answers that are made as time goes on, so many at most.
final class StreamLimit: Sendable {
    private let maximum: Int
    private let open = Atomic(0)

    init(maximum: Int) {
        self.maximum = maximum
    }

    var count: Int { open.load(ordering: .relaxed) }

    /// Counts one in; false if there are too many, and then it was not counted.
    func enter() -> Bool {
        guard open.add(1, ordering: .relaxed).newValue <= maximum else {
            leave()
            return false
        }
        return true
    }

    func leave() { open.subtract(1, ordering: .relaxed) }
}

extension HTTPError {
    static let tooManyStreams = HTTPError(
        .serviceUnavailable, code: "temporarily_unavailable",
        message: "As many are being told of what happens as may be. Try again later.", headers: [.retryAfter: "30"])
}
