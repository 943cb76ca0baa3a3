import CarrierSimulator
import HTTPServer
import LatchkeyConfiguration
import LatchkeyService
import Observability
import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel
import TestSupport
import Testing

@testable import SecurityEvents

/// A harness whose provider `acme` sends security events.
struct EventWalk: Sendable {
    static let risc = "https://schemas.openid.net/secevent/risc/event-type/"
    static let caep = "https://schemas.openid.net/secevent/caep/event-type/"
    static let oauth = "https://schemas.openid.net/secevent/oauth/event-type/"
    static let ssf = "https://schemas.openid.net/secevent/ssf/event-type/"

    let walk: ProviderWalk
    var harness: SignInHarness { walk.harness }
    var issuer: String { harness.simulator.issuer(of: "acme") ?? "" }

    /// - Parameter rules: Of acme.
    static func with(
        _ transmitter: EventTransmitter = .ssf, clock: WallClock = ManualClock().wallClock,
        rules: (inout EventRules) -> Void = { _ in }, configure: (inout Configuration) -> Void = { _ in },
        _ body: (EventWalk) async throws -> Void
    ) async throws {
        try await ProviderWalk.with(
            clock: clock,
            configure: { configuration in
                for index in configuration.providers.indices where configuration.providers[index].id == "acme" {
                    configuration.providers[index].events.transmitter = transmitter
                    rules(&configuration.providers[index].events)
                }
                configure(&configuration)
            }
        ) { try await body(EventWalk(walk: $0)) }
    }

    /// A session of a user whom acme has signed in.
    func session(of user: String = "jane") async throws -> String {
        try #require(try await walk.token(at: "acme", user: user))
    }

    func isLive(_ session: String) async throws -> Bool { try await harness.app.me(session).status == 200 }

    func subject(of user: String = "jane") -> String {
        harness.simulator.subject(of: user, at: "acme", clientID: SignInHarness.clientID)
    }

    /// The usual identifier of a user.
    func identifier(of user: String = "jane") -> JSONValue {
        ["format": "iss_sub", "iss": .string(issuer), "sub": .string(subject(of: user))]
    }

    /// A token with one event about a user, or about nobody.
    func token(
        _ event: String = caep + "session-revoked", of user: String? = "jane", with content: JSONValue = [:],
        isPublished: Bool = true, change: (inout TokenDraft) -> Void = { _ in }
    ) async throws -> String {
        let subject = user.map { identifier(of: $0) }
        return try await harness.simulator.eventToken(
            of: "acme", clientID: SignInHarness.clientID, events: .object(of: [(event, content)]),
            isPublished: isPublished
        ) { draft in
            draft.claims["sub_id"] = subject
            change(&draft)
        }
    }

    func push(
        _ token: String, to provider: String = "acme", as contentType: String = EventPush.contentType,
        headers: [String] = [], at app: App? = nil
    ) async throws -> App.Answer {
        var app = app ?? harness.app
        app.apiKey = nil
        return try await app.send(
            "POST", "/events/\(provider)", headers: ["Content-Type: \(contentType)"] + headers, body: token)
    }

    /// The store of the harness, which is closed after the body.
    func withStore<Result>(_ body: (SQLStore) async throws -> Result) async throws -> Result {
        let store = try SQLStore(
            configuration: SQLiteConfiguration(path: try #require(harness.configuration.database.url.path)))
        let result = try await body(store)
        try await store.close()
        return result
    }

    /// The details of the audit events of security events, oldest first.
    func audited() async throws -> [JSONObject] {
        try await withStore { store in
            try await store.auditEvents(AuditQuery(kind: AuditEvent.Kind("security_event.received"))).reversed()
                .compactMap { (try? JSONValue(parsing: Array($0.event.details.json.utf8)))?.object }
        }
    }

    /// How many events, or refusals, a metric of the server has counted with these values of its labels.
    func count(_ metric: String, _ labels: String...) async throws -> Int {
        let name = metric.isEmpty ? "latchkey_security_events_total" : "latchkey_security_event_\(metric)_total"
        var sum = 0
        for reading in await harness.service.metricReadings() where reading.description.name == name {
            for point in reading.points
            where labels.allSatisfy({ label in point.labels.contains { $0.value == label } }) {
                if case .count(let value) = point.value { sum += Int(value) }
            }
        }
        return sum
    }
}
