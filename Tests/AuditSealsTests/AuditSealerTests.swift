import Logging
import Primitives
import SignIn
import Storage
import StorageModel
import TestSupport
import Testing

@testable import AuditSeals

/// A seal that no server made.
@Suite struct AuditSealerTests {
    @Test("After a seal with the highest number there is no seal, and the log says that sealing failed")
    func highest() async throws {
        let (directory, clock, log) = (try TemporaryDirectory(), ManualClock(), CapturedLog())
        let store = try SQLStore(
            configuration: SQLiteConfiguration(path: directory.file("store.db"), synchronous: .normal))
        let keys = UseCases(
            providers: Providers(), configuration: SignInConfiguration(), store: store, logger: log.logger,
            clock: clock.wallClock
        ).signingKeys
        let sealer = AuditSealer(
            store: store, keys: keys, retention: .seconds(86_400), clock: clock.wallClock, logger: log.logger)
        try await store.addAuditEvent(
            AuditEvent(at: clock.now, AuditEvent.Kind("test.one"), user: nil, by: .latchkey))
        try await sealer.seal()
        let seal = AuditSealRecord(number: .max, lastSerial: 0, time: clock.now, jws: "", entries: [])
        #expect(try await store.addAuditSeal(seal))
        await sealer.finish()
        #expect(log.lines.contains { $0.level == .warning && $0.message == "could not seal the audit log" })
        try await store.close()
    }
}
