/// How long to wait after a failed request to a receiver: twice as long after each, up to a limit, with jitter so that
/// many instances do not return to it at once.
package struct RetryDelay: Sendable {
    private let first: Duration
    private let longest: Duration
    private var failures: Int

    /// - Parameter failures: How many have been before.
    package init(first: Duration = .seconds(1), longest: Duration = .seconds(60), failures: Int = 0) {
        self.first = first
        self.longest = longest
        self.failures = failures
    }

    /// The delay after one more failure: between half of the step and the step, but no less than the receiver asks for.
    package mutating func next(after retryAfter: Duration?, _ random: RandomSource) -> Duration {
        let step = min(longest, first * (1 << min(max(failures, 0), 20)))
        failures += 1
        let number = random.bytes(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let jittered = step / 2 + step / 2 * (Double(number) / Double(UInt32.max))
        return max(jittered, retryAfter ?? .zero)
    }

    /// A request was answered.
    package mutating func reset() { failures = 0 }

    /// The delay that a receiver asks for, at most a day; nil if it asks for none.
    /// - Parameter text: The `Retry-After` field: seconds or a date (RFC 9110 section 10.2.3).
    package static func requested(by text: String, at now: Timestamp) -> Duration? {
        let seconds: Int64
        if text.isDecimal {
            // A number that does not fit is long, too.
            seconds = Int64(text) ?? .max
        } else if let date = UTCTime.moment(text, in: .http) {
            seconds = date.seconds(since: now)
        } else {
            return nil
        }
        return .seconds(max(0, min(seconds, 86_400)))
    }
}
