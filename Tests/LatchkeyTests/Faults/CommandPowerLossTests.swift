import Foundation
import TestSupport
import Testing

/// `latchkey backup` and `latchkey restore` on a disk that loses what was not synced, or fails.
@Suite(.serialized) struct CommandPowerLossTests {
    /// Fills a database; returns its path.
    private func fill(_ harness: AdminHarness, users: Int, named name: String) async throws -> String {
        #expect(try await harness.run(["migrate"]).status == 0)
        let path = harness.directory.file("latchkey.db")
        try DatabaseProbe(path: path).change(
            """
            WITH RECURSIVE numbers (number) AS
            (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < \(users))
            INSERT INTO users (public_id, name, created_at)
            SELECT '\(name)' || number, '\(name)', 0 FROM numbers
            """)
        return path
    }

    /// The users in a database after a loss of power, by name and number; nil without a database.
    private func users(_ path: String) throws -> [String]? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        let probe = DatabaseProbe(path: path)
        #expect(try probe.texts("PRAGMA integrity_check") == ["ok"])
        return try probe.texts("SELECT name || ' ' || count(*) FROM users GROUP BY name")
    }

    /// The content of the disk after losses of power at all moments of a recorded command.
    private func forEachLoss(
        _ disk: FaultyDisk, _ body: (TemporaryDirectory, _ isAtEnd: Bool) throws -> Void
    ) throws {
        let trace = try disk.trace()
        try #require(!trace.events.isEmpty)
        var state = DiskAfterPowerLoss(trace)
        var random = SeededGenerator(seed: 1)
        let survivals = DiskAfterPowerLoss.Survival.allCases
        // All moments if there are few; otherwise the last ones, and every tenth.
        for moment in 0...trace.events.count where moment % 10 == 0 || moment > trace.events.count - 30 {
            state.advance(to: UInt64(moment))
            for survival in moment == trace.events.count
                ? survivals : [survivals[moment % survivals.count]]
            {
                let after = try TemporaryDirectory()
                try state.write(to: after.path, survival, &random)
                try body(after, moment == trace.events.count)
            }
        }
    }

    @Test(
        "After a loss of power a backup is whole or missing, and whole once the command has said so")
    func backup() async throws {
        try await AdminHarness.with { harness in
            _ = try await fill(harness, users: 500, named: "jo")
            let disk = try FaultyDisk(harness.directory.path, isRecording: true)
            let ending = try await harness.run(
                ["backup", harness.directory.file("copy.db")], environment: disk.environment)
            #expect(ending.status == 0, "\(ending.output)")
            #expect(ending.output.contains("verified"))
            var isMissing = false
            try forEachLoss(disk) { after, isAtEnd in
                let found = try users(after.file("copy.db"))
                #expect(found == ["jo 500"] || (found == nil && !isAtEnd))
                isMissing = isMissing || found == nil
            }
            #expect(isMissing, "no loss of power came before the end")
        }
    }

    @Test("The simulation finds a backup that is not synced")
    func withoutSyncs() async throws {
        try await AdminHarness.with { harness in
            _ = try await fill(harness, users: 500, named: "jo")
            let disk = try FaultyDisk(harness.directory.path, isRecording: true)
            disk.set(.init(concerned: .all, skipsSyncs: true))
            let ending = try await harness.run(
                ["backup", harness.directory.file("copy.db")], environment: disk.environment)
            #expect(ending.status == 0, "\(ending.output)")
            var isMissing = false
            try forEachLoss(disk) { after, isAtEnd in
                let isThere = FileManager.default.fileExists(atPath: after.file("copy.db"))
                isMissing = isMissing || (isAtEnd && !isThere)
            }
            #expect(isMissing)
        }
    }

    @Test("After a loss of power during a restore the database has the former or the new content")
    func restore() async throws {
        try await AdminHarness.with { harness in
            let path = try await fill(harness, users: 300, named: "jo")
            let backup = harness.directory.file("copy.db")
            #expect(try await harness.run(["backup", backup]).status == 0)
            try DatabaseProbe(path: path).change("UPDATE users SET name = 'jane'")
            let disk = try FaultyDisk(harness.directory.path, isRecording: true)
            let ending = try await harness.run(["restore", backup], environment: disk.environment)
            #expect(ending.status == 0, "\(ending.output)")
            try forEachLoss(disk) { after, isAtEnd in
                let found = try users(after.file("latchkey.db"))
                #expect(found == ["jo 300"] || (found == ["jane 300"] && !isAtEnd))
            }
        }
    }

    struct Fault: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let faults: FaultyDisk.Faults

        static let all = [
            Fault(testDescription: "full", faults: .init(concerned: .others, room: 20_000)),
            Fault(
                testDescription: "errors on writing", faults: .init(concerned: .others, writeError: EIO)),
            Fault(
                testDescription: "errors on syncing", faults: .init(concerned: .others, syncError: EIO)),
            Fault(
                testDescription: "errors on syncing the folder",
                faults: .init(concerned: .folder, syncError: EIO)),
            Fault(
                testDescription: "writes that do nothing",
                faults: .init(concerned: .others, skipsWrites: true)),
        ]
    }

    @Test("A backup that does not reach the disk fails, and leaves no file", arguments: Fault.all)
    func failing(fault: Fault) async throws {
        try await AdminHarness.with { harness in
            _ = try await fill(harness, users: 500, named: "jo")
            let disk = try FaultyDisk(harness.directory.path)
            disk.set(fault.faults)
            let backup = harness.directory.file("copy.db")
            let ending = try await harness.run(["backup", backup], environment: disk.environment)
            #expect(ending.status == 1)
            #expect(disk.met > 0)
            #expect(!ending.output.contains("verified"), "\(ending.output)")
            let names = try FileManager.default.contentsOfDirectory(atPath: harness.directory.path)
            #expect(!names.contains { $0.hasPrefix("copy.db") }, "\(names)")
            disk.set(.init())
            #expect(try await harness.run(["backup", backup], environment: disk.environment).status == 0)
        }
    }
}
