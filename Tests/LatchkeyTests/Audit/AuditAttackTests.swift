import AuditSeals
import Foundation
import LatchkeyConfiguration
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
            "UPDATE audit_seals SET jws = substr(jws, 1, length(jws) - 20) || "
                + "CASE substr(jws, -20, 1) WHEN 'A' THEN 'B' ELSE 'A' END || substr(jws, -19) WHERE number = 3",
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
        let python = try await AuditExport.verify(try await journal.exported(), ["--key=\(seal.signer)"])
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
        let python = try await AuditExport.verify(try await journal.exported(), ["--key=\(key)"])
        #expect(python.status == 1)
        #expect(python.output.contains("seal 3 does not follow the seal before it"), "\(python.output)")
        try await journal.store.close()
    }

    // MARK: Attacks while a server seals

    /// The errors of the log, each with its metadata.
    private func errors(_ journal: AuditJournal) -> [String] {
        journal.log.lines.filter { $0.level == .error }.map { line in
            line.message + line.metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        }
    }

    private func newestSeal(_ journal: AuditJournal) async throws -> AuditSeal {
        try #require(try await journal.store.newestAuditSeal().flatMap { AuditSeal.read($0.jws) }).seal
    }

    /// SQL that inserts an event without a salt, as the database permits.
    private static func insertion(at time: Int64) -> String {
        "INSERT INTO audit_events (time, kind, actor, details) VALUES (\(time), 'test.forged', 'user', '{}')"
    }

    @Test("An inserted event of a past time does not make the seals before look expired")
    func insertedInThePast() async throws {
        let journal = try await AuditJournal()
        try await journal.add(3)
        try await journal.sealer.seal()
        let time = try await newestSeal(journal).time
        try journal.change(Self.insertion(at: 0))
        try await journal.sealer.seal()
        #expect(try await newestSeal(journal).time == time)
        try await journal.add(1)
        try await journal.sealer.seal()
        #expect(try await newestSeal(journal).timeBefore == time)
        #expect(try await journal.verify().failure == nil)
        try journal.attack("DELETE FROM audit_events WHERE serial <= 4; DELETE FROM audit_seals WHERE number < 3")
        let failure = try await journal.verify().failure
        #expect(failure?.contains("the seals before 3 were removed before") == true, "\(failure ?? "")")
        try await journal.store.close()
    }

    @Test("A changed time of the newest seal does not make the seals before look expired")
    func changedTime() async throws {
        let journal = try await AuditJournal()
        try await journal.add(3)
        try await journal.sealer.seal()
        let time = try await newestSeal(journal).time
        try journal.attack("UPDATE audit_seals SET time = 0")
        try await journal.add(1)
        for _ in 0..<3 { try await journal.sealer.seal() }
        #expect(try await newestSeal(journal).timeBefore == time)
        #expect(
            errors(journal) == [
                "the row of the newest seal of the audit log was changed; run latchkey audit verify number=1"
            ])
        try journal.attack("DELETE FROM audit_events WHERE serial <= 3; DELETE FROM audit_seals WHERE number < 2")
        let failure = try await journal.verify().failure
        #expect(failure?.contains("the seals before 2 were removed before") == true, "\(failure ?? "")")
        try await journal.store.close()
    }

    @Test("A raised number of the last sealed event keeps no later event from being sealed")
    func raisedLastSerial() async throws {
        let journal = try await AuditJournal()
        try await journal.add(3)
        try await journal.sealer.seal()
        try journal.attack("UPDATE audit_seals SET last_serial = 9223372036854775807")
        for _ in 0..<3 { try await journal.sealer.seal() }
        #expect(errors(journal).count == 1)
        try await journal.add(1)
        try await journal.sealer.seal()
        let seal = try await newestSeal(journal)
        #expect(seal.number == 2 && seal.last == 4 && seal.count == 1)
        let failure = try await journal.verify().failure
        #expect(failure?.contains("seal 1 was changed") == true, "\(failure ?? "")")
        try await journal.store.close()
    }

    /// A signature that is not valid; the signed text of an earlier number; with a serial of the future.
    @Test(
        "A newest seal that is not the server's own is named once, and states nothing for the next one",
        arguments: [
            "UPDATE audit_seals SET jws = 'x'", "UPDATE audit_seals SET number = 9",
            "UPDATE audit_seals SET jws = 'x', last_serial = 9223372036854775807",
        ])
    func foreign(attack: String) async throws {
        let journal = try await AuditJournal()
        try await journal.add(3)
        try await journal.sealer.seal()
        try journal.attack(attack)
        let number = try #require(try await journal.store.newestAuditSeal()).number
        for _ in 0..<3 { try await journal.sealer.seal() }
        let named = errors(journal).filter { $0.contains("not signed with a key of this server") }
        #expect(named.count == 1 && named.first?.hasSuffix(" number=\(number)") == true, "\(named)")
        let next = try await newestSeal(journal)
        #expect(next.number == number + 1 && next.count == 0)
        #expect(next.timeBefore == nil && next.time == journal.clock.now)
        try journal.change(Self.insertion(at: 0))
        try await journal.sealer.seal()
        let later = try await newestSeal(journal)
        #expect(later.number == number + 2 && later.count == 1 && later.last == 4)
        #expect(later.timeBefore == next.time && later.time == next.time)
        #expect(try await journal.verify().failure != nil)
        for first in [number + 1, number + 2] {
            try journal.attack("DELETE FROM audit_events WHERE serial < 4")
            try journal.attack("DELETE FROM audit_seals WHERE number < \(first)")
            let failure = try await journal.verify().failure
            #expect(failure?.contains("the seals before \(first) were removed before") == true, "\(failure ?? "")")
        }
        try await journal.store.close()
    }

    @Test("An inserted event of the highest time does not end the expiry")
    func insertedInTheFuture() async throws {
        let journal = try await AuditJournal { $0.auditRetention = .seconds(86_400) }
        try journal.change(Self.insertion(at: .max))
        try await journal.sealer.seal()
        #expect(try await newestSeal(journal).time == journal.clock.now)
        journal.clock.advance(bySeconds: 86_401)
        try await journal.add(1)
        try await journal.sealer.seal()
        let end = journal.clock.now.advanced(bySeconds: -86_400)
        #expect(try await journal.store.purgeAuditSeals(from: end, limit: 1000) == 2)
        #expect(try await journal.verify().failure == nil)
        try await journal.store.close()
    }

    @Test("The time of a seal never decreases when the clock is set back")
    func clockSetBack() async throws {
        let journal = try await AuditJournal()
        // The signing key is older than the time to which the clock is set back.
        journal.clock.advance(bySeconds: 2000)
        try await journal.add(3)
        try await journal.sealer.seal()
        let time = try await newestSeal(journal).time
        journal.clock.advance(bySeconds: -1000)
        try await journal.add(1)
        try await journal.sealer.seal()
        let seal = try await newestSeal(journal)
        #expect(seal.time == time && seal.timeBefore == time && seal.sealedAt < time)
        #expect(try await journal.verify().failure == nil)
        try await journal.store.close()
    }

    @Test("An inserted event whose salt does not fit is sealed and named, and hides no other fault")
    func unfittingSalt() async throws {
        let journal = try await AuditJournal()
        try await journal.add(3)
        try journal.change(
            """
            INSERT INTO audit_events (time, kind, actor, details, salt, details_digest)
            VALUES (1, 'test.forged', 'user', '{}', zeroblob(16), zeroblob(32))
            """)
        try await journal.add(1)
        for _ in 0..<3 { try await journal.sealer.seal() }
        #expect(try await newestSeal(journal).mismatched == [4])
        let named = errors(journal)
        #expect(named.count == 1 && named.first?.hasSuffix(" number=1 serial=4") == true, "\(named)")
        let failure = try await journal.verify().failure
        #expect(
            failure?.contains("the details of event #4 did not match their digest before seal 1") == true,
            "\(failure ?? "")")
        let key = try #require(try await journal.store.signingKeys().first?.id)
        let python = try await AuditExport.verify(try await journal.exported(), ["--key=\(key)"])
        #expect(python.status == 1)
        #expect(python.output.contains("the details of event 4 did not match their digest"), "\(python.output)")
        try journal.attack("UPDATE audit_events SET details = '[]' WHERE serial = 5")
        let later = try await journal.verify().failure
        #expect(later?.contains("the details of event #5 were changed after seal 1") == true, "\(later ?? "")")
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
