import Crypto
import OpenIDConnect
import Primitives
import StorageModel
import TestSupport
import Testing

@testable import SignIn

/// The life of the keys that sign receipts.
@Suite("Signing keys")
struct SigningKeysTests {
    private static let day: Int64 = 86_400
    private let clock = ManualClock()
    private let testStore: TestStore
    private var store: any Store { testStore.store }
    private let log = CapturedLog()

    init() throws {
        testStore = try TestStore()
    }

    /// Encryption keys of one repeated byte each.
    private static func keys(_ bytes: [UInt8]) throws -> [EncryptionKey] {
        try bytes.map { byte in try #require(EncryptionKey([UInt8](repeating: byte, count: 32))) }
    }

    /// The keys of a process with these encryption keys.
    private func process(_ encryptionKeys: UInt8...) throws -> SigningKeys { try process(encryptionKeys) }

    private func process(_ encryptionKeys: [UInt8]) throws -> SigningKeys {
        var configuration = SignInConfiguration()
        configuration.signingKeys.lifetime = 10 * Self.day
        configuration.signingKeys.encryptionKeys = try Self.keys(encryptionKeys)
        return UseCases(
            providers: Providers(), configuration: configuration, store: store, logger: log.logger,
            clock: clock.wallClock
        ).signingKeys
    }

    /// Days until each stored key signs.
    private func starts() async throws -> [Int64] {
        try await store.signingKeys().map { key in
            let seconds = key.signsFrom.secondsSinceEpoch - clock.now.secondsSinceEpoch
            return seconds >= 0 ? seconds / Self.day : -1 - (-1 - seconds) / Self.day
        }
    }

    @Test("The first is created on demand, and signs at once")
    func first() async throws {
        let keys = try process()
        let published = try await keys.published()
        #expect(published.count == 1)
        #expect(try await store.signingKeys().map(\.id) == published.map(\.id))
        #expect(try await starts() == [-1])
    }

    @Test("The audit log records each key, and its removal")
    func recorded() async throws {
        let keys = try process(1)
        try await keys.maintain()
        let first = try await store.signingKeys()[0]
        clock.advance(bySeconds: 9 * Self.day)
        try await keys.maintain()
        clock.advance(bySeconds: 2 * Self.day)
        try await keys.maintain()
        let next = try #require(try await store.signingKeys().first)
        let events = try await store.auditEvents(AuditQuery()).reversed().map(\.event)
        #expect(events.map(\.kind) == [.signingKeyCreated, .signingKeyCreated, .signingKeyRemoved])
        #expect(
            events.map(\.details.json) == [
                #"{"kid":"\#(first.id)","signs_from":\#(first.signsFrom.secondsSinceEpoch),"encrypted":true}"#,
                #"{"kid":"\#(next.id)","signs_from":\#(next.signsFrom.secondsSinceEpoch),"encrypted":true}"#,
                #"{"kid":"\#(first.id)"}"#,
            ])
        #expect(events.allSatisfy { $0.actor == .latchkey && $0.user == nil })
    }

    @Test("The next is published a day before it signs, and its predecessor is removed a day after")
    func rotation() async throws {
        let keys = try process()
        try await keys.maintain()
        let first = try await store.signingKeys()[0].id
        clock.advance(bySeconds: 9 * Self.day - 301)
        try await keys.maintain()
        #expect(try await store.signingKeys().count == 1)
        clock.advance(bySeconds: 1)
        for _ in 0..<3 { try await keys.maintain() }
        #expect(try await starts() == [-9, 1])
        clock.advance(bySeconds: 2 * Self.day - 1)
        try await keys.maintain()
        #expect(try await store.signingKeys().map(\.id).first == first)
        clock.advance(bySeconds: 1)
        try await keys.maintain()
        #expect(try await starts() == [-1])
        #expect(try await store.signingKeys()[0].id != first)
    }

    @Test("After a long pause the old one signs until the next has been published for a day")
    func pause() async throws {
        try await process().maintain()
        clock.advance(bySeconds: 400 * Self.day)
        let keys = try process()
        try await keys.maintain()
        #expect(try await starts().last == 1)
        #expect(try await store.signingKeys().count == 2)
    }

    @Test("Many processes that start at once create one key, and so the next one")
    func processes() async throws {
        let processes = try (0..<8).map { _ in try process() }
        for count in [1, 2] {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for process in processes { group.addTask { try await process.maintain() } }
                try await group.waitForAll()
            }
            #expect(try await store.signingKeys().count == count)
            clock.advance(bySeconds: 9 * Self.day)
        }
    }

    @Test("A private key is encrypted if there is an encryption key")
    func encrypted() async throws {
        try await process(7).maintain()
        let stored = try #require(try await store.signingKeys().first)
        // One byte for the format, then the nonce (12), the ciphertext (32) and the tag (16) of AES-GCM.
        #expect(stored.privateKey.count == 61)
        #expect(stored.privateKey.first == 1)
        #expect(!"\(stored) \(String(reflecting: stored))".contains("privateKey"))
        var dumped = ""
        dump(stored, to: &dumped)
        #expect(!dumped.contains("privateKey"))
    }

    @Test("Changing the encryption key replaces the signing key once, with the usual overlap")
    func encryptionChanged() async throws {
        try await process(1).maintain()
        clock.advance(bySeconds: 3600)
        let keys = try process(2, 1)
        for _ in 0..<3 { try await keys.maintain() }
        #expect(try await starts().last == 1)
        #expect(try await store.signingKeys().count == 2)
        #expect(try await keys.published().count == 2)
        clock.advance(bySeconds: 2 * Self.day)
        try await keys.maintain()
        #expect(try await store.signingKeys().count == 1)
    }

    @Test("Once there is an encryption key, the former plain key neither signs nor is published, and is removed")
    func encryptionTurnedOn() async throws {
        try await process().maintain()
        let plain = try #require(try await store.signingKeys().first).id
        clock.advance(bySeconds: 3600)
        let keys = try process(1)
        for _ in 0..<3 { try await keys.maintain() }
        #expect(try await starts() == [-1, -1])
        let signer = try await keys.signer().id
        #expect(signer != plain)
        #expect(try await keys.published().map(\.id) == [signer])
        // Once for each key, not once for each time that the store is read.
        let lines = log.lines.filter { $0.message.contains("neither used nor published") }
        #expect(lines.map { $0.metadata["kid"] } == [plain])
        clock.advance(bySeconds: Self.day)
        try await keys.maintain()
        #expect(try await store.signingKeys().map(\.id) == [signer])
    }

    /// A row that somebody who can write to the database, and does not have the encryption keys, adds.
    struct Planted: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let privateKey: @Sendable (SigningKey) -> [UInt8]
    }

    static let planted = [
        Planted(testDescription: "a plain key") { [0] + $0.rawRepresentation },
        Planted(testDescription: "a key that none of the encryption keys decrypts") { _ in
            [1] + [UInt8](repeating: 3, count: 60)
        },
        Planted(testDescription: "a key in an unknown form") { [2] + $0.rawRepresentation },
        Planted(testDescription: "no key") { _ in [] },
    ]

    @Test("A planted signing key is neither published nor used, whenever it would sign", arguments: planted)
    func plantedKey(row: Planted) async throws {
        let process = try process(1)
        try await process.maintain()
        let own = try #require(try await store.signingKeys().first).id
        var newest = own
        for signsFrom in [clock.now, clock.now.advanced(bySeconds: Self.day)] {
            let key = SigningKey()
            let record = SigningKeyRecord(
                id: key.id, publicKey: key.publicPoint, privateKey: row.privateKey(key), createdAt: clock.now,
                signsFrom: signsFrom)
            let event = AuditEvent(at: clock.now, .signingKeyCreated, user: nil, by: .latchkey)
            #expect(try await store.addSigningKey(record, after: newest, recording: event))
            newest = key.id
        }
        clock.advance(bySeconds: 3600)
        #expect(try await process.published().map(\.id) == [own])
        #expect(try await process.signer().id == own)
        #expect(try await process.own().ids == [own])
        // They are removed, and another key of the server's own signs.
        for _ in 0..<5 {
            clock.advance(bySeconds: Self.day)
            try await process.maintain()
        }
        let last = try await process.signer().id
        #expect(try await store.signingKeys().map(\.id) == [last])
    }

    @Test("A public key that was replaced in the database is not published")
    func replacedPublicKey() async throws {
        let process = try process(1)
        try await process.maintain()
        let own = try #require(try await store.signingKeys().first)
        try await store.removeSigningKeys([own.id]) { _ in
            AuditEvent(at: clock.now, .signingKeyRemoved, user: nil, by: .latchkey)
        }
        let forged = SigningKeyRecord(
            id: own.id, publicKey: SigningKey().publicPoint, privateKey: own.privateKey, createdAt: own.createdAt,
            signsFrom: own.signsFrom)
        let event = AuditEvent(at: clock.now, .signingKeyCreated, user: nil, by: .latchkey)
        #expect(try await store.addSigningKey(forged, after: nil, recording: event))
        clock.advance(bySeconds: 3600)
        #expect(try await process.published().map(\.id) == [own.id])
        #expect(try await process.published().map { Array($0.key.rawRepresentation) } == [own.publicKey])
    }

    @Test("A public key that is no point of the curve is not published")
    func publicKeyOffTheCurve() async throws {
        let broken = SigningKeyRecord(
            id: "broken", publicKey: [UInt8](repeating: 0, count: 64), privateKey: [1], createdAt: clock.now,
            signsFrom: clock.now)
        let event = AuditEvent(at: clock.now, .signingKeyCreated, user: nil, by: .latchkey)
        #expect(try await store.addSigningKey(broken, after: nil, recording: event))
        let process = try process()
        #expect(try await process.published().map(\.id) == [try await process.signer().id])
    }

    @Test("Without encryption keys a server publishes the key of one that has them already")
    func whileEncryptionIsTurnedOn() async throws {
        try await process().maintain()
        let encrypting = try process(1)
        try await encrypting.maintain()
        let plain = try process()
        #expect(try await plain.published().count == 2)
        #expect(try await plain.signer().id != encrypting.signer().id)
    }

    @Test("If the encryption key is lost, a new signing key signs at once, and the log says why")
    func encryptionKeyLost() async throws {
        try await process(1).maintain()
        clock.advance(bySeconds: 3600)
        let keys = try process(2)
        #expect(try await keys.published().map(\.id) == [try await keys.signer().id])
        #expect(try await starts() == [-1, -1])
        #expect(log.text.contains("cannot be decrypted"))
    }

    @Test("What else is encrypted with the same keys is no signing key, whatever the row is named")
    func otherRow() async throws {
        let process = try process(1)
        try await process.maintain()
        let own = try #require(try await store.signingKeys().first)
        let encryptionKey = try #require(EncryptionKey([UInt8](repeating: 1, count: 32)))
        // A private key that others know, in the form that the store has for claims.
        let sealed = try encryptionKey.key.seal(
            [UInt8](repeating: 7, count: 32), boundTo: Array("claims of a user".utf8))
        let forged = SigningKeyRecord(
            id: "claims of a user", publicKey: own.publicKey, privateKey: [1] + sealed, createdAt: clock.now,
            signsFrom: clock.now)
        let event = AuditEvent(at: clock.now, .signingKeyCreated, user: nil, by: .latchkey)
        #expect(try await store.addSigningKey(forged, after: own.id, recording: event))
        clock.advance(bySeconds: 3600)
        #expect(try await process.signer().id == own.id)
        #expect(log.text.contains("cannot be decrypted"))
    }

    @Test(
        "The doctor learns with which key each is encrypted",
        arguments: [
            (stored: [], keys: [], KeyProtection.State.current), (stored: [], keys: [1], .plain),
            (stored: [1], keys: [1], .current), (stored: [1], keys: [1, 2], .current),
            (stored: [1], keys: [2, 1], .older), (stored: [1], keys: [2], .unreadable),
            (stored: [1], keys: [], .unreadable),
        ] as [(stored: [UInt8], keys: [UInt8], KeyProtection.State)])
    func state(stored: [UInt8], keys: [UInt8], expected: KeyProtection.State) async throws {
        try await process(stored).maintain()
        let record = try #require(try await store.signingKeys().first)
        #expect(KeyProtection(keys: try Self.keys(keys)).state(of: record) == expected)
    }

    @Test("Processes with different encryption keys add at most one key a day")
    func disagreement() async throws {
        let processes = [try process(1), try process(2)]
        for _ in 0..<48 {
            for process in processes { try await process.maintain() }
            clock.advance(bySeconds: 3600)
        }
        #expect(try await store.signingKeys().count <= 6)
    }

    @Test("Keys in memory serve for an hour while the store is unavailable, and no longer")
    func storeDown() async throws {
        let keys = try process()
        let published = try await keys.published().map(\.id)
        testStore.script.fail(with: StorageError(.unavailable, reason: ""))
        clock.advance(bySeconds: 3599)
        #expect(try await keys.published().map(\.id) == published)
        clock.advance(bySeconds: 1)
        await #expect {
            _ = try await keys.published()
        } throws: {
            ($0 as? SignInError)?.code == .temporarilyUnavailable
        }
    }
}
