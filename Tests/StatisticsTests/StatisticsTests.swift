import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel
import TestSupport
import Testing

@testable import PostgreSQL
@testable import Statistics

/// A kind of database.
enum Engine: CaseIterable, Sendable {
    case sqlite, postgres

    /// Opens stores on one empty database, and an object that must outlive them.
    func make() throws -> (open: @Sendable () throws -> SQLStore, holding: any Sendable) {
        switch self {
        case .sqlite:
            let directory = try TemporaryDirectory()
            return (
                {
                    try SQLStore(
                        configuration: SQLiteConfiguration(
                            path: directory.file("store.db"), synchronous: .normal, busyTimeout: .seconds(60),
                            maximumWait: .seconds(60)))
                }, directory
            )
        case .postgres:
            let url = Secret(try PostgresCluster.shared().makeSchema())
            return ({ try PostgresConfiguration(url: url, poolSize: 4).open(observer: nil) }, url)
        }
    }
}

private let firstDay: Int64 = 20_833

private func report(
    _ outcome: SignInReport.Outcome, at provider: String? = "google", user: Int64? = nil,
    as kind: SignInReport.Kind = .signIn
) -> SignInReport {
    SignInReport(
        kind, nil, provider: provider, network: nil, outcome, nil, StepTimes(), 1, user: user.map { UserID($0) })
}

/// Daily statistics, in memory and in the database.
struct StatisticsTests {
    private let clock = ManualClock(secondsSinceEpoch: firstDay * 86_400 + 43_200)

    private func line(_ rows: [DailyStatistics], _ day: Int64, _ provider: String?) -> String? {
        let found = rows.filter { $0.day == day && $0.provider == provider }
        guard found.count == 1, let row = found.first else { return nil }
        let failures = row.failures.map { "\($0.cause)=\($0.count)" } + row.numbers.map { "\($0.way)=\($0.count)" }
        return "\(row.signIns) \(row.newUsers) \(row.mustRegister) \(row.failed) "
            + "\(row.activeInDay) \(row.activeInWeek) \(row.activeInMonth) \(failures.joined(separator: " "))"
    }

    @Test("Two instances add up, and a user of both counts once", arguments: Engine.allCases)
    func twoInstances(_ engine: Engine) async throws {
        let (open, holding) = try engine.make()
        defer { withExtendedLifetime(holding) {} }
        let stores = [try open(), try open()]
        let instances = [DailyCounts(clock: clock.wallClock), DailyCounts(clock: clock.wallClock)]
        for (index, counts) in instances.enumerated() {
            counts.note(report(.signedIn, user: 1))
            counts.note(report(.signedUp, user: Int64(2 + index)))
            counts.note(report(.refused(.invalidIDToken)))
            counts.note(report(.denied, at: "apple"))
        }
        for (counts, store) in zip(instances, stores) { try await store.addStatistics(counts.take()) }
        let rows = try await DailyStatistics.read(days: 1, until: clock.now, from: stores[0])
        #expect(line(rows, firstDay, nil) == "4 2 0 4 3 3 3 denied=2 invalid_id_token=2")
        #expect(line(rows, firstDay, "google") == "4 2 0 2 3 3 3 invalid_id_token=2")
        #expect(line(rows, firstDay, "apple") == "0 0 0 2 0 0 0 denied=2")
        for store in stores { try await store.close() }
    }

    @Test("Concurrent additions lose nothing", arguments: Engine.allCases)
    func concurrentAdditions(_ engine: Engine) async throws {
        let (open, holding) = try engine.make()
        defer { withExtendedLifetime(holding) {} }
        let stores = [try open(), try open()]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<10 {
                let counts = DailyCounts(clock: clock.wallClock)
                for provider in ["google", "apple"] {
                    counts.note(report(.signedIn, at: provider, user: Int64(number)))
                }
                let store = stores[number % 2]
                group.addTask { try await store.addStatistics(counts.take()) }
            }
            try await group.waitForAll()
        }
        let rows = try await DailyStatistics.read(days: 1, until: clock.now, from: stores[1])
        #expect(line(rows, firstDay, nil) == "20 0 0 0 10 10 10 ")
        #expect(line(rows, firstDay, "apple") == "10 0 0 0 10 10 10 ")
        for store in stores { try await store.close() }
    }

    @Test("A restart continues, and the days, the week and the month are kept apart", arguments: Engine.allCases)
    func daysAndRestart(_ engine: Engine) async throws {
        let (open, holding) = try engine.make()
        defer { withExtendedLifetime(holding) {} }
        // User 0 on day 0, user 1 on day 1, user 7 on day 7, user 30 on day 30; each day by a process of its own.
        for day in [0, 1, 7, 30] as [Int64] {
            let store = try open()
            let counts = DailyCounts(clock: clock.wallClock)
            clock.advance(bySeconds: firstDay * 86_400 + day * 86_400 + 86_399 - clock.now.secondsSinceEpoch)
            counts.note(report(.signedIn, user: day))
            try await store.addStatistics(counts.take())
            #expect(counts.take().isEmpty)
            try await store.close()
        }
        let store = try open()
        let rows = try await DailyStatistics.read(days: 31, until: clock.now, from: store)
        #expect(line(rows, firstDay, nil) == "1 0 0 0 1 1 1 ")
        #expect(line(rows, firstDay + 6, nil) == "0 0 0 0 0 2 2 ")
        #expect(line(rows, firstDay + 7, nil) == "1 0 0 0 1 2 3 ")
        #expect(line(rows, firstDay + 29, nil) == "0 0 0 0 0 0 3 ")
        #expect(line(rows, firstDay + 30, nil) == "1 0 0 0 1 1 3 ")
        #expect(rows.first?.day == firstDay + 30)
        #expect(rows.last?.day == firstDay)
        #expect(try await DailyStatistics.read(days: 1, until: clock.now, from: store).first == rows.first)
        try await store.close()
    }

    @Test("Counts of one process are of the days when the sign-ins ended")
    func dayChange() {
        let counts = DailyCounts(clock: clock.wallClock)
        clock.advance(bySeconds: 43_199)
        counts.note(report(.signedIn, user: 1))
        clock.advance(bySeconds: 1)
        counts.note(report(.signedIn, user: 1))
        #expect(counts.take().keys.map(\.day).sorted() == [firstDay, firstDay + 1])
        #expect(Timestamp(secondsSinceEpoch: -1).dayInUTC == -1)
        #expect(Timestamp(secondsSinceEpoch: -86_400).dayInUTC == -1)
        #expect(Timestamp(secondsSinceEpoch: 0).dayInUTC == 0)
    }

    @Test("Only sign-ins count, and what was not stored is stored later")
    func whatCounts() {
        let counts = DailyCounts(ways: ["orange": "camara"], clock: clock.wallClock)
        counts.note(report(.linked, as: .link))
        counts.note(report(.authorized, as: .transaction))
        #expect(counts.take().isEmpty)
        counts.note(report(.signedIn, at: "orange", user: 1, as: .backchannelAuthentication))
        counts.note(report(.mustRegister, at: "orange"))
        counts.putBack(counts.take())
        counts.note(report(.signedIn, at: "orange", user: 2))
        counts.note(report(.refused(.notFound), at: nil))
        let rows = DailyStatistics.of(firstDay...firstDay, counts.take())
        #expect(line(rows, firstDay, "orange") == "2 0 1 0 2 2 2 camara=2")
        #expect(line(rows, firstDay, "") == "0 0 0 1 0 0 0 not_found=1")
    }

    @Test("Rows of days before the end are removed, in steps", arguments: Engine.allCases)
    func removal(_ engine: Engine) async throws {
        let (open, holding) = try engine.make()
        defer { withExtendedLifetime(holding) {} }
        let store = try open()
        for _ in 0..<4 {
            let counts = DailyCounts(clock: clock.wallClock)
            counts.note(report(.signedIn, user: 1))
            try await store.addStatistics(counts.take())
            clock.advance(bySeconds: 86_400)
        }
        #expect(try await store.purgeStatistics(before: firstDay + 3, limit: 3) == 4)
        #expect(try await store.purgeStatistics(before: firstDay + 3, limit: 3) == 2)
        #expect(try await store.purgeStatistics(before: firstDay + 3, limit: 3) == 0)
        #expect(try await store.statistics(of: 0...(firstDay + 9)).keys.map(\.day) == [firstDay + 3])
        try await store.close()
    }

    @Test(
        "A sketch is within 7 percent: three standard errors",
        arguments: [0, 1, 2, 10, 100, 1000, 3000, 6000, 10_000, 50_000] as [Int64], [1, 1_000_003] as [Int64])
    func accuracy(_ count: Int64, _ step: Int64) {
        var sketch = ActiveUserSketch()
        for number in 0..<count { sketch.add(UserID(number * step)) }
        let once = sketch
        for number in 0..<min(count, 100) { sketch.add(UserID(number * step)) }
        #expect(sketch == once)
        #expect(abs(sketch.estimate - count) <= max(count <= 10 ? 0 : 1, count * 7 / 100), "\(sketch.estimate)")
    }

    @Test("The union of two sketches counts each user once, and odd registers are refused")
    func union() throws {
        var (left, right, both) = (ActiveUserSketch(), ActiveUserSketch(), ActiveUserSketch())
        for number in 0..<3000 as Range<Int64> {
            if number < 2000 { left.add(UserID(number)) }
            if number >= 1000 { right.add(UserID(number)) }
            both.add(UserID(number))
        }
        left.formUnion(right)
        #expect(left == both)
        #expect(ActiveUserSketch(registers: both.registers) == both)
        #expect(ActiveUserSketch(registers: []) == nil)
        #expect(ActiveUserSketch(registers: [UInt8](repeating: 54, count: 2048)) != nil)
        #expect(ActiveUserSketch(registers: [UInt8](repeating: 55, count: 2048)) == nil)
        // Full registers give a number, and do not trap.
        for run in [53, 54] as [UInt8] {
            #expect(ActiveUserSketch(registers: [UInt8](repeating: run, count: 2048))?.estimate == .max)
        }
    }

    @Test("As CSV, as a table and as JSON")
    func forms() {
        let counts = DailyCounts(ways: ["a,\"b": "camara"], clock: clock.wallClock)
        counts.note(report(.signedUp, at: "a,\"b", user: 1))
        counts.note(report(.denied, at: "a,\"b"))
        counts.note(report(.refused(.invalidIDToken), at: "a,\"b"))
        let rows = DailyStatistics.of(firstDay...firstDay, counts.take())
        #expect(
            DailyStatistics.csv(rows) == [
                "day,provider,sign_ins,new_users,must_register,failed,active_day,active_week,active_month,failures,"
                    + "numbers",
                "2027-01-15,*,1,1,0,2,1,1,1,denied=1 invalid_id_token=1,camara=1",
                "2027-01-15,\"a,\"\"b\",1,1,0,2,1,1,1,denied=1 invalid_id_token=1,camara=1",
            ])
        let table = DailyStatistics.table(rows)
        #expect(table.count == 3)
        #expect(table.last?.hasPrefix("2027-01-15  a,\"b             1") == true)
        #expect(
            rows.first?.json
                == #"{"day":"2027-01-15","sign_ins":1,"new_users":1,"must_register":0,"failed":2,"active_day":1,"#
                + #""active_week":1,"active_month":1,"failures":{"denied":1,"invalid_id_token":1},"#
                + #""numbers":{"camara":1}}"#)
    }

    @Test("Statistics are read by their key", arguments: [SQLStore.statisticsCounts, SQLStore.statisticsUsers])
    func plans(_ statement: String) async throws {
        let directory = try TemporaryDirectory()
        let store = try SQLStore(configuration: SQLiteConfiguration(path: directory.file("store.db")))
        try await store.close()
        let plan = try DatabaseProbe(path: directory.file("store.db")).connect().rows(
            "EXPLAIN QUERY PLAN " + statement)
        // The details are the last of four columns.
        guard plan.count == 1, case .text(let step)? = plan.first?.last else {
            Issue.record("the plan is \(plan)")
            return
        }
        #expect(step.hasPrefix("SEARCH"), "\(step)")
    }
}
