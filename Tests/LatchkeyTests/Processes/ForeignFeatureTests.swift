import HTTPServer
import HTTPTypes
import LatchkeyAPI
import LatchkeyConfiguration
import LatchkeyFeatures
import Logging
import Observability
import Primitives
import SignIn
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
            let store = try list.openStore(configuration.database) { database throws(StorageError) in
                try database.open(observer: nil)
            }
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

    @Test("A feature that adds a route of the core keeps the service from its start")
    func replacesRoute() async throws {
        try await SignInHarness.with { harness in
            var configuration = harness.configuration
            configuration.database.url = DatabaseURL(path: harness.directory.file("other.db"))
            let error = #expect(throws: LatchkeyStartError.self) {
                try LatchkeyService(
                    configuration: configuration, features: FeatureList.standard.adding(ReplacingFeature.self))
            }
            #expect(error?.description.contains("GET /users/me,") == true)
        }
    }

    @Test("A feature that cannot remove its expired rows keeps no other from removing theirs")
    func purgeFails() async throws {
        try await SignInHarness.with { harness in
            let list = FeatureList.none.adding(FailingFeature.self, PurgedFeature.self)
            var configuration = harness.configuration
            configuration.database.url = DatabaseURL(path: harness.directory.file("other.db"))
            let store = try list.openStore(configuration.database) { database throws(StorageError) in
                try database.open(observer: nil)
            }
            let context = FeatureContext(
                configuration: configuration, store: store, metrics: MetricsRegistry(), clock: .system,
                uptime: .system, logger: Logger(label: "test"))
            let housekeeping = Housekeeping(
                store: store, auditRetention: configuration.auditRetention,
                signingKeys: harness.service.useCases.signingKeys, sessions: harness.service.useCases.sessions,
                features: try list.features.compactMap { try $0.make(in: context) }, clock: .system,
                logger: context.logger)
            try await housekeeping.purge()
            #expect(PurgedFeature.count.withLock { $0 } == 1)
            try await store.close()
        }
    }
}

/// Would open a route of the core to all.
private struct ReplacingFeature: BasicFeature {
    init?(_ settings: NoSettings, in context: FeatureContext) {}

    func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        router.get("/users/me") { _ in Response(status: .noContent) }
    }
}

private struct FailingFeature: BasicFeature {
    init?(_ settings: NoSettings, in context: FeatureContext) {}

    func purge(at now: Timestamp, limit: Int) async throws(StorageError) -> Int {
        throw StorageError(.corrupt, reason: "a note is cut")
    }
}

private struct PurgedFeature: BasicFeature {
    static let count = Mutex(0)

    init?(_ settings: NoSettings, in context: FeatureContext) {}

    func purge(at now: Timestamp, limit: Int) async throws(StorageError) -> Int {
        Self.count.withLock { $0 += 1 }
        return 0
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
