import Synchronization

/// The pauses between two polls of a mobile operator, of a limited number of sign-ins at each operator.
///
/// A sign-in goes on when its client closes the connection, so that no limit of connections bounds those that wait: an
/// operator that keeps every token pending would collect them.
package final class PollPauses: Sendable {
    /// By the keys of the operators.
    private let waiting = Mutex<[String: Int]>([:])
    private let limit: Int
    private let sleep: @Sendable (Duration) async -> Bool

    /// For attempts that never poll.
    static let none = PollPauses(limit: 0)

    /// - Parameters:
    ///   - limit: The most sign-ins that may wait at one operator.
    ///   - sleep: Waits; false if the task was cancelled.
    package init(
        limit: Int = 256,
        sleep: @escaping @Sendable (Duration) async -> Bool = { (try? await Task.sleep(for: $0)) != nil }
    ) {
        self.limit = limit
        self.sleep = sleep
    }

    /// Waits.
    /// - Parameter key: The operator's.
    /// - Returns: False if the task was cancelled, or at once if too many sign-ins wait at the operator.
    func callAsFunction(_ duration: Duration, at key: String) async -> Bool {
        let isAdmitted = waiting.withLock { waiting in
            let count = waiting[key] ?? 0
            guard count < limit else { return false }
            waiting[key] = count + 1
            return true
        }
        guard isAdmitted else { return false }
        defer {
            waiting.withLock { waiting in
                let count = (waiting[key] ?? 1) - 1
                waiting[key] = count > 0 ? count : nil
            }
        }
        return await sleep(duration)
    }
}
