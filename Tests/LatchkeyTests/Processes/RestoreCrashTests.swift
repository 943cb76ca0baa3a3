import Foundation
import TestSupport
import Testing

/// `latchkey restore`, killed while it runs.
@Suite(.serialized) struct RestoreCrashTests {
    enum Moment: String, CaseIterable, Sendable {
        /// The backup is being copied beside the database, under a temporary name.
        case copying
        /// The backup is being written into the database.
        case overwriting
    }

    private struct NeverInTheMiddle: Error {}

    /// The prefixes of all users' names, of equal length, so that replacing one changes no file's size.
    private let former = "former"
    private let restored = "backup"

    private func names(_ database: DatabaseProbe) throws -> [String] {
        try database.texts("SELECT DISTINCT substr(name, 1, 6) FROM users")
    }

    private func size(_ path: String) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
    }

    private func isAt(_ moment: Moment, _ path: String) throws -> Bool {
        switch moment {
        case .copying:
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
            return try FileManager.default.contentsOfDirectory(atPath: folder).contains { $0.contains(".part-") }
        // At this size the first new pages are in the database, because SQLite keeps only 2 MB of them in memory.
        case .overwriting: return size(path + "-journal") > 6 << 20
        }
    }

    /// Kills a restore at a moment. Repeats until a restore is killed before it ends, at most 20 times.
    private func kill(_ backup: String, at moment: Moment, _ harness: AdminHarness) async throws {
        let path = harness.directory.file("latchkey.db")
        for _ in 0..<20 {
            let content = try Data(contentsOf: URL(fileURLWithPath: path)).dropFirst(4_096)
            let process = try LatchkeyProcess(
                ["restore", backup], environment: harness.environment, directory: harness.directory.path)
            try await until { try isAt(moment, path) || process.hasEnded }
            process.send(SIGKILL)
            let status = await process.ending().status
            let isChanged = try Data(contentsOf: URL(fileURLWithPath: path)).dropFirst(4_096) != content
            // Without a journal the restore was complete, even if its process had not ended.
            let isHalf = isChanged && size(path + "-journal") > 0
            if status == SIGKILL, isHalf == (moment == .overwriting), isHalf == isChanged { return }
            if isChanged, !isHalf { try change(DatabaseProbe(path: path)) }
        }
        throw NeverInTheMiddle()
    }

    private func change(_ database: DatabaseProbe) throws {
        try database.change("UPDATE users SET name = replace(name, '\(restored)', '\(former)')")
    }

    @Test(
        "A killed restore leaves the former database, and the backup can be restored again", arguments: Moment.allCases)
    func killed(at moment: Moment) async throws {
        try await AdminHarness.with { harness in
            #expect(try await harness.run(["migrate"]).status == 0)
            let database = DatabaseProbe(path: harness.directory.file("latchkey.db"))
            try database.change(
                """
                WITH RECURSIVE numbers (number) AS
                (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 6000)
                INSERT INTO users (public_id, name, created_at)
                SELECT number, '\(restored)' || hex(randomblob(1500)), 0 FROM numbers
                """)
            let backup = harness.directory.file("copy.db")
            #expect(try await harness.run(["backup", backup]).status == 0)
            try change(database)
            try await kill(backup, at: moment, harness)

            let server = try LatchkeyProcess(
                ["serve"], environment: harness.environment, directory: harness.directory.path)
            _ = try await server.port(after: "listening")
            server.send(SIGTERM)
            #expect(await server.ending().status == 0)
            #expect(try names(database) == [former])
            #expect(try database.texts("PRAGMA integrity_check") == ["ok"])

            // Repeated, because the name of the database that is put aside contains the second and may exist.
            try await until { try await harness.run(["restore", backup]).status == 0 }
            #expect(try names(database) == [restored])
            #expect(try database.number("SELECT count(*) FROM users") == 6_000)
        }
    }
}
