package import ArgumentParser
package import HTTPServer
import HTTPTypes
package import LatchkeyAPI
package import LatchkeyConfiguration
package import LatchkeyService
import Logging
package import Primitives
package import SignIn
import Storage
package import StorageModel
import Synchronization

/// `statistics`: how long daily statistics are kept.
package struct StatisticsSettings: FeatureSettings, Hashable {
    package var retention = Duration.seconds(730 * 86_400)

    package init() {}

    package static let settings = [
        Setting(
            "statistics.retention", .duration(86_400...315_360_000), \StatisticsSettings.retention,
            "How long daily statistics are kept.")
    ]
}

/// Statistics by day and provider, from what sign-ins report.
///
/// A sign-in adds to counts in memory. Housekeeping adds them to the rows of their days once a minute.
package final class StatisticsFeature: Feature {
    private let counts: DailyCounts
    private let retention: Duration
    private let context: FeatureContext
    /// The last days, all providers together, as they were when counts were last stored.
    private let lastDays = Mutex<[DailyStatistics]>([])

    package init(_ settings: StatisticsSettings, in context: FeatureContext) {
        let verifying = context.configuration.providers.filter { Self.verifyingKinds.contains($0.kind) }
        counts = DailyCounts(
            ways: Dictionary(verifying.map { ($0.id, $0.kind.rawValue) }) { first, _ in first }, clock: context.clock)
        retention = settings.retention
        self.context = context
    }

    /// The kinds of providers that verify phone numbers.
    private static let verifyingKinds: Set<ProviderKind> = [.camara, .firebasePNV, .aggregator]

    package static var commands: [any ParsableCommand.Type] { [StatisticsCommand.self] }

    package var signInObserver: SignInObserver? { { [counts] report in counts.note(report) } }

    /// Stores what was counted since the last time.
    package func purge(at now: Timestamp, limit: Int) async throws(StorageError) -> Int {
        try await store()
        let days = try await DailyStatistics.read(days: Self.shownDays, until: now, from: context.store)
        lastDays.withLock { $0 = days.filter { $0.provider == nil } }
        return try await context.store.purgeStatistics(
            before: now.advanced(bySeconds: -retention.components.seconds).dayInUTC, limit: limit)
    }

    private static let shownDays: Int64 = 7

    package var statusTable: StatusTable? {
        let days = lastDays.withLock { $0 }
        guard !days.isEmpty else { return nil }
        return (
            "Last days", "Of all instances, by day in UTC, at most two minutes old. Active users are estimates.",
            ["Day", "Sign-ins", "New users", "Failed", "Active in the day", "in 7 days", "in 30 days"],
            days.map { day in
                let figures = [day.signIns, day.newUsers, day.failed]
                return [day.date]
                    + (figures + [day.activeInDay, day.activeInWeek, day.activeInMonth]).map { String($0) }
            }
        )
    }

    package func shutdown() async {
        do throws(StorageError) {
            try await store()
        } catch {
            context.logger.warning("could not store the last statistics", metadata: ["error": "\(error.code)"])
        }
    }

    private func store() async throws(StorageError) {
        let tallies = counts.take()
        guard !tallies.isEmpty else { return }
        do throws(StorageError) {
            try await context.store.addStatistics(tallies)
        } catch {
            counts.putBack(tallies)
            throw error
        }
    }

    package func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        router.get("/admin/v1/statistics") { [context] request in
            try await api.admitAdministrator(request)
            let text = try request.query["days"] ?? "30"
            guard text.isDecimal, let days = Int64(text), (1...DailyStatistics.mostDays).contains(days) else {
                throw APIError.malformed("days must be a number from 1 to \(DailyStatistics.mostDays).")
            }
            let format = try request.query["format"] ?? "json"
            guard format == "json" || format == "csv" else {
                throw APIError.malformed("format must be json or csv.")
            }
            let rows: [DailyStatistics]
            do throws(StorageError) {
                rows = try await DailyStatistics.read(days: days, until: context.clock.now(), from: context.store)
            } catch {
                throw SignInError(error)
            }
            let body =
                format == "csv"
                ? DailyStatistics.csv(rows).map { $0 + "\r\n" }.joined()
                : "{\"statistics\":[\(rows.map(\.json).joined(separator: ","))]}"
            return Response(
                status: .ok,
                headers: [
                    .contentType: format == "csv" ? "text/csv; charset=utf-8" : "application/json",
                    .cacheControl: "no-store",
                ], body: Array(body.utf8))
        }
    }

    package static var operations: [APIOperation] {
        [
            APIOperation(
                .get, "/admin/v1/statistics", "statistics", .operation, .open, "Statistics by day and provider",
                """
                For administrators, as `/status`. Days are those of UTC, the latest first. A row without `provider` is \
                of all providers. Active users are estimates with a standard error of 2.3 %. Numbers are at most a \
                minute old.
                """,
                parameters: [
                    .query("days", .text("The last so many days, up to 731, today included.", example: "30")),
                    .query("format", .text("The form of the response.", choices: ["json", "csv"])),
                ],
                responses: [
                    .json(
                        "The rows.",
                        .object(
                            "Statistics.",
                            [
                                "statistics": .list(
                                    "The rows.",
                                    of: .object(
                                        "A day and a provider.",
                                        [
                                            "day": .text("In UTC.", example: "2026-11-21"),
                                            "sign_ins": .integer("Also those of new users.", example: 42),
                                        ], isOpen: true))
                            ]), example: #"{"statistics": [{"day": "2026-11-21", "sign_ins": 42}]}"#),
                    .text("text/csv", "The rows as CSV; `*` is all providers together."),
                ], refusals: APIRefusal.ofAdministratorPages)
        ]
    }
}
