import HTTPServer
import LatchkeyAPI
import LatchkeyConfiguration
import LatchkeyService
import Observability
import Primitives
import Storage
import StorageModel

/// The keys of the configuration.
struct VisitsSettings: FeatureSettings {
    /// In seconds.
    var lifetime: Int64 = 30 * 86_400

    static let settings = [
        Setting("visits.lifetime", .seconds(1...31_536_000), \VisitsSettings.lifetime, "For how long a visit counts.")
    ]
}

/// Counts how often each user has opened the app: `POST /users/me/visits`.
struct VisitsFeature: BasicFeature {
    private let lifetime: Int64
    private let store: SQLStore
    private let clock: WallClock
    private let recorded = Counter("visits_recorded_total", "Visits of users.")

    init(_ settings: VisitsSettings, in context: FeatureContext) {
        lifetime = settings.lifetime
        store = context.store
        clock = context.clock
    }

    static func metrics(of feature: Self?) -> [any Metric] { feature.map { [$0.recorded] } ?? [] }

    // MARK: The route

    func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        // For callers with a session; limited as changes of an account are.
        router.post(
            "/users/me/visits",
            api.changing { _, _, caller in
                let count = try await record(caller.holder.user.id)
                recorded.add()
                return .json(.ok, capacity: 32) { json in json.add("visits", count) }
            })
    }

    static let operations = [
        APIOperation(
            .post, "/users/me/visits", "recordVisit", .account, .session, "Record a visit",
            "Call it once when the user opens the app.",
            responses: [.json("How often the user was here.", .named("Visits"), example: #"{"visits": 3}"#)])
    ]

    static let schemas: KeyValuePairs<String, APISchema> = [
        "Visits": .object(
            "The visits of a user.", ["visits": .integer("This visit and the earlier ones", from: 1, example: 3)])
    ]

    // MARK: The table

    static let tables = [
        FeatureTable(
            "visits",
            """
            id INTEGER PRIMARY KEY,
            user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            time INTEGER NOT NULL
            """, indexes: ["user_id, time", "time"])
    ]

    /// - Returns: How many visits of the user count.
    private func record(_ user: UserID) async throws(StorageError) -> Int64 {
        let now = clock.now()
        let end = now.advanced(bySeconds: -lifetime)
        return try await store.writes.submit { db in
            try db.perform("INSERT INTO own_visits (user_id, time) VALUES (?, ?)", user, now)
            return try db.number("SELECT count(*) FROM own_visits WHERE user_id = ? AND time > ?", user, end)
        }
    }

    func purge(at now: Timestamp, limit: Int) async throws(StorageError) -> Int {
        let end = now.advanced(bySeconds: -lifetime)
        return try await store.writes.submit { db in
            try db.run(
                "DELETE FROM own_visits WHERE id IN (SELECT id FROM own_visits WHERE time <= ? LIMIT ?)", end,
                Int64(limit))
        }
    }
}
