import ArgumentParser
import CommandLineSupport
package import LatchkeyService
import Primitives
import Storage
import StorageModel

struct StatisticsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Shows sign-ins, new users, failures and active users by day and provider.",
        discussion: """
            Days are those of UTC, the latest first. The line with * has all providers together. Active users are \
            estimates with a standard error of 2.3 %. Works on the configured database, also while servers run, which \
            add their counts once a minute.

            Exit status: 0 if it succeeded, 1 if not, 64 for wrong options, 78 for an invalid configuration.
            """)

    @Option(help: ArgumentHelp("The last so many days, today included.", valueName: "number"))
    var days: Int64 = 30

    @Flag(help: "Print CSV.")
    var csv = false

    @Flag(help: "Print JSON: one object per line.")
    var json = false

    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
        guard (1...DailyStatistics.mostDays).contains(days) else {
            throw ValidationError("--days must be from 1 to \(DailyStatistics.mostDays)")
        }
        guard !csv || !json else { throw ValidationError("give either --csv or --json") }
    }

    func run() async throws {
        try await runAdminCommand(options, as: json ? .json : .text) { [days, csv] admin, _ in
            try await admin.statistics(days: days, asCSV: csv)
        }
    }
}

extension AdminService {
    /// The statistics of the last days.
    package func statistics(days: Int64, asCSV: Bool) async throws -> CommandReport {
        let rows = try await DailyStatistics.read(days: days, until: clock.now(), from: store)
        return CommandReport(
            text: asCSV ? DailyStatistics.csv(rows) : DailyStatistics.table(rows), json: rows.map(\.json))
    }
}
