package import Primitives
import SignIn
package import Storage
package import StorageModel

/// A day's numbers of a provider, or of all.
package struct DailyStatistics: Sendable, Hashable {
    /// Since 1970-01-01, in UTC.
    package let day: Int64
    /// Nil for all together; empty for sign-ins that name no configured provider.
    package let provider: String?
    package var signIns: Int64 = 0
    package var newUsers: Int64 = 0
    package var mustRegister: Int64 = 0
    /// By stable code, sorted.
    package var failures: [(cause: String, count: Int64)] { Self.sorted(causes) }
    /// Sign-ins by the way in which the phone number was verified, sorted.
    package var numbers: [(way: String, count: Int64)] { Self.sorted(ways).map { ($0.0, $0.1) } }
    package var failed: Int64 { causes.values.reduce(0, &+) }
    /// Users of the day, of the seven days that end with it, and of the thirty days: estimates.
    package var activeInDay: Int64 = 0
    package var activeInWeek: Int64 = 0
    package var activeInMonth: Int64 = 0
    private var causes: [String: Int64] = [:]
    private var ways: [String: Int64] = [:]

    package init(day: Int64, provider: String?) { (self.day, self.provider) = (day, provider) }

    /// Such as `2026-11-21`.
    package var date: String {
        String(UTCTime.text(Timestamp(secondsSinceEpoch: day.multipliedReportingOverflow(by: 86_400).0)).prefix(10))
    }

    fileprivate mutating func add(_ amounts: [String: Int64]) {
        for (measure, amount) in amounts {
            switch measure {
            case SignInReport.Outcome.signedIn.name: signIns &+= amount
            case SignInReport.Outcome.signedUp.name:
                signIns &+= amount
                newUsers &+= amount
            case SignInReport.Outcome.mustRegister.name: mustRegister &+= amount
            case _ where measure.hasPrefix(StatisticsTally.numberPrefix):
                ways[String(measure.dropFirst(StatisticsTally.numberPrefix.count)), default: 0] &+= amount
            default: causes[measure, default: 0] &+= amount
            }
        }
    }

    private static func sorted(_ counts: [String: Int64]) -> [(cause: String, count: Int64)] {
        counts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}

extension DailyStatistics {
    package static let mostDays: Int64 = 731
    private static let week: Int64 = 7
    private static let month: Int64 = 30

    /// The last days, today included, the latest first: each with all providers together, then by provider.
    package static func read(
        days: Int64, until now: Timestamp, from store: SQLStore
    ) async throws(StorageError) -> [DailyStatistics] {
        let today = now.dayInUTC
        return of((today - days + 1)...today, try await store.statistics(of: (today - days - month + 2)...today))
    }

    package static func of(
        _ days: ClosedRange<Int64>, _ tallies: [StatisticsKey: StatisticsTally]
    ) -> [DailyStatistics] {
        let providers = Set(tallies.keys.map(\.provider)).sorted()
        return days.reversed().flatMap { day in
            [statistics(of: day, nil, among: providers, tallies)]
                + providers.map { statistics(of: day, $0, among: [$0], tallies) }.filter(\.hasAny)
        }
    }

    private var hasAny: Bool { signIns + mustRegister + failed + activeInMonth > 0 }

    private static func statistics(
        of day: Int64, _ provider: String?, among providers: [String], _ tallies: [StatisticsKey: StatisticsTally]
    ) -> DailyStatistics {
        var statistics = DailyStatistics(day: day, provider: provider)
        var users = ActiveUserSketch()
        for past in 0..<month {
            for name in providers {
                guard let tally = tallies[StatisticsKey(day: day - past, provider: name)] else { continue }
                if past == 0 { statistics.add(tally.amounts) }
                if let others = tally.users { users.formUnion(others) }
            }
            if past == 0 { statistics.activeInDay = users.estimate }
            if past == week - 1 { statistics.activeInWeek = users.estimate }
        }
        statistics.activeInMonth = users.estimate
        return statistics
    }
}

/// As text, CSV and JSON.
extension DailyStatistics {
    private static let heads = [
        "day", "provider", "sign_ins", "new_users", "must_register", "failed", "active_day", "active_week",
        "active_month", "failures", "numbers",
    ]

    private var cells: [String] {
        let figures = [
            signIns, newUsers, mustRegister, failed, activeInDay, activeInWeek, activeInMonth,
        ].map { String($0) }
        let lists = [failures.map { "\($0.cause)=\($0.count)" }, numbers.map { "\($0.way)=\($0.count)" }]
        return [date, provider ?? "*"] + figures + lists.map { $0.joined(separator: " ") }
    }

    /// RFC 4180, with a line of heads. `*` is all providers together.
    package static func csv(_ rows: [DailyStatistics]) -> [String] {
        ([heads] + rows.map(\.cells)).map { cells in
            cells.map { cell in
                cell.utf8.contains { $0 == 0x2C || $0 == 0x22 || $0 < 0x20 }
                    ? "\"\(cell.replacing("\"", with: "\"\""))\"" : cell
            }.joined(separator: ",")
        }
    }

    package static func table(_ rows: [DailyStatistics]) -> [String] {
        let lines = [heads] + rows.map(\.cells)
        let widths = heads.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        return lines.map { cells in
            var line = ""
            for (column, cell) in cells.enumerated() {
                let space = String(repeating: " ", count: widths[column] - cell.count)
                let isNumber = (2...8).contains(column)
                line += (isNumber ? space + cell : cell + space) + "  "
            }
            return line.trimmingEnd().onOneLine()
        }
    }

    package var json: String {
        JSONObjectWriter.text { json in
            json.add("day", date)
            json.add("provider", ifPresent: provider)
            json.add("sign_ins", signIns)
            json.add("new_users", newUsers)
            json.add("must_register", mustRegister)
            json.add("failed", failed)
            json.add("active_day", activeInDay)
            json.add("active_week", activeInWeek)
            json.add("active_month", activeInMonth)
            json.add("failures") { json in
                for (cause, count) in failures { json.add(named: cause, json: String(count)) }
            }
            json.add("numbers") { json in
                for (way, count) in numbers { json.add(named: way, json: String(count)) }
            }
        }
    }
}

extension String {
    fileprivate func trimmingEnd() -> String {
        var text = self[...]
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
