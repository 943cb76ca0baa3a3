import LatchkeyService
import Primitives
import Storage
import StorageModel
import Synchronization
import TestSupport
import Testing

/// The audit events of the server itself.
@Suite struct ServerEventsTests {
    @Test("They are stored in order, those during a failure of the store after it, each once")
    func noted() async throws {
        let (directory, clock, log) = (try TemporaryDirectory(), ManualClock(), CapturedLog())
        let failure = Failure()
        let store = try SQLStore(
            configuration: SQLiteConfiguration(path: directory.file("store.db"), synchronous: .normal), isShared: false
        ) { _, _, _ async throws(StorageError) in try failure.failIfSet() }
        let events = ServerEvents(store: store, clock: clock.wallClock, logger: log.logger)
        func kinds() async throws -> [String] {
            try await store.auditEvents(AuditQuery()).reversed().map(\.event.kind.name)
        }
        events.note(AuditEvent.Kind("test.one"))
        #expect(try await kinds().isEmpty)
        failure.set(StorageError(.unavailable, reason: ""))
        await events.storeNoted()
        clock.advance(bySeconds: 5)
        events.note(AuditEvent.Kind("test.two"), details: AuditDetails { $0.add("number", 2) })
        await events.storeNoted()
        let warnings = log.lines.filter { $0.message == "could not store the server's audit events" }
        #expect(warnings.map(\.metadata) == [["error": "unavailable"], ["error": "unavailable"]])
        failure.set(nil)
        await events.storeNoted()
        await events.storeNoted()
        #expect(try await kinds() == ["test.one", "test.two"])
        let last = try #require(try await store.auditEvents(AuditQuery(limit: 1)).first?.event)
        #expect(last.time == clock.now && last.actor == .latchkey && last.user == nil)
        #expect(last.details.json == #"{"number":2}"#)
        try await store.close()
    }
}

/// What each call of a store fails with.
private final class Failure: Sendable {
    private let error = Mutex<StorageError?>(nil)

    func set(_ error: StorageError?) { self.error.withLock { $0 = error } }

    func failIfSet() throws(StorageError) {
        if let error = error.withLock({ $0 }) { throw error }
    }
}
