package import Primitives
package import SignIn
import StorageModel
import Synchronization

/// A day in UTC and a provider.
package struct StatisticsKey: Sendable, Hashable, Comparable {
    /// Since 1970-01-01.
    package let day: Int64
    /// As it is configured; empty for sign-ins that name no configured one.
    package let provider: String

    package init(day: Int64, provider: String) { (self.day, self.provider) = (day, provider) }

    /// By day, then by provider. Instances that store their counts in this order do not wait for each other in circles.
    package static func < (left: Self, right: Self) -> Bool {
        left.day == right.day ? left.provider < right.provider : left.day < right.day
    }
}

/// What is counted for a day and a provider.
package struct StatisticsTally: Sendable, Hashable {
    /// By the names of ``SignInReport/Outcome``, and by ``numberPrefix`` and a way to verify phone numbers.
    package var amounts: [String: Int64] = [:]
    /// The users who signed in; nil if there were none.
    package var users: ActiveUserSketch?

    package static let numberPrefix = "number:"

    package init() {}

    mutating func formSum(_ other: StatisticsTally) {
        amounts.merge(other.amounts) { $0 + $1 }
        guard let others = other.users else { return }
        if users == nil { users = others } else { users?.formUnion(others) }
    }
}

/// What this process counted since it stored it last. A sign-in adds to it, and waits for nothing.
package final class DailyCounts: Sendable {
    private struct Sums {
        var outcomes: [SignInReport.Outcome: Int64] = [:]
        var users: ActiveUserSketch?
    }

    private struct State {
        var sums: [StatisticsKey: Sums] = [:]
        /// What could not be stored.
        var unstored: [StatisticsKey: StatisticsTally] = [:]
    }

    private let clock: WallClock
    /// The ways in which providers verify phone numbers, by their names.
    private let ways: [String: String]
    private let state = Mutex(State())

    package init(ways: [String: String] = [:], clock: WallClock) { (self.ways, self.clock) = (ways, clock) }

    /// Counts a sign-in. Links and transactions are none.
    package func note(_ report: SignInReport) {
        guard report.kind == .signIn || report.kind == .backchannelAuthentication else { return }
        let key = StatisticsKey(day: clock.now().dayInUTC, provider: report.provider ?? "")
        state.withLock { state in
            state.sums[key, default: Sums()].outcomes[report.outcome, default: 0] += 1
            guard let user = report.user else { return }
            state.sums[key, default: Sums()].users.addUser(user)
        }
    }

    /// What was counted since the last call.
    package func take() -> [StatisticsKey: StatisticsTally] {
        let taken = state.withLock { state in
            let taken = state
            state = State()
            return taken
        }
        var tallies = taken.unstored
        for (key, sums) in taken.sums {
            var tally = StatisticsTally()
            tally.users = sums.users
            for (outcome, count) in sums.outcomes {
                tally.amounts[outcome.name, default: 0] += count
                guard outcome == .signedIn || outcome == .signedUp, let way = ways[key.provider] else { continue }
                tally.amounts[StatisticsTally.numberPrefix + way, default: 0] += count
            }
            tallies[key, default: StatisticsTally()].formSum(tally)
        }
        return tallies
    }

    /// Keeps what could not be stored for the next time.
    package func putBack(_ tallies: [StatisticsKey: StatisticsTally]) {
        state.withLock { state in
            for (key, tally) in tallies { state.unstored[key, default: StatisticsTally()].formSum(tally) }
        }
    }
}

extension ActiveUserSketch? {
    fileprivate mutating func addUser(_ user: UserID) {
        if self == nil { self = ActiveUserSketch() }
        self?.add(user)
    }
}

extension Timestamp {
    /// The number of the day in UTC since 1970-01-01.
    package var dayInUTC: Int64 { (secondsSinceEpoch - (secondsSinceEpoch < 0 ? 86_399 : 0)) / 86_400 }
}
