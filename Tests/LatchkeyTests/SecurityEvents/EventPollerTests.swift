import CarrierSimulator
import HTTPServer
import HTTPTypes
import LatchkeyConfiguration
import LatchkeyService
import Logging
import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel
import Synchronization
import TestSupport
import Testing

@testable import SecurityEvents

/// Polls for security events (RFC 8936), with the store.
@Suite(.serialized) struct EventPollerTests {
    private static let endpoint = EndpointURL("http://127.0.0.1:1/poll", policy: .allowLoopbackHTTP)
    private static let interval = Duration.seconds(60)

    /// Runs `body` with a poller of acme over a scripted transmitter. The service itself does not poll.
    private func with(
        interval: Duration = interval, _ body: (EventWalk, EventPoller, ScriptedHTTPClient) async throws -> Void
    ) async throws {
        try await with(interval: interval, clock: ManualClock()) { events, pollers, _, http in
            try await body(events, pollers[0], http)
        }
    }

    /// As above, with the pollers of two instances, and their store.
    private func with(
        interval: Duration = interval, clock: ManualClock,
        _ body: (EventWalk, [EventPoller], SQLStore, ScriptedHTTPClient) async throws -> Void
    ) async throws {
        try await EventWalk.with(clock: clock.wallClock) { events in
            try await events.withStore { store in
                var providers = events.harness.configuration.providers
                for index in providers.indices where providers[index].id == "acme" {
                    providers[index].events.pollEndpoint = Self.endpoint
                    providers[index].events.pollAuthorization = Secret("Bearer p0ll")
                    providers[index].events.pollInterval = interval
                }
                let receiver = EventReceiver(
                    providers, with: events.harness.service.useCases, store: store, counts: EventCounts())
                let http = ScriptedHTTPClient { _ in .json(#"{"sets": {}}"#) }
                let source = try #require(receiver.sources["acme"])
                let pollers = try (0..<2).map { _ in try #require(EventPoller(source, through: http, receiver)) }
                try await body(events, pollers, store, http)
            }
        }
    }

    private func answer(_ sets: [(String, String)], more: Bool = false) -> OutboundResponse {
        let text = JSONObjectWriter.text { json in
            json.add("sets") { json in for (id, token) in sets { json.add(named: id, token) } }
            json.add("moreAvailable", more)
        }
        return .json(text)
    }

    private func body(_ request: OutboundRequest?) -> App.Members { App.Members(of: request?.body ?? []) }

    @Test("Events are acknowledged when they are committed, refused ones are reported, and then there is a pause")
    func acknowledged() async throws {
        try await with { events, poller, http in
            let session = try await events.session()
            let (good, unknown) = (try await events.token(), try await events.token(of: "nobody"))
            let bad = try await events.token { $0.claims["aud"] = "another" }
            let sets = answer([("a", good), ("b", bad), ("c", unknown), ("d", "no token")])
            http.answer { _ in sets }
            #expect(await poller.poll() == .zero)
            let first = try #require(http.requests.first)
            #expect(first.url == Self.endpoint && first.method == .post)
            #expect(first.headers.contains { $0 == ("Authorization", "Bearer p0ll") })
            #expect(body(first)["maxEvents"]?.integer == 50 && body(first)["returnImmediately"]?.bool == true)
            #expect(body(first)["ack"]?.array == [])
            #expect(try await !events.isLive(session))
            http.answer { _ in .json(#"{"sets": {}, "moreAvailable": false}"#) }
            #expect(await poller.poll() == Self.interval)
            let second = body(http.requests.last)
            #expect(second["ack"]?.array == ["a", "c"])
            let errors = second["setErrs"]?.object
            #expect(errors?.members.map(\.name) == ["b", "d"])
            #expect(errors?["b"]?.object?["err"]?.string == "invalid_audience")
            #expect(errors?["d"]?.object?["err"]?.string == "invalid_request")
            #expect(await poller.poll() == Self.interval)
            #expect(body(http.requests.last)["ack"]?.array == [])
            #expect(body(http.requests.last)["setErrs"]?.object?.members.isEmpty == true)
        }
    }

    @Test("What a failed poll did not bring to the provider is acknowledged by the next one")
    func kept() async throws {
        try await with { events, poller, http in
            let sets = answer([("a", try await events.token())])
            http.answer { _ in sets }
            #expect(await poller.poll() == .zero)
            http.answer { _ in .json("{}", status: 503) }
            #expect(await poller.poll() == Self.interval)
            http.answer { _ in .json(#"{"sets": {}}"#) }
            #expect(await poller.poll() == Self.interval)
            #expect(http.requests.suffix(2).allSatisfy { body($0)["ack"]?.array == ["a"] })
        }
    }

    @Test("An event that cannot be verified now is not acknowledged, and those after it wait")
    func unverifiable() async throws {
        try await with { events, poller, http in
            let (first, second) = (try await events.token(), try await events.token())
            // No sign-in has had the keys fetched.
            events.harness.simulator.setFaults([.discovery500], for: "acme")
            let sets = answer([("a", first), ("b", second)])
            http.answer { _ in sets }
            #expect(await poller.poll() == Self.interval)
            http.answer { _ in .json(#"{"sets": {}}"#) }
            _ = await poller.poll()
            #expect(body(http.requests.last)["ack"]?.array == [])
            #expect(body(http.requests.last)["setErrs"]?.object?.members.isEmpty == true)
        }
    }

    @Test("After a failure the pause doubles, up to a quarter of an hour")
    func backOff() async throws {
        let failures: [OutboundResponse?] = [
            nil, .json("{}", status: 500), .json("[]"), .json("{}"), .json(#"{"sets": []}"#), .json("no JSON"),
            .json("{}", status: 401),
        ]
        try await with { _, poller, http in
            var pauses: [Duration] = []
            for failure in failures {
                http.answer { _ throws(OutboundError) in
                    guard let failure else {
                        throw OutboundError(.unreachable, mayHaveBeenSent: false, reason: "No answer.")
                    }
                    return failure
                }
                pauses.append(await poller.poll())
            }
            #expect(pauses == [60, 120, 240, 480, 900, 900, 900].map { .seconds($0) })
            http.answer { _ in .json(#"{"sets": {}}"#) }
            #expect(await poller.poll() == Self.interval)
            http.answer { _ in .json("{}", status: 500) }
            #expect(await poller.poll() == Self.interval)
        }
    }

    @Test("A provider that has always more is polled 20 times, and then after the pause; a poll takes 50 events")
    func bounded() async throws {
        try await with { _, poller, http in
            let sets = answer((0..<60).map { ("id-\($0)", "no token") }, more: true)
            http.answer { _ in sets }
            for round in 1...40 {
                #expect(await poller.poll() == (round.isMultiple(of: 20) ? Self.interval : .zero), "\(round)")
            }
            #expect(body(http.requests.last)["setErrs"]?.object?.members.count == 50)
        }
    }

    @Test("After a failure 20 polls may follow each other again; a long interval is the pause after failures, too")
    func afterFailure() async throws {
        try await with { _, poller, http in
            let sets = answer([("a", "no token")], more: true)
            for rounds in [19, 20] {
                http.answer { _ in sets }
                for round in 1...rounds {
                    #expect(await poller.poll() == (round == 20 ? Self.interval : .zero), "\(round) of \(rounds)")
                }
                http.answer { _ in .json("{}", status: 503) }
                #expect(await poller.poll() == Self.interval)
            }
        }
        try await with(interval: .seconds(3600)) { _, poller, http in
            http.answer { _ in .json("{}", status: 503) }
            for _ in 0..<3 { #expect(await poller.poll() == .seconds(3600)) }
        }
    }

    @Test("Of two instances one polls; the other goes on when the lease is over, or is released")
    func lease() async throws {
        let clock = ManualClock()
        try await with(clock: clock) { _, pollers, store, http in
            let (first, second) = (pollers[0], pollers[1])
            #expect(await first.turn() == Self.interval)
            #expect(await second.turn() == EventPoller.look)
            #expect(http.requests.count == 1)
            // The next poll of the first is due a minute later, and may take another one.
            clock.advance(bySeconds: 60)
            #expect(await second.turn() == EventPoller.look)
            #expect(await first.turn() == Self.interval)
            #expect(http.requests.count == 2)
            // It dies.
            clock.advance(bySeconds: 119)
            #expect(await second.turn() == EventPoller.look)
            clock.advance(bySeconds: 1)
            #expect(await second.turn() == Self.interval)
            #expect(await first.turn() == EventPoller.look)
            #expect(http.requests.count == 3)
            // It ends.
            let ended = Task { await second.run() }
            ended.cancel()
            await ended.value
            #expect(await first.turn() == Self.interval)
            let leases = try await store.countEventPollLeases()
            #expect(leases == 1)
        }
    }

    @Test("The lease lasts through the pauses after failures")
    func leaseOfFailures() async throws {
        let clock = ManualClock()
        try await with(clock: clock) { _, pollers, _, http in
            http.answer { _ in .json("{}", status: 500) }
            for pause in [60, 120, 240, 480, 900, 900] as [Int64] {
                #expect(await pollers[0].turn() == .seconds(pause))
                clock.advance(bySeconds: pause)
                #expect(await pollers[1].turn() == EventPoller.look, "after \(pause)")
            }
        }
    }

    /// Refuses what a full disk refuses.
    private func refuse(_ change: String, in store: SQLStore) async throws {
        try await store.writes.submit { db in
            try db.perform(SQL("CREATE TRIGGER refuse BEFORE \(change) BEGIN SELECT RAISE(ABORT, 'full'); END"))
        }
    }

    @Test("While the lease cannot be stored nothing is polled")
    func leaseRefused() async throws {
        try await with(clock: ManualClock()) { _, pollers, store, http in
            try await refuse("INSERT ON sealed_notes", in: store)
            #expect(await pollers[0].turn() == Self.interval)
            #expect(await pollers[0].turn() == .seconds(120))
            #expect(http.requests.isEmpty)
            try await store.writes.submit { db in try db.perform("DROP TRIGGER refuse") }
            #expect(await pollers[0].turn() == Self.interval)
            #expect(http.requests.count == 1)
        }
    }

    @Test("An event that cannot be stored is not acknowledged, and has its effect when it comes again")
    func effectRefused() async throws {
        try await with(clock: ManualClock()) { events, pollers, store, http in
            let session = try await events.session()
            let sets = answer([("a", try await events.token())])
            http.answer { _ in sets }
            try await refuse("INSERT ON audit_events", in: store)
            #expect(await pollers[0].turn() == Self.interval)
            #expect(try await events.isLive(session))
            try await store.writes.submit { db in try db.perform("DROP TRIGGER refuse") }
            #expect(await pollers[0].turn() == .zero)
            #expect(body(http.requests.last)["ack"]?.array == [])
            #expect(try await events.audited().count == 1)
            http.answer { _ in .json(#"{"sets": {}}"#) }
            #expect(await pollers[0].turn() == Self.interval)
            #expect(body(http.requests.last)["ack"]?.array == ["a"])
        }
    }

    /// A transmitter on a socket of its own.
    private final class Transmitter: Sendable {
        private let waiting: Mutex<[(String, String)]>
        private let received = Mutex<[JSONObject]>([])

        init(_ sets: [(String, String)]) { waiting = Mutex(sets) }

        var requests: [JSONObject] { received.withLock { $0 } }

        func respond(_ request: Request) -> Response {
            let asked = (try? JSONValue(parsing: request.body))?.object
            if let asked { received.withLock { $0.append(asked) } }
            let done = Set((asked?["ack"]?.array ?? []).compactMap(\.string))
            let sets = waiting.withLock { waiting in
                waiting.removeAll { done.contains($0.0) }
                return waiting
            }
            var response = Response(
                status: .ok,
                body: Array(
                    JSONObjectWriter.text { json in
                        json.add("sets") { json in for (id, token) in sets { json.add(named: id, token) } }
                    }.utf8))
            response.headers[.contentType] = "application/json"
            return response
        }
    }

    @Test("A service polls over the network, and what it got has its effect")
    func overNetwork() async throws {
        let clock = ManualClock()
        try await EventWalk.with(clock: clock.wallClock) { events in
            let session = try await events.session()
            let transmitter = Transmitter([("a", try await events.token())])
            let server = Server(
                configuration: ServerConfiguration(hosts: ["127.0.0.1"], port: 0, loops: 1),
                logger: Logger(label: "transmitter", factory: { _ in SwiftLogNoOpLogHandler() }),
                handler: { request in .value(transmitter.respond(request)) })
            let address = try #require(try server.start().first)
            var configuration = events.harness.configuration
            for index in configuration.providers.indices where configuration.providers[index].id == "acme" {
                configuration.providers[index].events.pollEndpoint = EndpointURL(
                    "http://\(address)/poll", policy: .allowLoopbackHTTP)
            }
            try await SignInHarness.withServer(configuration, clock: clock.wallClock) { _ in
                try await until { transmitter.requests.contains { $0["ack"]?.array == ["a"] } }
            }
            await server.shutdown(within: .seconds(5))
            // The other instance of the database has it from there.
            try await events.harness.withInstance(clock: clock.wallClock) { app, _ in
                let status = try await app.me(session).status
                #expect(status == 401)
            }
        }
    }
}

extension SQLStore {
    fileprivate func countEventPollLeases() async throws -> Int64 {
        try await reads.submit { db in
            try db.number("SELECT count(*) FROM sealed_notes WHERE purpose = 'event-poll'")
        }
    }
}
