import Primitives
import Storage
import StorageModel
import TestSupport
import Testing

@testable import Registration

@Suite("SQLite: the content of the files")
struct SQLitePrivacyTests {
    private let directory: TemporaryDirectory
    private let store: SQLStore

    init() throws {
        directory = try TemporaryDirectory()
        store = try SQLStore(configuration: SQLiteConfiguration(path: directory.file("store.db")))
    }

    private func files(contain text: String) throws -> Bool {
        try ["store.db", "store.db-wal"].contains { name in
            guard directory.exists(name) else { return false }
            return try directory.content(name).contains(Array(text.utf8))
        }
    }

    @Test("Tokens are stored as hashes only")
    func hashesOnly() async throws {
        // The store gets only hashes. This checks that the files keep nothing of a session beyond its record.
        let session = try Records.session()
        _ = try await store.signIn(Records.signIn(Records.identity("subject-on-record"), session: session))
        #expect(try files(contain: "subject-on-record"))
        #expect(try directory.content("store.db-wal").contains(session.tokenHash.bytes))
        #expect(try !files(contain: Base64URL.encode(session.tokenHash.bytes)))
        try await store.close()
    }

    @Test("The salt of a rotation is overwritten after the end of its tokens")
    func salts() async throws {
        let (session, rotation) = (try Records.session(), try Records.session())
        _ = try await store.signIn(Records.signIn(session: session))
        let done = try Records.rotation(of: session.refreshTokenHash, to: rotation)
        #expect(try await store.rotate(done))
        #expect(try directory.content("store.db-wal").contains(done.last.salt))
        _ = try await store.purgeExpired(at: done.refreshExpiresAt, limit: 100)
        try await store.close()
        for name in ["store.db", "store.db-wal"] where directory.exists(name) {
            #expect(try !directory.content(name).contains(done.last.salt))
        }
    }

    @Test("An erased user's data is overwritten, not only unlinked")
    func erasure() async throws {
        let identity = Records.identity("subject-to-forget")
        let profile: Profile = [.name: "Nobody To Remember", .email: "forget-me@example.com"]
        var record = try Records.signIn(identity, profile: profile)
        record.verified[.email] = true
        let user = try #require(await store.signIn(record)).user
        try await store.addPendingRegistration(Records.pending(identity, profile: profile))
        #expect(try await store.deleteUser(user.id))
        try await store.close()
        for text in ["subject-to-forget", "Nobody To Remember", "forget-me@example.com", user.publicID] {
            #expect(try !files(contain: text), "\(text)")
        }
    }
}
