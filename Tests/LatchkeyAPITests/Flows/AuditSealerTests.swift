import Logging
import Primitives
import Storage
import StorageModel
import TestSupport
import Testing

@testable import SignIn

/// The events of the server itself, and seals that no server made.
@Suite struct AuditSealerTests {
    private let clock = ManualClock()
    private let testStore: TestStore
    private let log = CapturedLog()
    private let sealer: AuditSealer

    init() throws {
        testStore = try TestStore()
        let keys = UseCases(
            providers: Providers(), configuration: SignInConfiguration(), store: testStore.store,
            logger: log.logger, clock: clock.wallClock
        ).signingKeys
        sealer = AuditSealer(
            store: testStore.store, keys: keys, retention: .seconds(86_400), clock: clock.wallClock,
            logger: log.logger)
    }

    private func kinds() async throws -> [String] {
        try await testStore.store.auditEvents(AuditQuery()).reversed().map(\.event.kind.name)
            .filter { $0.hasPrefix("test.") }
    }

    @Test("Events of the server are stored in order, those during a failure of the store after it, each once")
    func noted() async throws {
        sealer.note(AuditEvent.Kind("test.one"))
        #expect(try await kinds().isEmpty)
        testStore.script.fail(with: StorageError(.unavailable, reason: ""))
        await #expect(throws: SignInError.self) { try await sealer.seal() }
        clock.advance(bySeconds: 5)
        sealer.note(AuditEvent.Kind("test.two"), details: AuditDetails { $0.add("number", 2) })
        await #expect(throws: SignInError.self) { try await sealer.seal() }
        testStore.script.fail(with: nil)
        try await sealer.seal()
        try await sealer.seal()
        #expect(try await kinds() == ["test.one", "test.two"])
        let last = try #require(
            try await testStore.store.auditEvents(AuditQuery(kind: AuditEvent.Kind("test.two"))).first?.event)
        #expect(last.time == clock.now && last.actor == .latchkey && last.user == nil)
        #expect(last.details.json == #"{"number":2}"#)
    }

    @Test("After a seal with the highest number there is no seal, and the log says that sealing failed")
    func highest() async throws {
        sealer.note(AuditEvent.Kind("test.one"))
        try await sealer.seal()
        let seal = AuditSealRecord(number: .max, lastSerial: 0, time: clock.now, jws: "", entries: [])
        #expect(try await testStore.store.addAuditSeal(seal))
        await sealer.finish()
        #expect(log.lines.contains { $0.level == .warning && $0.message == "could not seal the audit log" })
    }
}
