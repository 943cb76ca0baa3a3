package import Primitives

/// How many changes of one user's account all processes together put up with: so many at once, and as many again in so
/// many seconds.
///
/// The generic cell rate algorithm, as the buckets of one process have it: of each user one number is kept.
public struct ChangeAllowance: Sendable, Hashable {
    package enum Verdict: Sendable, Hashable {
        /// And the allowance is whole again then; milliseconds since the epoch.
        case admitted(wholeAt: Int64)
        /// What is on record may be of a clock that ran ahead; then it is to be `corrected`.
        case refused(secondsToWait: Int64, corrected: Int64?)
    }

    /// From one change to the next at the steady rate, and for how many at once there is room; milliseconds.
    private let interval: Int64
    private let room: Int64

    /// Both from 1 to a million; what is beyond is held at the end.
    public init(count: Int, seconds: Int) {
        room = Int64(min(max(seconds, 1), 1_000_000)) * 1_000
        interval = max(1, room / Int64(min(max(count, 1), 1_000_000)))
    }

    /// What one more change comes to.
    /// - Parameter wholeAt: As the last admitted one left it; nil if there is none on record.
    package func verdict(after wholeAt: Int64?, at now: Timestamp) -> Verdict {
        let now = now.secondsSinceEpoch.multipliedReportingOverflow(by: 1_000).partialValue
        // Nobody waits longer than for a whole allowance, whatever another machine's clock said.
        let start = min(max(wholeAt ?? now, now), now &+ room)
        let next = start &+ interval
        guard next &- now <= room else {
            return .refused(
                secondsToWait: (next &- now &- room &+ 999) / 1_000, corrected: wholeAt == start ? nil : start)
        }
        return .admitted(wholeAt: next)
    }
}
