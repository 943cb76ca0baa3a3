import Dispatch
import Primitives
import Storage
import Synchronization
import TestSupport

@testable import PostgreSQL

/// Runs concurrent calls in every order of their statements, on a PostgreSQL server.
///
/// Each call has a store of its own, as in another process. Its statements wait for their turns, and one call at a time
/// goes on to its next statement, until it waits for a lock of another one. The search is depth first: each run repeats
/// the choices of the one before, but for the last one that had another option.
final class Interleaving: Sendable {
    struct Failure: Error, CustomStringConvertible { let description: String }

    /// Calls that are made once, at the same time.
    struct Round: Sendable {
        let calls: [@Sendable (SQLStore) async throws -> Void]
        /// What the calls have broken; nil if nothing.
        let fault: @Sendable (SQLStore) async throws -> String?
    }

    /// Text to replace in statements, such as a lock, and what is sent in its place.
    typealias Mutation = (text: String, replacement: String)

    private struct Choice {
        var option: Int
        let count: Int
    }

    /// Where the statements of one store wait.
    private final class Turnstile: Sendable {
        enum Phase { case open, running, waiting, ended }

        let phase = Mutex(Phase.open)
        private let turn = DispatchSemaphore(value: 0)
        private let changed: DispatchSemaphore

        init(_ changed: DispatchSemaphore) { self.changed = changed }

        var current: Phase { phase.withLock { $0 } }

        func set(_ new: Phase) {
            phase.withLock { $0 = new }
            changed.signal()
        }

        /// Blocks the statement until its turn. Where a transaction begins makes no difference.
        func pass(_ sql: String) {
            let stops = phase.withLock { phase in
                guard phase == .running, !sql.hasPrefix("BEGIN"), !sql.hasPrefix("SET LOCAL") else { return false }
                phase = .waiting
                return true
            }
            guard stops else { return }
            changed.signal()
            turn.wait()
        }

        func admit() {
            phase.withLock { $0 = .running }
            turn.signal()
        }
    }

    private let stores: [SQLStore]
    private let turnstiles: [Turnstile]
    private let observer: SQLStore
    /// Tells which calls wait for locks.
    private let control: PostgresConnection
    private let name: String
    private let changed = DispatchSemaphore(value: 0)
    private let queue = DispatchQueue(label: "latchkey.interleaving")

    init(_ count: Int, mutating mutation: Mutation? = nil) throws {
        let url = try PostgresCluster.shared().makeSchema()
        func configuration(_ name: String) -> PostgresConfiguration {
            PostgresConfiguration(
                url: Secret("\(url)&application_name=\(name)"), poolSize: 2, statementTimeout: .seconds(60),
                connectTimeout: .seconds(60), maximumWait: .seconds(60))
        }
        let name = RandomSource.system.token(bytes: 8)
        let turnstiles = (0..<count).map { [changed] _ in Turnstile(changed) }
        observer = try configuration("observer").open(observer: nil)
        stores = try turnstiles.enumerated().map { number, turnstile in
            var configuration = configuration("\(name).\(number)")
            configuration.interceptor = { sql in
                turnstile.pass(sql)
                return mutation.map { sql.replacing($0.text, with: $0.replacement) } ?? sql
            }
            return try configuration.open(observer: nil)
        }
        control = PostgresConnection(configuration("control"), gate: ReconnectGate())
        try control.connect()
        self.name = name
        self.turnstiles = turnstiles
    }

    /// Makes the calls in all orders, until they break something.
    /// - Parameter prepare: Stores what the calls of one run need.
    /// - Returns: How many orders there were, and what was broken.
    func run(_ prepare: (SQLStore) async throws -> Round) async throws -> (orders: Int, fault: String?) {
        var path: [Choice] = []
        var orders = 0
        while true {
            let round = try await prepare(observer)
            orders += 1
            guard orders <= 5_000 else { throw Failure(description: "there are too many orders") }
            if let fault = try await run(round, along: &path) { return (orders, "\(path.map(\.option)): \(fault)") }
            while let last = path.last, last.option + 1 >= last.count { path.removeLast() }
            guard !path.isEmpty else { return (orders, nil) }
            path[path.count - 1].option += 1
        }
    }

    func close() async throws {
        for store in stores + [observer] { try await store.close() }
        control.close()
    }

    private func run(_ round: Round, along path: inout [Choice]) async throws -> String? {
        precondition(round.calls.count == stores.count)
        for turnstile in turnstiles { turnstile.set(.running) }
        let calls = round.calls.enumerated().map { number, call in
            let (store, turnstile) = (stores[number], turnstiles[number])
            return Task { () -> (any Error)? in
                defer { turnstile.set(.ended) }
                do { try await call(store) } catch { return error }
                return nil
            }
        }
        let taken = path
        let isDeadlock: Bool
        (path, isDeadlock) = try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try self.step(along: taken) }) }
        }
        // The server undoes one of them.
        if isDeadlock { for turnstile in turnstiles { turnstile.set(.open) } }
        var error: (any Error)?
        for call in calls { error = await call.value ?? error }
        for turnstile in turnstiles { turnstile.set(.open) }
        if isDeadlock { return "the calls wait for each other's locks" }
        if let error { return "a call failed: \(error)" }
        return try await round.fault(observer)
    }

    /// Takes the choices of a path, and then the first option each time; returns what was taken, and whether the calls
    /// wait for each other.
    private func step(along path: [Choice]) throws -> ([Choice], isDeadlock: Bool) {
        var taken: [Choice] = []
        while true {
            let options = try settle()
            guard !options.isEmpty else { return (taken, turnstiles.contains { $0.current == .running }) }
            let option = taken.count < path.count ? min(path[taken.count].option, options.count - 1) : 0
            taken.append(Choice(option: option, count: options.count))
            turnstiles[options[option]].admit()
        }
    }

    /// Waits until each call has ended, waits for its turn, or waits for a lock; those that wait for their turns.
    private func settle() throws -> [Int] {
        let end = ContinuousClock.now + .seconds(60 * Patience.factor)
        while ContinuousClock.now < end {
            let phases = turnstiles.map(\.current)
            let running = phases.indices.filter { phases[$0] == .running }
            let waiting = phases.indices.filter { phases[$0] == .waiting }
            if running.isEmpty { return waiting }
            // A bounded poll, because no event says that a statement waits for a lock.
            guard changed.wait(timeout: .now() + .milliseconds(1)) == .timedOut else { continue }
            let blocked = try blockedCalls()
            // One that nobody else of them holds up will go on.
            guard !waiting.isEmpty || running.count > 1 else { continue }
            if running.allSatisfy({ blocked.contains("\(name).\($0)") }) { return waiting }
        }
        throw Failure(description: "a call neither ends nor waits")
    }

    /// Those that wait for a lock of another call.
    private func blockedCalls() throws -> Set<String> {
        let result = try control.run(
            """
            SELECT application_name FROM pg_stat_activity AS blocked \
            WHERE application_name LIKE '\(name)%' AND EXISTS (SELECT 1 FROM pg_stat_activity AS blocking \
            WHERE application_name LIKE '\(name)%' AND blocking.pid = ANY (pg_blocking_pids(blocked.pid)))
            """)
        return Set((0..<result.rowCount).map { String(decoding: result.bytes($0, 0), as: UTF8.self) })
    }
}
