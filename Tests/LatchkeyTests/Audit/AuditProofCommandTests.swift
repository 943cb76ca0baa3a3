import AuditSeals
import Foundation
import LatchkeyConfiguration
import LatchkeyService
import Primitives
import SignIn
import Storage
import StorageModel
import TestSupport
import Testing

/// `latchkey audit verify` and `export`, and the verifier of an export in another language.
@Suite struct AuditProofCommandTests {
    /// - Parameter key: The encryption key; nil for a configuration without one.
    private func run(
        _ journal: AuditJournal, _ arguments: [String], command: String = "audit",
        encryptedWith key: String? = String(repeating: "07", count: 32)
    ) async throws -> LatchkeyProcess.Ending {
        var environment = ["LATCHKEY_DATABASE_URL": "sqlite:///\(journal.path)"]
        environment["LATCHKEY_ENCRYPTION_KEYS"] = key
        return await
            (try LatchkeyProcess(
                [command] + arguments, environment: environment, directory: journal.directory.path)).ending()
    }

    @Test("The command verifies with status 0, and names the first bad entry with status 1")
    func command() async throws {
        let journal = try await AuditJournal()
        try await journal.add(300)
        try await journal.sealer.seal()
        let seal = try await journal.newest()
        let good = try await run(journal, ["verify", "--expect", seal])
        #expect(good.status == 0)
        #expect(good.output.contains("Every event is as it was sealed: 300 events, seals 1 to 2."), "\(good.output)")
        #expect(good.output.contains("The newest seal: \(seal)"))
        let json = try await run(journal, ["verify", "--format", "json"])
        #expect(
            json.output.hasPrefix(#"{"valid":true,"events":300,"erased":0,"unsealed":0,"first_seal":1,"newest_seal":""#)
        )
        for invalid in [
            "2", "2:abc", "x:" + String(repeating: "0", count: 64), "0:" + String(repeating: "0", count: 64),
        ] {
            let ending = try await run(journal, ["verify", "--expect", invalid])
            #expect(ending.status == 64)
            #expect(ending.output.contains("is not a seal"), "\(ending.output)")
        }
        let unexpected = try await run(journal, ["verify", "--expect", "1:" + String(repeating: "0", count: 64)])
        #expect(unexpected.status == 1)
        #expect(unexpected.output.contains("seal 1 has another digest than the expected one"), "\(unexpected.output)")
        try journal.attack("DELETE FROM audit_events WHERE serial = 77")
        let bad = try await run(journal, ["verify"])
        #expect(bad.status == 1)
        #expect(
            bad.output.contains("latchkey: the audit log is not as it was sealed: event #77 is missing"),
            "\(bad.output)")
        let badJSON = try await run(journal, ["verify", "--format", "json"])
        #expect(badJSON.status == 1)
        #expect(
            badJSON.output.contains(
                #"{"valid":false,"fault":{"kind":"event_missing","serial":77,"seal":1,"description""#),
            "\(badJSON.output)")
        try await journal.store.close()
    }

    @Test("An event and a seal of the lowest number do not keep the commands from ending")
    func lowestNumbers() async throws {
        let journal = try await AuditJournal()
        let lowest = "-9223372036854775808"
        try journal.attack(
            """
            INSERT INTO audit_events (serial, time, kind, actor, details) VALUES (\(lowest), 0, 'test', 'user', '{}');
            INSERT INTO audit_seals (number, last_serial, time, jws, entries) VALUES (\(lowest), \(lowest), 0, 'x', x'')
            """)
        let export = try await run(journal, ["export"])
        #expect(export.status == 0)
        #expect(export.output.contains("\"serial\":\(lowest)"), "\(export.output.prefix(2000))")
        #expect(export.output.count < 2000)
        #expect(try await run(journal, ["verify"]).status == 1)
        try await journal.store.close()
    }

    @Test("Without the encryption keys nothing is verified, and no key is suggested; a key that was noted suffices")
    func unreadableKeys() async throws {
        let journal = try await AuditJournal()
        try await journal.add(1)
        try await journal.sealer.seal()
        let key = try #require(try await journal.store.signingKeys().first?.id)
        for (encryptionKey, says) in [
            (nil, "encryption_keys is not set here; give the configuration of the server (--config)"),
            (String(repeating: "08", count: 32), "encrypted with keys that encryption_keys does not have here; give"),
        ] as [(String?, String)] {
            for format in ["text", "json"] {
                let ending = try await run(journal, ["verify", "--format", format], encryptedWith: encryptionKey)
                #expect(ending.status == 78, "\(ending.output)")
                #expect(ending.output.contains(says), "\(ending.output)")
                #expect(ending.output.contains("Nothing was verified."))
                #expect(!ending.output.contains(key) && !ending.output.contains("--key"))
            }
            let noted = try await run(journal, ["verify", "--key=\(key)"], encryptedWith: encryptionKey)
            #expect(noted.status == 0, "\(noted.output)")
            let foreign = try await run(
                journal, ["verify", "--key=" + String(repeating: "A", count: 43)], encryptedWith: encryptionKey)
            #expect(foreign.status == 1)
            #expect(
                foreign.output.contains("Compare it with a key that you noted earlier, before you add --key"),
                "\(foreign.output)")
            #expect(!foreign.output.contains("--key=\(key)"))
        }
        try await journal.store.close()
    }

    @Test("The end of a log without the expected seal is named, and unencrypted signing keys")
    func warnings() async throws {
        let journal = try await AuditJournal { $0.encryptionKeys = [] }
        try await journal.add(1)
        let expected = "9:" + String(repeating: "0", count: 64)
        let empty = try await run(journal, ["verify", "--expect", expected], encryptedWith: nil)
        #expect(empty.status == 1)
        #expect(
            empty.output.contains("seal 1 is missing: the log has no seal, and --expect names seal 9"),
            "\(empty.output)")
        try await journal.sealer.seal()
        let cut = try await run(journal, ["verify", "--expect", expected], encryptedWith: nil)
        #expect(cut.status == 1)
        #expect(
            cut.output.contains("seal 2 is missing: the log ends at seal 1, and --expect names seal 9"),
            "\(cut.output)")
        let plain = try await run(journal, ["verify"], encryptedWith: nil)
        #expect(plain.status == 0)
        #expect(plain.output.contains("can also sign seals; set encryption_keys."), "\(plain.output)")
        try await journal.store.close()
    }

    @Test("Wrong options end with 64, not with the status of a changed log, and none is ignored")
    func options() async throws {
        let journal = try await AuditJournal()
        try await journal.add(1)
        try await journal.sealer.seal()
        let whole = "is an option of latchkey audit alone; the log is always verified as a whole"
        for (command, arguments, says) in [
            ("audit", ["verify", "--key", "abc"], "a thumbprint has 43 characters of base64url"),
            ("audit", ["verify", "--key", String(repeating: "+", count: 43)], "is not the thumbprint of a key"),
            ("audit", ["verify", "--user", "99", "--kind", "zzz"], "--user \(whole)"),
            ("audit", ["--kind", "zzz", "verify"], "--kind \(whole)"),
            ("audit", ["verify", "--limit", "100"], "--limit \(whole)"),
            ("audit", ["verify", "--json"], "--json \(whole)"),
            (
                "audit", ["export", "--since", "1d"],
                "--since is an option of latchkey audit alone; an export is always whole"
            ),
            ("audit", ["export", "--until", "1d"], "--until is an option of latchkey audit alone"),
            ("audit", ["--limit", "0"], "the limit must be a number from 1 to 10000"),
            ("audit", ["--since", "yesterday"], "is not a time"),
            ("audit", ["--kind", "nope"], "there is no kind of event"),
            ("capsule", ["list", "--limit", "0"], "the limit must be a number from 1 to"),
        ] as [(String, [String], String)] {
            let ending = try await run(journal, arguments, command: command)
            #expect(ending.status == 64, "\(arguments): \(ending.output)")
            #expect(ending.output.contains(says), "\(arguments): \(ending.output)")
        }
        for arguments in [["verify"], ["export"], ["--limit", "1"], ["verify", "--format", "json"]] {
            let ending = try await run(journal, arguments)
            #expect(ending.status == 0, "\(arguments): \(ending.output)")
        }
        try await journal.store.close()
    }

    @Test("A program in Python verifies an export, and names what was edited in it")
    func python() async throws {
        let journal = try await AuditJournal(sealing: 20)
        try await journal.add(50)
        try journal.change("INSERT INTO users (id, public_id, created_at) VALUES (1, 'u', 1)")
        _ = try await journal.store.deleteUser(
            UserID(1), in: nil,
            recording: AuditEvent(at: journal.clock.now, .userErased, user: UserID(1), by: .operating("pat")))
        try await journal.sealer.seal()
        try await journal.add(1)
        // An event of a version without seals, which has no salt yet.
        try journal.addPlain(1)
        let export = try await run(journal, ["export"])
        #expect(export.status == 0)
        let lines = export.output.split(separator: "\n").map(String.init)
        #expect(lines.count == 56)
        let key = try #require(try await journal.store.signingKeys().first?.id)
        let newest = try await journal.newest()
        try await journal.store.close()

        let good = try await AuditExport.verify(lines, ["--key=\(key)", "--expect", newest])
        #expect(good.status == 0, "\(good.output)")
        #expect(good.output == "51 events in seals 1 to 3 are as they were sealed, 2 are not sealed yet\n")

        let edits: [(String, String, (inout [String]) -> Void)] = [
            ("an event changed", "event 6 was changed", { $0[5] = $0[5].replacing("test.done", with: "test.gone") }),
            (
                "details changed", "details of event 6 ",
                { $0[5] = $0[5].replacing(#"\"number\":5"#, with: #"\"number\":6"#) }
            ),
            (
                "another digest of the details", "event 6 was changed",
                { $0[5] = $0[5].replacing(#""details_digest":""#, with: #""details_digest":"0"#) }
            ),
            (
                "the salt removed", "the details of event 6 were",
                { $0[5] = $0[5].replacing(#""salt":"#, with: #""pepper":"#) }
            ),
            (
                "the details removed", "the details of event 6 were",
                { $0[5] = $0[5].replacing(#""details":"#, with: #""particulars":"#) }
            ),
            (
                "salt and details removed without an erasure", "the details of event 6 were erased, and no event says",
                {
                    $0[5] = $0[5].replacing(#""details":"#, with: #""particulars":"#)
                        .replacing(#""salt":"#, with: #""pepper":"#)
                }
            ),
            ("an event removed", "event 7 is missing", { $0.remove(at: 6) }),
            ("the last event of a seal removed", "event 20 is missing", { $0.remove(at: 19) }),
            ("an event after those of a seal", "event 20 was inserted", { $0.insert($0[19], at: 20) }),
            ("an event doubled", "event 7 was inserted", { $0.insert($0[6], at: 6) }),
            ("two events exchanged", "event 7 is missing", { $0.swapAt(6, 7) }),
            ("a seal removed", "seal 2 is missing", { $0.remove(at: 41) }),
            (
                "a seal changed", "seal 2 was changed",
                { $0[41] = $0[41].replacing("\"jws\":\"eyJ", with: "\"jws\":\"eyK") }
            ),
            (
                "a seal's signature changed", "seal 2 was changed",
                {
                    let start = $0[41].range(of: #"","entries""#)!.lowerBound
                    let index = $0[41].index(start, offsetBy: -10)
                    $0[41].replaceSubrange(index...index, with: $0[41][index] == "A" ? "B" : "A")
                }
            ),
            (
                "a seal's number changed", "seal 2 was changed",
                {
                    $0[20] = $0[20].replacing(#""number":1"#, with: #""number":2"#)
                }
            ),
            (
                "a seal's list of events changed", "seal 2 was changed",
                { $0[41] = $0[41].replacing(#""entries":"AAAAAAAAAB"#, with: #""entries":"AAAAAAAAAC"#) }
            ),
            ("the end cut off", "seal 3 is missing", { $0.removeLast(14) }),
            ("everything cut off", "seal 1 is missing", { $0.removeAll() }),
        ]
        for (name, finds, edit) in edits {
            var edited = lines
            edit(&edited)
            #expect(edited != lines, "\(name)")
            let ending = try await AuditExport.verify(edited, ["--key=\(key)", "--expect", newest])
            #expect(ending.status == 1, "\(name)")
            #expect(ending.output.contains(finds), "\(name): \(ending.output)")
        }
        let other = "2:" + String(repeating: "0", count: 64)
        let unexpected = try await AuditExport.verify(lines, ["--key=\(key)", "--expect", other])
        #expect(unexpected.status == 1)
        #expect(unexpected.output.contains("seal 2 has another digest than the expected one"), "\(unexpected.output)")
        // Seal 1 with its events is gone. Seal 3 was made some seconds after the last of these events.
        let cut = Array(lines.dropFirst(21))
        for (arguments, finds) in [
            ([], "the seals before 2 are missing"),
            (["--retention", "9000000000"], "the seals before 2 are missing"),
            (["--retention", "10"], nil),
            (["--retention", "10", "--expect", "1:" + String(repeating: "0", count: 64)], "seal 1 is before seal 2"),
        ] as [([String], String?)] {
            let ending = try await AuditExport.verify(cut, ["--key=\(key)"] + arguments)
            #expect(ending.status == (finds == nil ? 0 : 1), "\(arguments): \(ending.output)")
            #expect(ending.output.contains(finds ?? "31 events in seals 2 to 3 are as they"), "\(ending.output)")
        }
        let without = try await AuditExport.verify(lines, [])
        #expect(without.status == 2)
        #expect(without.output.contains("give the server's key with --key"), "\(without.output)")
        let foreign = try await AuditExport.verify(lines, ["--key=" + String(repeating: "A", count: 43)])
        #expect(foreign.status == 1)
        #expect(foreign.output.contains("seal 3 is signed with the key \(key)"), "\(foreign.output)")
    }
}
