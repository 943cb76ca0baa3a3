import Primitives
import Storage
import StorageModel
import Synchronization
import TestSupport
import Testing

@testable import Webhooks

/// Two instances that share several endpoints while users change.
@Suite struct WebhookSharingTests {
    private static let names = ["a", "b", "c", "d"]

    /// Which instances sent an event to an endpoint, by the endpoint's URL and the event's id.
    private final class Senders: Sendable {
        private let found = Mutex<[String: Set<Int>]>([:])

        func note(_ instance: Int, _ request: OutboundRequest) {
            let id = request.headers.first { $0.name == "webhook-id" }?.value ?? ""
            _ = found.withLock { $0["\(request.url.text) \(id)", default: []].insert(instance) }
        }

        var all: [String: Set<Int>] { found.withLock { $0 } }
    }

    /// The workers of an instance, of each of these endpoints.
    private final class Instance: Sendable {
        let workers: [WebhookWorker]
        private let isDead = SharedFlag()
        private let running = Mutex<[Task<Void, Never>]>([])

        init(
            _ number: Int, _ names: [String], of bench: WebhookBench, on store: SQLStore,
            _ receivers: [String: Receiver], _ senders: Senders
        ) throws {
            let isDead = isDead
            workers = try names.map { name in
                let receiver = try #require(receivers[name])
                return try bench.worker(receiver, on: store, of: name) { environment in
                    environment.send = { request throws(OutboundError) in
                        senders.note(number, request)
                        return try receiver.send(request)
                    }
                    environment.cut = { _ throws in if isDead.isSet { throw CancellationError() } }
                }
            }
        }

        func start() { running.withLock { $0 = workers.map { worker in Task { await worker.run() } } } }

        /// Ends as at SIGTERM.
        func stop() async {
            let tasks = running.withLock { $0 }
            for task in tasks { task.cancel() }
            for task in tasks { await task.value }
        }

        /// Ends as by a kill: nothing is stored or sent any more.
        func kill() { isDead.set() }

        var held: Int { workers.count { $0.figures.isHeld } }
    }

    @Test(
        "Two instances share endpoints under load: each event is sent, in the order of its user, also when one ends",
        arguments: Engine.allCases)
    func shared(engine: Engine) async throws {
        let bench = try WebhookBench(engine)
        let users = try await bench.addUsers(12)
        for name in Self.names { try await bench.begin(name) }
        let receivers = Dictionary(uniqueKeysWithValues: Self.names.map { ($0, Receiver()) })
        let senders = Senders()
        let (first, second) = (try bench.open(), try bench.open())
        func instance(_ number: Int, _ names: [String] = Self.names, on store: SQLStore) throws -> Instance {
            try Instance(number, names, of: bench, on: store, receivers, senders)
        }
        /// Four writers, with three users each.
        func load() async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for writer in 0..<4 {
                    group.addTask {
                        for round in 0..<30 { try await bench.record(of: users[3 * writer + round % 3]) }
                    }
                }
                try await group.waitForAll()
            }
        }
        func isDone() async throws -> Bool {
            for name in Self.names where try await !bench.isDone(name) { return false }
            return true
        }
        func check(events: Int) {
            for name in Self.names {
                #expect(receivers[name]?.taken.count == events, "\(name)")
                for user in 1...users.count {
                    let serials = receivers[name]?.taken(of: "user-\(user)") ?? []
                    #expect(serials.count == events / users.count && serials == serials.sorted(), "\(name), \(user)")
                }
            }
        }

        // Each instance has two endpoints, and then also those of the one that stops.
        let early = try instance(1, ["a", "b"], on: first)
        early.start()
        try await until { early.held == 2 }
        let other = try instance(2, on: second)
        other.start()
        try await until { other.held == 2 }
        async let loading: Void = load()
        try await until { Self.names.allSatisfy { !(receivers[$0]?.taken.isEmpty ?? true) } }
        await early.stop()
        try await until { other.held == 4 }
        try await loading
        try await until { try await isDone() }
        check(events: 120)
        // Those that were sent before an earlier one that waited are sent again after the handover.
        for name in ["c", "d"] { #expect(receivers[name]?.sent.count == 120, "no event was sent twice") }
        #expect(Set(senders.all.values.flatMap(\.self)) == [1, 2])

        // The one that has all is killed, and its lease ends.
        let late = try instance(3, on: first)
        late.start()
        async let loadingMore: Void = load()
        try await until { receivers["a"]?.taken.count ?? 0 > 120 }
        other.kill()
        try await loadingMore
        // Those that it would read next.
        for user in users { try await bench.record(of: user) }
        try await until { other.held == 0 }
        #expect(late.held == 0)
        bench.clock.advance(bySeconds: 31)
        try await until { late.held == 4 }
        try await until { try await isDone() }
        await late.stop()
        await other.stop()
        check(events: 252)
        for name in Self.names {
            let counts = Dictionary(grouping: receivers[name]?.sent ?? [], by: \.id)
            #expect(counts.count == 252, "duplicates have the same id")
            for (id, sent) in counts where sent.count > 1 {
                let instances = senders.all["https://\(name).example/hooks \(id)"] ?? []
                #expect(sent.count == instances.count, "no instance sent one twice")
                #expect(
                    instances == [2, 3] || instances == [1, 2] && ["a", "b"].contains(name),
                    "only what another instance had sent before the handover comes again")
            }
        }
    }
}
