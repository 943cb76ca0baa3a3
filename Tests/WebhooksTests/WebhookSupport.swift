import Foundation
import Primitives
import Storage
import StorageModel
import Synchronization
import TestSupport
import Testing

@testable import PostgreSQL
@testable import Webhooks

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

/// A receiver that a test programs: it keeps each event that it was sent, with its decision.
final class Receiver: Sendable {
    struct Sent: Sendable, Hashable {
        let id: String
        let user: String
        let serial: Int64
        let isTaken: Bool
    }

    typealias Decision = @Sendable (_ id: String, _ user: String, _ count: Int) -> OutboundResponse?

    private let decide: Mutex<Decision>
    private let all = Mutex<[Sent]>([])
    private let requestsNow = Mutex<[OutboundRequest]>([])

    /// - Parameter decide: The response to an event of a user, by how many requests were before; nil for none.
    init(_ decide: @escaping Decision = { _, _, _ in OutboundResponse(status: 204) }) { self.decide = Mutex(decide) }

    func answer(_ decide: @escaping Decision) { self.decide.withLock { $0 = decide } }

    func answer(_ status: Int) { answer { _, _, _ in OutboundResponse(status: status) } }

    var sent: [Sent] { all.withLock { $0 } }
    var requests: [OutboundRequest] { requestsNow.withLock { $0 } }
    /// The serials that were taken, each once, in the order of their first time.
    var taken: [Int64] { Self.once(sent.filter(\.isTaken).map(\.serial)) }

    func taken(of user: String) -> [Int64] { Self.once(sent.filter { $0.isTaken && $0.user == user }.map(\.serial)) }

    private static func once(_ serials: [Int64]) -> [Int64] {
        var seen: Set<Int64> = []
        return serials.filter { seen.insert($0).inserted }
    }

    func send(_ request: OutboundRequest) throws(OutboundError) -> OutboundResponse {
        let id = request.headers.first { $0.name == "webhook-id" }?.value ?? ""
        let data = (try? JSONValue(parsing: request.body))?.object?["data"]?.object
        let user = data?["user_id"]?.string ?? ""
        let count = requestsNow.withLock { requests in
            requests.append(request)
            return requests.count - 1
        }
        let response = decide.withLock { $0(id, user, count) }
        let isTaken = response.map { (200..<300).contains($0.status) } ?? false
        all.withLock {
            $0.append(Sent(id: id, user: user, serial: WebhookEvent.serial(ofID: id) ?? 0, isTaken: isTaken))
        }
        guard let response else {
            throw OutboundError(.timedOut, mayHaveBeenSent: true, host: "receiver", reason: "no response")
        }
        return response
    }
}

/// A database with users, and workers that deliver its events.
struct WebhookBench: Sendable {
    static func endpoint(_ name: String) throws -> WebhookEndpoint {
        WebhookEndpoint(
            name: name, url: try #require(EndpointURL("https://\(name).example/hooks", policy: .httpsOnly)),
            types: Set(WebhookType.allCases), secrets: [Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")])
    }

    let open: @Sendable () throws -> SQLStore
    let store: SQLStore
    let clock = ManualClock()
    let log = CapturedLog()
    private let holding: any Sendable

    init(_ engine: Engine) throws {
        (open, holding) = try engine.make()
        store = try open()
    }

    /// Users with public ids `user-1`, `user-2`, …
    func addUsers(_ count: Int) async throws -> [UserID] {
        let now = clock.now
        return try await store.writes.submit { db in
            try (1...count).map { number in
                try UsersTable.insert(
                    Identity(issuer: "https://issuer.example", subject: "subject-\(number)"),
                    publicID: "user-\(number)", profile: Profile(), asserted: Profile(), VerifiedFlags(), claims: nil,
                    at: now, in: db
                ).id
            }
        }
    }

    func record(
        _ kind: String = "user.edited", of user: UserID,
        _ details: @escaping (inout JSONObjectWriter) -> Void = { _ in }
    ) async throws {
        try await store.addAuditEvent(
            AuditEvent(
                at: clock.now, AuditEvent.Kind(kind), user: user, by: .user, requestID: "request-1",
                details: AuditDetails(details)))
    }

    /// A worker whose pauses are short, so that its times are those of the clock.
    func worker(
        _ receiver: Receiver, on store: SQLStore? = nil, of endpoint: String = "crm",
        retention: Duration = .seconds(365 * 86_400), change: (inout WebhookWorker.Environment) -> Void = { _ in }
    ) throws -> WebhookWorker {
        var environment = WebhookWorker.Environment(
            store: store ?? self.store, clock: clock.wallClock, logger: log.logger
        ) { request throws(OutboundError) in try receiver.send(request) }
        environment.pause = { _ in try? await Task.sleep(for: .milliseconds(2)) }
        change(&environment)
        return WebhookWorker(try Self.endpoint(endpoint), retention: retention, in: environment)
    }

    /// Runs `body` while a worker delivers.
    func delivering(_ worker: WebhookWorker, _ body: () async throws -> Void) async throws {
        let running = Task { await worker.run() }
        let result: Result<Void, any Error>
        do {
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        running.cancel()
        await running.value
        try result.get()
    }

    func claim(
        _ name: String = "crm", for holder: String, at time: Timestamp? = nil
    ) async throws -> WebhookClaim? {
        try await store.claimWebhook(
            name, salt: "salt", beginning: clock.now, for: holder, at: time ?? clock.now, seconds: 30)
    }

    /// Has the endpoint known, so that events from now on are delivered.
    func begin(_ name: String = "crm") async throws {
        #expect(try await claim(name, for: "test") != nil)
        try await store.releaseWebhook(name, of: "test")
    }

    /// Whether all of it is stored: the cursor is at the end of the log, and nobody waits.
    func isDone(_ name: String = "crm") async throws -> Bool {
        let last = try await store.auditHorizon().serial
        guard try await store.webhook(name)?.cursor == last else { return false }
        return try await store.webhookBacklog(name).isEmpty
    }

    /// Refuses to store how far endpoints are, as a full disk does.
    func refuseProgress(_ engine: Engine) async throws {
        let event = "BEFORE UPDATE ON webhook_endpoints"
        try await store.writes.submit { db in
            switch engine {
            case .sqlite:
                try db.perform(SQL("CREATE TRIGGER refuse \(event) BEGIN SELECT RAISE(ABORT, 'full'); END"))
            case .postgres:
                try db.perform(
                    """
                    CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                    $$BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END$$
                    """)
                try db.perform(SQL("CREATE TRIGGER refuse \(event) EXECUTE FUNCTION refuse()"))
            }
        }
    }

    func takeProgress(_ engine: Engine) async throws {
        try await store.writes.submit { db in
            try db.perform(
                SQL("DROP TRIGGER refuse" + (engine == .postgres ? " ON webhook_endpoints" : "")))
        }
    }
}
