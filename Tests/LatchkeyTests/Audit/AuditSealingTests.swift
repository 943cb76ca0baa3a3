import AuditSeals
import LatchkeyConfiguration
import LatchkeyService
import Logging
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

@testable import PostgreSQL
@testable import Storage

/// How the audit log is sealed, and what a sealed log survives.
@Suite struct AuditSealingTests {
    private func statements(_ journal: AuditJournal) async throws -> [AuditSeal] {
        try await journal.store.auditSeals(after: 0, limit: 100).compactMap { AuditSeal.read($0.jws)?.seal }
    }

    @Test("New events are sealed in order, and nothing is sealed twice")
    func sealed() async throws {
        let journal = try await AuditJournal()
        try await journal.sealer.seal()
        #expect(try await statements(journal).isEmpty, "an empty log has no seal")
        try await journal.add(300)
        try await journal.sealer.seal()
        try await journal.add(1)
        #expect(try await journal.verify().lines.prefix(2).contains("1 event is not sealed yet."))
        try await journal.sealer.seal()
        try await journal.sealer.seal()
        let seals = try await statements(journal)
        #expect(seals.map(\.number) == [1, 2, 3])
        #expect(seals.map(\.last) == [256, 300, 301])
        #expect(seals.map(\.count) == [256, 44, 1])
        #expect(seals.map(\.timeBefore) == [nil, seals[0].time, seals[1].time])
        #expect(seals[0].previous == .noSeal)
        let (lines, failure) = try await journal.verify()
        #expect(failure == nil)
        #expect(lines.first == "Every event is as it was sealed: 301 events, seals 1 to 3.")
        #expect(lines.contains("The newest seal: \(try await journal.newest())"))
        try await journal.store.close()
    }

    @Test("Events of a version without seals are sealed as they are, with salts")
    func plain() async throws {
        let journal = try await AuditJournal()
        try journal.addPlain(600)
        try await journal.add(1)
        try await journal.sealer.seal()
        #expect(
            try journal.number("SELECT count(*) FROM audit_events WHERE salt IS NULL OR details_digest IS NULL") == 0)
        #expect(try await journal.verify().lines.first == "Every event is as it was sealed: 601 events, seals 1 to 3.")
        try await journal.store.close()
    }

    @Test("Of several instances that seal at once, one makes each seal", arguments: [false, true])
    func race(isPostgres: Bool) async throws {
        let url = isPostgres ? try PostgresCluster.shared().makeSchema() : nil
        let journal = try await AuditJournal(postgres: url)
        try await journal.add(1000)
        try await journal.keys.maintain()
        let instances = (0..<4).map { _ in journal.another().sealer }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for sealer in instances { group.addTask { try await sealer.seal() } }
            try await group.waitForAll()
        }
        try await journal.sealer.seal()
        let seals = try await statements(journal)
        #expect(seals.map(\.count).reduce(0, +) == 1000)
        #expect(seals.map(\.number) == (1...4).map { Int64($0) })
        #expect(try await journal.verify().failure == nil)
        try await journal.store.close()
    }

    @Test("A server that ends between an event and its seal leaves a log that verifies")
    func interrupted() async throws {
        let journal = try await AuditJournal()
        try await journal.add(5)
        try await journal.sealer.seal()
        try await journal.add(5)
        try await journal.store.close()
        let next = try await AuditJournal(in: journal.directory)
        next.clock.advance(bySeconds: 20)
        let (lines, failure) = try await next.verify()
        #expect(failure == nil)
        #expect(lines.contains("5 events are not sealed yet."))
        try await next.sealer.seal()
        #expect(try await next.verify().lines.first == "Every event is as it was sealed: 10 events, seals 1 to 2.")
        try await next.store.close()
    }

    @Test("The end of a service seals the events, and logs the newest seal")
    func service() async throws {
        let journal = try await AuditJournal()
        try await journal.add(1)
        await journal.sealer.finish()
        let seal = try #require(try await journal.store.newestAuditSeal())
        let lines = journal.log.lines.filter { $0.message == "audit log sealed" }
        #expect(lines.map(\.metadata) == [["number": "1", "digest": "\(seal.digest)"]])
        #expect(lines.map(\.level) == [.info])
        try await journal.store.close()
    }

    // MARK: Erasure

    @Test("When a user is erased, the details of the user's events go, and the log still verifies")
    func erasure() async throws {
        let journal = try await AuditJournal()
        try journal.addPlain(20)
        try await journal.sealer.seal()
        let user = UserID(1)
        try journal.change("INSERT INTO users (id, public_id, created_at) VALUES (1, 'u', 1)")
        try await journal.add(6)
        try journal.addPlain(20)
        let erased = AuditEvent(
            at: journal.clock.now, .userErased, user: user, by: .user,
            details: AuditDetails { $0.add("reason", "asked") })
        #expect(try await journal.store.deleteUser(user, in: nil, recording: erased))
        let events = try await journal.store.auditEvents(AuditQuery(user: user))
        #expect(events.count == 7)
        #expect(events.first?.event == erased)
        for event in events.dropFirst() {
            #expect(event.event.details == AuditDetails())
            #expect(event.isErased)
        }
        #expect(try await !journal.store.auditEvents(AuditQuery(user: UserID(2))).contains(where: \.isErased))
        try await journal.sealer.seal()
        let (lines, failure) = try await journal.verify()
        #expect(failure == nil)
        #expect(lines.contains("The details of 6 events were erased with their users."))
        try await journal.store.close()
    }

    private static let refusedUpdates = [
        "time = 1", "kind = 'x'", "user_id = NULL", "actor = 'x'", "request_id = 'x'", "details = '{}'", "salt = NULL",
        "serial = 9", "salt = zeroblob(16)", "details_digest = zeroblob(32)", "details_digest = NULL",
        "details = '[]', salt = NULL", "details = '{}', salt = NULL, kind = 'x'",
        "details = '{}', salt = NULL, user_id = NULL", "details = '{}', salt = NULL, time = 1",
        "details = '{}', salt = NULL, details_digest = zeroblob(32)", "details = '{}', salt = NULL, request_id = NULL",
        "details = '{}', salt = NULL, actor = 'x'", "details = '{}', salt = NULL, serial = 9",
    ]

    @Test(
        "The database refuses every update of an event but the erasure of its details",
        arguments: [false, true])
    func guarded(isPostgres: Bool) async throws {
        let url = isPostgres ? try PostgresCluster.shared().makeSchema() : nil
        let journal = try await AuditJournal(postgres: url)
        try await journal.add(1)
        try await journal.sealer.seal()
        for set in Self.refusedUpdates {
            let text = isPostgres ? set.replacing(/zeroblob\((\d+)\)/) { "decode(repeat('00', \($0.1)), 'hex')" } : set
            #expect(throws: (any Error).self, "\(set)") { try update(journal, url, "UPDATE audit_events SET \(text)") }
        }
        let erasure = "UPDATE audit_events SET details = '{}', salt = NULL"
        try update(journal, url, erasure)
        #expect(throws: (any Error).self, "an erased event is not changed again") { try update(journal, url, erasure) }
        #expect(throws: (any Error).self) { try update(journal, url, "UPDATE audit_seals SET jws = ''") }
        try await journal.store.close()
    }

    private func update(_ journal: AuditJournal, _ url: String?, _ sql: String) throws {
        if let url { try PostgresCluster.shared().execute(sql, on: url) } else { try journal.change(sql) }
    }

    @Test("An event of a version without seals gets its salt once, and is not changed otherwise")
    func guardedPlain() async throws {
        let journal = try await AuditJournal()
        try journal.addPlain(1)
        for set in [
            "salt = zeroblob(16)", "details_digest = zeroblob(32)", "details = '{}'",
            "salt = zeroblob(16), details_digest = zeroblob(32), details = '{}'",
            "salt = zeroblob(16), details_digest = zeroblob(32), kind = 'x'",
        ] {
            #expect(throws: (any Error).self, "\(set)") { try journal.change("UPDATE audit_events SET \(set)") }
        }
        try journal.change("UPDATE audit_events SET salt = zeroblob(16), details_digest = zeroblob(32)")
        #expect(throws: (any Error).self) {
            try journal.change("UPDATE audit_events SET salt = zeroblob(16), details_digest = zeroblob(32)")
        }
        try await journal.store.close()
    }

    // MARK: Retention

    @Test("Whole seals expire with their events, and the log still verifies; a removal before that is found")
    func retention() async throws {
        let journal = try await AuditJournal { $0.auditRetention = .seconds(86_400) }
        func purge() async throws -> Int {
            try await journal.store.purgeAuditSeals(
                from: journal.clock.now.advanced(bySeconds: -86_400), limit: 1000)
        }
        try await journal.add(300)
        #expect(try await purge() == 0)
        try await journal.sealer.seal()
        journal.clock.advance(bySeconds: 86_400 - 100)
        // The seal of the first 256 events has some that are not old enough.
        #expect(try await purge() == 0)
        journal.clock.advance(bySeconds: 57)
        #expect(try await purge() == 257)
        #expect(try await journal.verify().lines.contains { $0.hasPrefix("The seals before 2 have expired") })
        // The newest event stays with its seal until the next one is sealed.
        journal.clock.advance(bySeconds: 86_400)
        try await journal.sealer.seal()
        #expect(try await purge() == 0)
        try await journal.add(1)
        #expect(try await purge() == 0)
        try await journal.sealer.seal()
        #expect(try await statements(journal).map(\.count) == [44, 1])
        #expect(try await purge() == 45)
        #expect(try await journal.store.auditEvents(AuditQuery()).map(\.serial) == [301])
        #expect(try await journal.verify().failure == nil)
        try await journal.add(1)
        try await journal.sealer.seal()
        #expect(try await journal.verify().failure == nil)
        try journal.attack("DELETE FROM audit_seals WHERE number < 4; DELETE FROM audit_events WHERE serial < 302")
        let failure = try await journal.verify().failure
        #expect(
            failure?.contains("the seals before 4 were removed before their events expired") == true, "\(failure ?? "")"
        )
        try await journal.store.close()
    }

    @Test("No event expires before it is sealed")
    func unsealed() async throws {
        let journal = try await AuditJournal()
        try await journal.add(3)
        let end = journal.clock.now.advanced(bySeconds: 1_000_000)
        #expect(try await journal.store.purgeAuditSeals(from: end, limit: 1000) == 0)
        #expect(try await journal.store.auditEvents(AuditQuery()).count == 3)
        try await journal.store.close()
    }

    // MARK: Keys

    @Test("The log verifies across changes of the signing key")
    func rotation() async throws {
        let journal = try await AuditJournal()
        var signers: Set<String> = []
        for _ in 0..<70 {
            try await journal.keys.maintain()
            try await journal.sealer.seal()
            try await journal.add(1)
            try await journal.sealer.seal()
            journal.clock.advance(bySeconds: 86_400)
            signers.insert(
                try #require(try await journal.store.newestAuditSeal().flatMap { AuditSeal.read($0.jws) }).signer)
        }
        #expect(signers.count > 2)
        let (_, failure) = try await journal.verify()
        #expect(failure == nil, "\(failure ?? "")")
        try await journal.store.close()
    }

    @Test("An idle server names its new keys in a seal without events")
    func idle() async throws {
        let journal = try await AuditJournal()
        try await journal.add(1)
        try await journal.sealer.seal()
        for _ in 0..<70 {
            journal.clock.advance(bySeconds: 86_400)
            try await journal.keys.maintain()
            try await journal.sealer.seal()
            try await journal.sealer.seal()
        }
        let seals = try await statements(journal)
        #expect(seals.count > 2 && seals.count < 8)
        let (_, failure) = try await journal.verify()
        #expect(failure == nil, "\(failure ?? "")")
        try await journal.store.close()
    }

    @Test("A key that was lost with its encryption key is named, and the operator can vouch for it")
    func lostKey() async throws {
        let journal = try await AuditJournal()
        try await journal.add(1)
        try await journal.sealer.seal()
        let lost = try #require(try await journal.store.signingKeys().first?.id)
        let new = EncryptionKey.of(String(repeating: "08", count: 32))
        let unread = try await journal.verify(encryptedWith: new).failure
        #expect(unread?.contains("Nothing was verified.") == true, "\(unread ?? "")")
        #expect(try await journal.verify(vouchingFor: [lost], encryptedWith: new).failure == nil)
        let (keys, sealer) = journal.another(encryptedWith: new)
        try await keys.maintain()
        try await journal.add(1)
        try await sealer.seal()
        let present = try #require(try await journal.store.newestAuditSeal().flatMap { AuditSeal.read($0.jws) }).signer
        #expect(present != lost)
        // The new key is the server's own, and its seals cannot tell whose the lost one was.
        #expect(
            try await journal.verify(encryptedWith: new).failure?.contains("seal 1 is signed with the key \(lost)")
                == true)
        #expect(try await journal.verify(vouchingFor: [lost], encryptedWith: new).failure == nil)
        let other = EncryptionKey.of(String(repeating: "09", count: 32))
        #expect(
            try await journal.verify(vouchingFor: [lost], encryptedWith: other).failure?.contains("the key \(present)")
                == true)
        #expect(try await journal.verify(vouchingFor: [lost, present], encryptedWith: other).failure == nil)
        try await journal.store.close()
    }

    // MARK: PostgreSQL

    @Test("An event of a transaction under way is not skipped: the sealer waits for it")
    func outOfOrder() async throws {
        let url = try PostgresCluster.shared().makeSchema()
        let journal = try await AuditJournal(postgres: url)
        let slow = PostgresConnection(PostgresConfiguration(url: Secret(url)), gate: ReconnectGate())
        try slow.connect()
        try slow.script("BEGIN")
        try slow.script("INSERT INTO audit_events (time, kind, actor, details) VALUES (1, 'test.slow', 'user', '{}')")
        try await journal.add(1)
        for _ in 0..<3 {
            try await journal.sealer.seal()
            #expect(try await statements(journal).isEmpty)
        }
        try slow.script("COMMIT")
        try await journal.sealer.seal()
        #expect(try await statements(journal).map(\.count) == [2])
        // A transaction that begins later does not keep earlier events from being sealed.
        try slow.script("BEGIN")
        try slow.script("INSERT INTO audit_events (time, kind, actor, details) VALUES (1, 'test.slow', 'user', '{}')")
        try await journal.add(1)
        try await journal.sealer.seal()
        let later = PostgresConnection(PostgresConfiguration(url: Secret(url)), gate: ReconnectGate())
        try later.connect()
        try later.script("BEGIN")
        try later.script("INSERT INTO audit_events (time, kind, actor, details) VALUES (1, 'test.later', 'user', '{}')")
        try slow.script("ROLLBACK")
        try await journal.sealer.seal()
        #expect(try await statements(journal).map(\.count) == [2, 1])
        try later.script("ROLLBACK")
        later.close()
        slow.close()
        try await journal.store.close()
    }

    @Test("A transaction that stays open for minutes is logged every five minutes, because no event is sealed")
    func staysOpen() async throws {
        let url = try PostgresCluster.shared().makeSchema()
        let journal = try await AuditJournal(postgres: url)
        let slow = PostgresConnection(PostgresConfiguration(url: Secret(url)), gate: ReconnectGate())
        try slow.connect()
        try slow.script("BEGIN")
        let now = journal.clock.wallClock.now().secondsSinceEpoch
        try slow.script(
            "INSERT INTO audit_events (time, kind, actor, details) VALUES (\(now), 'test.slow', 'user', '{}')")
        func warnings() -> [CapturedLog.Line] {
            journal.log.lines.filter { $0.message.hasPrefix("a transaction on audit_events stays open") }
        }
        for seconds: Int64 in [0, 299] {
            journal.clock.advance(bySeconds: seconds)
            try await journal.sealer.seal()
            #expect(warnings().isEmpty)
        }
        for seconds: Int64 in [1, 1, 298, 1] {
            journal.clock.advance(bySeconds: seconds)
            try await journal.sealer.seal()
        }
        #expect(warnings().map { $0.metadata["seconds"] } == ["300", "600"])
        #expect(warnings().allSatisfy { $0.level == .warning && $0.metadata["transactions"]?.isEmpty == false })
        try slow.script("COMMIT")
        try await journal.sealer.seal()
        #expect(try await statements(journal).map(\.count) == [1])
        slow.close()
        try await journal.store.close()
    }
}
