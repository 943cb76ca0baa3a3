import Foundation
import TestSupport
import Testing

/// `latchkey restore` killed in the middle of its work.
@Suite(.serialized) struct RestoreCrashTests {
    enum Moment: String, CaseIterable, Sendable {
        /// The backup is being copied beside the database, under a name of its own.
        case copying
        /// The backup is being written into the database.
        case overwriting
    }

    private struct NeverInTheMiddle: Error {}

    /// How the names of all users begin; both as long, so that changing them changes no file's size.
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
        // By then the first of the new pages are in the database, for SQLite keeps 2 MB of them in memory.
        case .overwriting: return size(path + "-journal") > 6 << 20
        }
    }

    /// Kills a restore in the middle: as often as it takes for one to be there still.
    private func kill(_ backup: String, at moment: Moment, _ stage: AdminHarness) async throws {
        let path = stage.directory.file("latchkey.db")
        for _ in 0..<20 {
            let content = try Data(contentsOf: URL(fileURLWithPath: path)).dropFirst(4_096)
            let process = try LatchkeyProcess(
                ["restore", backup], environment: stage.environment, directory: stage.directory.path)
            try await until { try isAt(moment, path) || process.hasEnded }
            process.send(SIGKILL)
            let status = await process.ending().status
            let isHalf = try Data(contentsOf: URL(fileURLWithPath: path)).dropFirst(4_096) != content
            if status == SIGKILL, isHalf == (moment == .overwriting) { return }
            if status != SIGKILL { try change(DatabaseProbe(path: path)) }
        }
        throw NeverInTheMiddle()
    }

    private func change(_ database: DatabaseProbe) throws {
        try database.change("UPDATE users SET name = replace(name, '\(restored)', '\(former)')")
    }

    @Test("leaves the former database, and the backup can be restored again", arguments: Moment.allCases)
    func killed(at moment: Moment) async throws {
        try await AdminHarness.with { stage in
            #expect(try await stage.run(["migrate"]).status == 0)
            let database = DatabaseProbe(path: stage.directory.file("latchkey.db"))
            try database.change(
                """
                WITH RECURSIVE numbers (number) AS
                (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 6000)
                INSERT INTO users (public_id, name, created_at)
                SELECT number, '\(restored)' || hex(randomblob(1500)), 0 FROM numbers
                """)
            let backup = stage.directory.file("copy.db")
            #expect(try await stage.run(["backup", backup]).status == 0)
            try change(database)
            try await kill(backup, at: moment, stage)

            let server = try LatchkeyProcess(
                ["serve"], environment: stage.environment, directory: stage.directory.path)
            _ = try await server.port(after: "listening")
            server.send(SIGTERM)
            #expect(await server.ending().status == 0)
            #expect(try names(database) == [former])
            #expect(try database.texts("PRAGMA integrity_check") == ["ok"])

            // Another name than that of what was put aside within the same second.
            try await until { try await stage.run(["restore", backup]).status == 0 }
            #expect(try names(database) == [restored])
            #expect(try database.number("SELECT count(*) FROM users") == 6_000)
        }
    }
}
