package import Storage
package import StorageModel

extension SQLStore {
    /// Adds counts to the rows of their days, and users to the sketches, in one transaction.
    package func addStatistics(_ tallies: [StatisticsKey: StatisticsTally]) async throws(StorageError) {
        let sorted = tallies.sorted { $0.key < $1.key }
        try await writes.submit { db in
            for (key, tally) in sorted {
                for (measure, amount) in tally.amounts.sorted(by: { $0.key < $1.key }) {
                    try db.perform(
                        """
                        INSERT INTO statistics_counts (day, provider, measure, amount) VALUES (?, ?, ?, ?) \
                        ON CONFLICT (day, provider, measure) DO UPDATE SET \
                        amount = statistics_counts.amount + excluded.amount
                        """, key.day, key.provider, measure, amount)
                }
                guard var users = tally.users else { continue }
                // Locks the row: an instance that stores at the same time waits, and sees these users.
                try db.perform(
                    """
                    INSERT INTO statistics_users (day, provider, registers) VALUES (?, ?, ?) \
                    ON CONFLICT (day, provider) DO UPDATE SET registers = statistics_users.registers
                    """, key.day, key.provider, users.registers)
                let stored = try db.first(
                    "SELECT registers FROM statistics_users WHERE day = ? AND provider = ?", key.day, key.provider
                ) { $0.blob(0) }
                guard let others = stored.flatMap(ActiveUserSketch.init(registers:)), others != users else { continue }
                users.formUnion(others)
                try db.perform(
                    "UPDATE statistics_users SET registers = ? WHERE day = ? AND provider = ?", users.registers,
                    key.day, key.provider)
            }
        }
    }

    package static let statisticsCounts =
        "SELECT day, provider, measure, amount FROM statistics_counts WHERE day BETWEEN ? AND ?"
    package static let statisticsUsers =
        "SELECT day, provider, registers FROM statistics_users WHERE day BETWEEN ? AND ?"

    /// The rows of some days. A sketch that cannot be read is left out.
    package func statistics(
        of days: ClosedRange<Int64>
    ) async throws(StorageError) -> [StatisticsKey: StatisticsTally] {
        try await reads.submit { db in
            var tallies: [StatisticsKey: StatisticsTally] = [:]
            let counts = try db.all(SQL(Self.statisticsCounts), days.lowerBound, days.upperBound) { row in
                (StatisticsKey(day: row.number(0), provider: try row.text(1)), try row.text(2), row.number(3))
            }
            for (key, measure, amount) in counts {
                tallies[key, default: StatisticsTally()].amounts[measure] = amount
            }
            let users = try db.all(SQL(Self.statisticsUsers), days.lowerBound, days.upperBound) { row in
                (StatisticsKey(day: row.number(0), provider: try row.text(1)), row.blob(2))
            }
            for (key, registers) in users {
                tallies[key, default: StatisticsTally()].users = ActiveUserSketch(registers: registers)
            }
            return tallies
        }
    }

    /// Removes the rows of whole days before a day, the oldest first, until `limit` or a few more are removed.
    package func purgeStatistics(before end: Int64, limit: Int) async throws(StorageError) -> Int {
        try await writes.submit { db in
            var removed = 0
            while removed < limit {
                let oldest = try db.first("SELECT day FROM statistics_counts ORDER BY day LIMIT 1") { $0.number(0) }
                guard let oldest, oldest < end else { break }
                removed += try db.run("DELETE FROM statistics_counts WHERE day = ?", oldest)
                removed += try db.run("DELETE FROM statistics_users WHERE day = ?", oldest)
            }
            return removed
        }
    }
}
