import HTTPServer
import HTTPTypes
import LatchkeyAPI
import LatchkeyConfiguration
import LatchkeyFeatures
import Logging
import Observability
import Primitives
import Storage
import StorageModel
import Synchronization
import TestSupport
import Testing

@testable import LatchkeyService

/// A feature of another package, in the list of those of this one (`Examples/Feature`).
@Suite struct ForeignFeatureTests {
    @Test("A feature of another package is asked for each member that every feature can have")
    func members() async throws {
        try await SignInHarness.with { harness in
            let list = FeatureList.none.adding(NotesFeature.self)
            #expect(list.tables == NotesFeature.tables)
            var configuration = harness.configuration
            configuration[NotesSettings.self].length = 7
            configuration.database.url = DatabaseURL(path: harness.directory.file("other.db"))
            let store = try list.openStore(configuration.database)
            let context = FeatureContext(
                configuration: configuration, store: store, metrics: MetricsRegistry(), clock: .system,
                uptime: .system, logger: Logger(label: "test"))

            let kind = try #require(list.features.first)
            #expect(kind.operations.map(\.id) == ["addNote"])
            #expect(kind.schemas.map(\.key) == ["Note"])
            let feature = try #require(try kind.make(in: context))
            #expect(context.metrics.descriptions.map(\.name) == ["notes_total"])
            var router = Router()
            feature.addRoutes(to: &router, of: harness.service.api)
            #expect(router.patterns == ["/notes"])
            feature.start()
            #expect(try await feature.purge(at: Timestamp(secondsSinceEpoch: 0), limit: 500) == 7)
            await feature.shutdown()
            #expect(NotesFeature.calls.withLock { $0 } == ["start", "purge", "shutdown"])
            try await store.close()

            configuration[NotesSettings.self].length = 0
            let off = FeatureContext(
                configuration: configuration, store: store, metrics: MetricsRegistry(), clock: .system,
                uptime: .system, logger: Logger(label: "test"))
            #expect(try kind.make(in: off) == nil)
            #expect(off.metrics.descriptions.map(\.name) == ["notes_total"])
        }
    }

    @Test("A failure of the store in a handler of a feature is 503")
    func storeFails() async throws {
        try await SignInHarness.with { harness in
            let error = harness.service.api.render(StorageError(.overloaded, reason: "busy"))
            #expect(error.status.code == 503)
            #expect(error.headers[.retryAfter] == "1")
        }
    }
}

private struct NotesSettings: FeatureSettings {
    var length = 1
}

private struct NotesFeature: BasicFeature {
    static let calls = Mutex<[String]>([])
    private let length: Int

    init?(_ settings: NotesSettings, in context: FeatureContext) {
        guard settings.length > 0 else { return nil }
        length = settings.length
    }

    static let operations = [
        APIOperation(.post, "/notes", "addNote", .account, .session, "Add a note", "One.", responses: [])
    ]
    static let schemas: KeyValuePairs<String, APISchema> = ["Note": .object("A note.")]
    static let tables = [FeatureTable("notes", "note TEXT")]
    static func metrics(of feature: Self?) -> [any Metric] { [Counter("notes_total", "Notes.")] }

    func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        router.post("/notes", api.signedIn { _, _, _ in Response(status: .noContent) })
    }

    func start() { Self.calls.withLock { $0.append("start") } }

    func purge(at now: Timestamp, limit: Int) async throws(StorageError) -> Int {
        Self.calls.withLock { $0.append("purge") }
        return length
    }

    func shutdown() async { Self.calls.withLock { $0.append("shutdown") } }
}
