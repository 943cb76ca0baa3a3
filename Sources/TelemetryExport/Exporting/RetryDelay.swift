package import Primitives

/// How long to wait after a failed export: twice as long after each, up to a minute, with jitter so that many instances
/// do not return to a receiver at once.
package struct RetryDelay: Sendable {
    static let first = Duration.seconds(1)
    static let longest = Duration.seconds(60)

    private var failures = 0

    package init() {}

    /// The delay after one more failure: between half of the step and the step, but no less than the receiver asks for.
    package mutating func next(after retryAfter: Duration?, _ random: RandomSource) -> Duration {
        let step = min(Self.longest, Self.first * (1 << min(failures, 6)))
        failures += 1
        let number = random.bytes(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let jittered = step / 2 + step / 2 * (Double(number) / Double(UInt32.max))
        return max(jittered, retryAfter ?? .zero)
    }

    /// An export was taken.
    package mutating func reset() { failures = 0 }
}
