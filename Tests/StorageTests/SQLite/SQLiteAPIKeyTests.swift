import Administration
import Primitives
import Storage
import StorageModel
import TestSupport
import Testing

@Suite("SQLite: API keys")
struct SQLiteAPIKeyTests {
    private let directory: TemporaryDirectory
    private let store: SQLStore

    init() throws {
        directory = try TemporaryDirectory()
        store = try SQLStore(configuration: SQLiteConfiguration(path: directory.file("store.db")))
    }

    private func key(
        _ name: String, clients: [String]? = nil, origins: [String]? = nil
    ) throws -> StoredAPIKey {
        StoredAPIKey(name: name, hash: Records.hash(), clients: clients, origins: origins, createdAt: Records.now)
    }

    private func event(_ kind: String, _ name: String) -> AuditEvent {
        AuditEvent(
            at: Records.now, AuditEvent.Kind(kind), user: nil, by: .operating("pat"),
            details: AuditDetails { $0.add("name", name) })
    }

    private func add(_ key: StoredAPIKey, limit: Int = 10) async throws -> APIKeyAddition {
        try await store.addAPIKey(key, limit: limit, recording: event("api_key.created", key.name))
    }

    private func revoke(_ name: String) async throws -> Bool {
        try await store.revokeAPIKey(
            name, at: Records.now.advanced(bySeconds: 9), recording: event("api_key.revoked", name))
    }

    @Test("A key is read unchanged, whatever its clients' names")
    func readBack() async throws {
        let keys = [
            try key("a"), try key("b", clients: ["one, two", "\"three\"\n"], origins: ["https://a.example"]),
            try key("c", clients: [], origins: []),
        ]
        for key in keys { #expect(try await add(key) == .added) }
        #expect(try await store.apiKeys(limit: 10) == keys)
        #expect(try await store.apiKeys(limit: 2).count == 2)
    }

    @Test("Of keys of one name one is valid at a time, and every change has an audit event")
    func names() async throws {
        let (first, second) = (try key("web"), try key("web"))
        #expect(try await add(first) == .added)
        #expect(try await add(second) == .nameTaken)
        #expect(try await revoke("web"))
        #expect(try await !revoke("web"))
        #expect(try await !revoke("other"))
        #expect(try await store.apiKeys(limit: 10).isEmpty)
        #expect(try await add(second) == .added)
        #expect(try await store.apiKeys(limit: 10) == [second])
        let all = try await store.apiKeysWithRevoked(limit: 10)
        #expect(all.map(\.hash) == [first.hash, second.hash])
        #expect(all.map(\.revokedAt) == [Records.now.advanced(bySeconds: 9), nil])
        let kinds = try await store.auditEvents(AuditQuery()).map(\.event.kind.name)
        #expect(kinds == ["api_key.created", "api_key.revoked", "api_key.created"])
    }

    @Test("There are no more keys than the limit")
    func limit() async throws {
        for number in 0..<3 { #expect(try await add(try key("key-\(number)"), limit: 3) == .added) }
        #expect(try await add(try key("one-more"), limit: 3) == .tooMany)
        #expect(try await revoke("key-0"))
        #expect(try await store.apiKeys(limit: 10).map(\.name) == ["key-1", "key-2"])
        #expect(try await add(try key("one-more"), limit: 3) == .added)
    }
}
