import Foundation
import LatchkeyService
import Logging
import Primitives
import SignIn
import Storage
import StorageModel
import TestSupport
import Testing

/// An attacker who can change every row, and has no key that signs seals.
@Suite struct AuditAttackTests {
    struct Attack: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let sql: String
        let finds: String

        init(_ description: String, _ sql: String, finds: String) {
            (testDescription, self.sql, self.finds) = (description, sql, finds)
        }
    }

    private static let attacks: [Attack] = [
        Attack(
            "another time", "UPDATE audit_events SET time = time - 1 WHERE serial = 700", finds: "event #700 was chan"),
        Attack(
            "another kind", "UPDATE audit_events SET kind = 'test.undone' WHERE serial = 1", finds: "event #1 was"),
        Attack(
            "another user", "UPDATE audit_events SET user_id = 9 WHERE serial IN (500, 2000)", finds: "event #500 was"),
        Attack(
            "no user", "UPDATE audit_events SET user_id = NULL WHERE serial = 2000", finds: "event #2000 was changed"),
        Attack(
            "another actor", "UPDATE audit_events SET actor = 'operator:pat' WHERE serial = 257",
            finds: "event #257 was changed after seal 2"),
        Attack(
            "another request", "UPDATE audit_events SET request_id = 'r' WHERE serial = 256",
            finds: "event #256 was changed after seal 1"),
        Attack(
            "a field moved into its neighbour",
            "UPDATE audit_events SET kind = 'test', actor = 'doneuser' WHERE serial = 9", finds: "event #9 was"),
        Attack(
            "other details", "UPDATE audit_events SET details = '{}' WHERE serial = 300",
            finds: "the details of event #300 were changed"),
        Attack(
            "another salt", "UPDATE audit_events SET salt = zeroblob(16) WHERE serial = 300",
            finds: "the details of event #300 were changed"),
        Attack(
            "other details with their digest",
            "UPDATE audit_events SET (details, salt, details_digest) = (SELECT details, salt, details_digest FROM "
                + "audit_events WHERE serial = 301) WHERE serial = 300", finds: "event #300 was changed"),
        Attack(
            "details without a salt", "UPDATE audit_events SET salt = NULL WHERE serial = 300",
            finds: "the details of event #300 were changed"),
        Attack(
            "details erased without their user",
            "UPDATE audit_events SET details = '{}', salt = NULL WHERE serial IN (300, 301)",
            finds: "the details of event #300, of seal 2, were erased, and no event says"),
        Attack(
            "no digest", "UPDATE audit_events SET details_digest = NULL WHERE serial = 300",
            finds: "event #300 was chan"),
        Attack("an event removed", "DELETE FROM audit_events WHERE serial = 300", finds: "event #300 is missing"),
        Attack(
            "the last event of a seal removed", "DELETE FROM audit_events WHERE serial = 512",
            finds: "event #512 is miss"),
        Attack("all events removed", "DELETE FROM audit_events", finds: "event #1 is missing"),
        Attack(
            "two events exchanged",
            "UPDATE audit_events SET serial = -1 WHERE serial = 800; UPDATE audit_events SET serial = 800 WHERE "
                + "serial = 801; UPDATE audit_events SET serial = 801 WHERE serial = -1",
            finds: "event #800 was changed"),
        Attack(
            "an event inserted before the first",
            "INSERT INTO audit_events SELECT 0, time, kind, user_id, actor, request_id, details, salt, details_digest "
                + "FROM audit_events WHERE serial = 1", finds: "event #0 was inserted"),
        Attack(
            "an event with the lowest number inserted",
            "INSERT INTO audit_events SELECT -9223372036854775808, time, kind, user_id, actor, request_id, details, "
                + "salt, details_digest FROM audit_events WHERE serial = 1",
            finds: "event #-9223372036854775808 was inserted"),
        Attack(
            "a seal with the lowest number inserted",
            "INSERT INTO audit_seals SELECT -9223372036854775808, last_serial, time, jws, entries FROM audit_seals "
                + "WHERE number = 1", finds: "seal -9223372036854775808 was changed"),
        Attack(
            "a seal with the highest number",
            "UPDATE audit_seals SET number = 9223372036854775807 WHERE number = 8", finds: "seal 8 is missing"),
        Attack(
            "an event put into the place of another",
            "DELETE FROM audit_events WHERE serial = 900; INSERT INTO audit_events SELECT 900, time, kind, user_id, "
                + "actor, request_id, details, salt, details_digest FROM audit_events WHERE serial = 899",
            finds: "event #900 was changed"),
        Attack(
            "a seal's list changed",
            "UPDATE audit_seals SET entries = CAST(zeroblob(40) || substr(entries, 41) AS BLOB) WHERE number = 3",
            finds: "seal 3 was changed"),
        Attack(
            "a seal's signature changed",
            "UPDATE audit_seals SET jws = substr(jws, 1, length(jws) - 20) || 'A' || substr(jws, -19) WHERE number = 3",
            finds: "seal 3 was changed"),
        Attack(
            "a seal's number changed", "UPDATE audit_seals SET number = 99 WHERE number = 8", finds: "seal 8 is miss"),
        Attack(
            "a seal's last event changed", "UPDATE audit_seals SET last_serial = 100 WHERE number = 1",
            finds: "seal 1 was changed"),
        Attack(
            "a seal's time changed", "UPDATE audit_seals SET time = time + 1 WHERE number = 2", finds: "seal 2 was chan"
        ),
        Attack("a seal removed", "DELETE FROM audit_seals WHERE number = 4", finds: "seal 4 is missing"),
        Attack(
            "the oldest seals removed with their events",
            "DELETE FROM audit_seals WHERE number < 3; DELETE FROM audit_events WHERE serial <= 512",
            finds: "the seals before 3 were removed before their events expired"),
        Attack(
            "the newest seal removed with its events",
            "DELETE FROM audit_seals WHERE number = 8; DELETE FROM audit_events WHERE serial > 1792",
            finds: "seal 8 is missing"),
        Attack(
            "everything removed", "DELETE FROM audit_seals; DELETE FROM audit_events", finds: "seal 1 is missing"),
    ]

    @Test("Every edit of the log is found, and the first bad entry is named")
    func found() async throws {
        let journal = try await AuditJournal()
        try await journal.add(2000)
        try await journal.sealer.seal()
        let anchor = try await journal.newest()
        #expect(anchor.hasPrefix("8:"))
        #expect(try await journal.verify(expecting: anchor).failure == nil)
        try await journal.store.close()
        for attack in Self.attacks {
            let copy = try TemporaryDirectory()
            try FileManager.default.copyItem(atPath: journal.path, toPath: copy.file("latchkey.db"))
            let victim = try await AuditJournal(in: copy)
            victim.clock.advance(bySeconds: 2000)
            try victim.attack(attack.sql)
            let failure = try await victim.verify(expecting: anchor).failure
            #expect(
                failure?.contains(attack.finds) == true, "\(attack.testDescription): \(failure ?? "nothing was found")")
            try await victim.store.close()
        }
    }

    @Test("A seal of an attacker's own key is refused, also if its key is in the database")
    func foreignKey() async throws {
        let journal = try await AuditJournal()
        try await journal.add(3)
        try await journal.sealer.seal()
        // An attacker has no encryption key, so that their key is in the database in plain form.
        let attacker = journal.another(encryptedWith: [])
        try journal.attack(
            "DELETE FROM audit_seals; DELETE FROM signing_keys; UPDATE audit_events SET actor = 'nobody'")
        try await attacker.sealer.seal()
        let (_, failure) = try await journal.verify()
        let keyID = try #require(try await journal.store.signingKeys().first?.id)
        #expect(
            failure?.contains("seal 1 is signed with the key \(keyID), which is not one") == true, "\(failure ?? "")")
        // A server that goes on to seal the forged log does not name the key.
        let server = journal.another()
        try await server.keys.maintain()
        try await journal.add(1)
        try await server.sealer.seal()
        let seal = try #require(try await journal.store.newestAuditSeal().flatMap { AuditSeal.read($0.jws) })
        #expect(seal.seal.keys == [seal.signer])
        #expect(seal.signer != keyID)
        let later = try await journal.verify().failure
        #expect(later?.contains("seal 1 is signed with the key \(keyID), which is not one") == true, "\(later ?? "")")
        let python = try await AuditExport.verify(try await journal.exported(), ["--key", seal.signer])
        #expect(python.status == 1)
        #expect(
            python.output.contains("seal 1 is signed with the key \(keyID), which is not one"), "\(python.output)")
        try await journal.store.close()
    }

    /// SQL that adds rows of another database.
    private static func copies(of table: String, _ columns: String, where condition: String, in path: String) throws
        -> String
    {
        let values = columns.split(separator: " ").map { "quote(\($0))" }.joined(separator: " || ',' || ")
        return try DatabaseProbe(path: path).texts(
            "SELECT 'INSERT INTO \(table) VALUES (' || \(values) || ')' FROM \(table) WHERE \(condition)"
        ).joined(separator: "; ")
    }

    @Test("A part of the log that was replaced by another one, which the server sealed as well, is found")
    func replaced() async throws {
        let before = try await AuditJournal(sealing: 5)
        try await before.add(5)
        try await before.sealer.seal()
        try await before.store.close()
        let copy = try TemporaryDirectory()
        try FileManager.default.copyItem(atPath: before.path, toPath: copy.file("latchkey.db"))
        // As after a backup was restored, and the server went on.
        let (journal, other) = (
            try await AuditJournal(in: before.directory, sealing: 5), try await AuditJournal(in: copy, sealing: 5)
        )
        for (log, kind) in [(journal, "test.done"), (other, "test.other")] {
            log.clock.advance(bySeconds: 60)
            try await log.add(5, kind: kind)
            try await log.sealer.seal()
        }
        try await journal.add(5)
        try await journal.sealer.seal()
        #expect(try await journal.verify().failure == nil)
        #expect(try await other.verify().failure == nil)
        try await other.store.close()
        let events = try Self.copies(
            of: "audit_events", "serial time kind user_id actor request_id details salt details_digest",
            where: "serial > 5", in: other.path)
        let seals = try Self.copies(
            of: "audit_seals", "number last_serial time jws entries", where: "number = 2", in: other.path)
        try journal.attack("DELETE FROM audit_events WHERE serial BETWEEN 6 AND 10; \(events)")
        try journal.attack("DELETE FROM audit_seals WHERE number = 2; \(seals)")
        let failure = try await journal.verify().failure
        #expect(failure?.contains("seal 3 does not follow the seal before it") == true, "\(failure ?? "")")
        let key = try #require(try await journal.store.signingKeys().first?.id)
        let python = try await AuditExport.verify(try await journal.exported(), ["--key", key])
        #expect(python.status == 1)
        #expect(python.output.contains("seal 3 does not follow the seal before it"), "\(python.output)")
        try await journal.store.close()
    }

    @Test("A running server logs that a seal was removed or changed")
    func noticed() async throws {
        let journal = try await AuditJournal()
        try await journal.add(1)
        try await journal.sealer.seal()
        let digest = try #require(try await journal.store.newestAuditSeal()).digest
        try journal.attack("DELETE FROM audit_seals")
        try await journal.sealer.seal()
        let lines = journal.log.lines.filter { $0.level == .error }
        #expect(
            lines.map(\.message) == [
                "a seal of the audit log was removed or changed; compare with the log and with a backup"
            ])
        #expect(lines.first?.metadata == ["number": "1", "digest": "\(digest)"])
        try await journal.store.close()
    }
}
