package import ArgumentParser
public import LatchkeyConfiguration
package import LatchkeyService
package import Observability
import OpenIDConnect
package import Primitives
package import SignIn
package import Storage
package import StorageModel

/// The capsules of failed sign-ins: why each failed, for administrators.
package struct CapsulesFeature: Feature {
    /// The most capsules with one correlation id among which a failure's is looked for.
    private static let examinedCapsules = 100

    private let settings: CapsuleSettings
    private let store: SQLStore
    /// Nil if no capsules are kept; those of before are removed.
    private let recorder: CapsuleRecorder?
    private let total = Counter(
        "latchkey_capsules_total", "Capsules of failed sign-ins.",
        by: [
            LabelValues(
                "outcome", CapsuleRecorder.Outcome.allCases.map(\.rawValue),
                "`stored`; `dropped` if there were too many failures at once; `failed` if the database refused it")
        ],
        startsAtZero: true)

    package init(_ settings: CapsuleSettings, in context: FeatureContext) {
        self.settings = settings
        store = context.store
        guard settings.count > 0 else {
            recorder = nil
            return
        }
        recorder = CapsuleRecorder(
            version: LatchkeyVersion.text, maximumPerMinute: settings.maximumPerMinute, clock: context.clock
        ) { [total] outcome in
            total.add(at: CapsuleRecorder.Outcome.allCases.firstIndex(of: outcome) ?? 0)
        } add: { [store] capsule async throws(StorageError) in
            try await store.addCapsule(capsule)
        }
    }

    package static var commands: [any ParsableCommand.Type] { [CapsuleCommand.self, ReplayCommand.self] }

    package static func metrics(of feature: CapsulesFeature?) -> [any Metric] { feature.map { [$0.total] } ?? [] }

    package var failureObserver: FailureObserver? {
        guard let recorder else { return nil }
        return { await recorder.keep($0, $1, $2) }
    }

    /// The capsule of a failure; nil if there is none (any more).
    ///
    /// An app may send a correlation id again. So the capsule must be of the same time, and name the same provider and
    /// check, and of several it is the first.
    package func explanation(
        of failure: SignInReport, at time: Timestamp
    ) async throws(StorageError) -> FailureExplanation? {
        guard let correlationID = failure.correlationID else { return nil }
        let stored = try await store.capsules(of: correlationID.text, limit: Self.examinedCapsules)
        let times = time.advanced(bySeconds: -1)...time.advanced(bySeconds: 1)
        for capsule in stored.reversed() where times.contains(capsule.time) {
            guard let json = try? JSONValue(parsing: Array(capsule.json.utf8)),
                let content = json.object,
                content["request"]?.object?["provider"]?.string == failure.provider,
                content["failure"]?.object?["check"]?.string == failure.check?.rawValue
            else { continue }
            return (json: json, lines: CapsuleReport(of: content, at: capsule.time).lines)
        }
        return nil
    }

    package func purge(at now: Timestamp, limit: Int) async throws(StorageError) -> Int {
        try await store.purgeCapsules(
            from: now.advanced(bySeconds: -settings.retention.components.seconds), keeping: settings.count,
            limit: limit)
    }

    /// Waits until the capsules of all failures so far are stored, or could not be.
    package func shutdown() async { await recorder?.settle() }
}

/// `capsules`: how many capsules of failed sign-ins are kept, and how long.
public struct CapsuleSettings: FeatureSettings, Hashable {
    /// The most that are kept; 0 makes none.
    public var count = 1000
    /// How long one is kept.
    public var retention = Duration.seconds(7 * 86_400)
    /// The most that one instance makes in a minute.
    public var maximumPerMinute = 30

    /// The defaults.
    public init() {}

    /// The keys.
    public static let settings = [
        Setting(
            "capsules.count", .integer(0...100_000), \CapsuleSettings.count,
            "The most capsules of failed sign-ins that are kept; 0 makes none."),
        Setting(
            "capsules.retention", .duration(60...31_536_000), \.retention,
            "How long the capsule of a failed sign-in is kept."),
        Setting(
            "capsules.per_minute", .integer(1...1_000_000), \.maximumPerMinute,
            "The most capsules that one instance makes in a minute."),
    ]
}

/// The stored capsule of a failed sign-in: what was requested, received and checked, without secrets and personal data.
package struct CapsuleRecord: Sendable, Hashable {
    /// The correlation id of the sign-in. Several failures may have the same.
    package let correlationID: String
    package let time: Timestamp
    /// What failed, and where. Capsules with the same cause displace one another first.
    package let cause: String
    /// One JSON object.
    package let json: String
}

extension CapsuleRecord {
    fileprivate init(_ row: borrowing CachedStatement) throws {
        self.init(
            correlationID: try row.text(0), time: row.time(1), cause: try row.text(2), json: try row.text(3))
    }
}

extension SQLStore {
    package func addCapsule(_ capsule: CapsuleRecord) async throws(StorageError) {
        try await writes.submit { db in
            try db.perform(
                "INSERT INTO capsules (correlation_id, time, cause, content) VALUES (?, ?, ?, ?)",
                capsule.correlationID, capsule.time, capsule.cause, capsule.json)
        }
    }

    /// The latest capsules, newest first, at most `limit`.
    /// - Parameter correlationID: Only those of this sign-in; nil for all.
    package func capsules(of correlationID: String?, limit: Int) async throws(StorageError) -> [CapsuleRecord] {
        try await reads.submit { db in
            let (all, last) = (
                "SELECT correlation_id, time, cause, content FROM capsules", "ORDER BY serial DESC LIMIT ?"
            )
            guard let correlationID else { return try db.all("\(all) \(last)", Int64(limit), read: CapsuleRecord.init) }
            return try db.all(
                "\(all) WHERE correlation_id = ? \(last)", correlationID, Int64(limit), read: CapsuleRecord.init)
        }
    }

    /// Removes at most `limit` capsules that are from before a moment, or are too many for `count` to be left. Returns
    /// their number.
    ///
    /// Of too many, the oldest of the causes with the most go first: each cause keeps its newest, and as many as the
    /// others. So a flood with one cause leaves those with others.
    package func purgeCapsules(
        from before: Timestamp, keeping count: Int, limit: Int
    ) async throws(StorageError) -> Int {
        try await writes.submit { db in
            // The place of a capsule is its number among the capsules of its cause, the newest first.
            try db.run(
                """
                DELETE FROM capsules WHERE serial IN (SELECT serial FROM \
                (SELECT serial, time, row_number() OVER (ORDER BY place, serial DESC) AS rank FROM \
                (SELECT serial, time, row_number() OVER (PARTITION BY cause ORDER BY serial DESC) AS place \
                FROM capsules) AS placed) AS ranked WHERE rank > ? OR time < ? ORDER BY serial LIMIT ?)
                """, Int64(count), before, Int64(limit))
        }
    }
}
