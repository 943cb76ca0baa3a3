package import Primitives

/// A limit that all processes count in the store, such as on the changes of one user's account: `count` at once, and as
/// many again in `seconds`.
///
/// The generic cell rate algorithm, which stores one number for each holder.
package struct SharedAllowance: Sendable, Hashable {
    package enum Verdict: Sendable, Hashable {
        /// The allowance is whole again at this time, in milliseconds since the epoch.
        case admitted(wholeAt: Int64)
        /// A stored time from a clock that ran ahead is to be replaced by `corrected`.
        case refused(secondsToWait: Int64, corrected: Int64?)
    }

    private let count: Int
    private let seconds: Int

    /// Both values are clamped to 1 to 1,000,000.
    package init(count: Int, seconds: Int) {
        self.count = min(max(count, 1), 1_000_000)
        self.seconds = min(max(seconds, 1), 1_000_000)
    }

    /// The whole allowance, in milliseconds.
    private var room: Int64 { Int64(seconds) * 1_000 }

    /// The time between uses at the steady rate, in milliseconds: how much later the allowance is whole after one use.
    package var interval: Int64 { max(1, room / Int64(count)) }

    /// The part of one of those who share it: half of the uses, rounded up, in the same time.
    package var half: SharedAllowance { SharedAllowance(count: (count + 1) / 2, seconds: seconds) }

    /// Decides about one more use.
    /// - Parameter wholeAt: The value stored by the last admitted use; nil if there is none.
    package func verdict(after wholeAt: Int64?, at now: Timestamp) -> Verdict {
        let now = now.secondsSinceEpoch.multipliedReportingOverflow(by: 1_000).partialValue
        // Caps the wait at one full allowance, so that another machine's fast clock cannot extend it.
        let start = min(max(wholeAt ?? now, now), now &+ room)
        let next = start &+ interval
        guard next &- now <= room else {
            return .refused(
                secondsToWait: (next &- now &- room &+ 999) / 1_000, corrected: wholeAt == start ? nil : start)
        }
        return .admitted(wholeAt: next)
    }
}

/// One use of an allowance.
package struct AllowanceUse: Sendable, Hashable {
    /// Whose allowance it is, as a hash of a text that no other allowance has.
    package let key: TokenHash
    package let allowance: SharedAllowance

    /// - Parameter key: ``key``.
    package init(key: TokenHash, _ allowance: SharedAllowance) {
        self.key = key
        self.allowance = allowance
    }

    /// - Parameter holder: Whose allowance it is, such as `phone verification of user 7`.
    package init(of holder: String, _ allowance: SharedAllowance) {
        self.init(key: TokenHash(sha256Of: holder), allowance)
    }
}
