import Primitives
import Storage
import StorageModel
import TestSupport
import Testing

@Suite("SQLite: the audit log")
struct SQLiteAuditTests {
    @Test("The database itself refuses to change an event")
    func appendOnly() async throws {
        let directory = try TemporaryDirectory()
        let store = try SQLStore(configuration: SQLiteConfiguration(path: directory.file("store.db")))
        let event = AuditEvent(at: Records.now, AuditEvent.Kind("test.done"), user: UserID(1), by: .user)
        try await store.addAuditEvent(event)
        try await store.close()
        #expect(throws: DatabaseProbe.Refusal.self) {
            try DatabaseProbe(path: directory.file("store.db")).change("UPDATE audit_events SET actor = 'nobody'")
        }
        let again = try SQLStore(configuration: SQLiteConfiguration(path: directory.file("store.db")))
        #expect(try await again.auditEvents(AuditQuery()).map(\.event) == [event])
        try await again.close()
    }
}
