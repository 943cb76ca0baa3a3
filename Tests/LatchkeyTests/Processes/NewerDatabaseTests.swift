import Foundation
import TestSupport
import Testing

/// A binary that is older than its database, as after the way back from an upgrade.
@Suite struct NewerDatabaseTests {
    private static let commands = [
        ["serve"], ["migrate"], ["users", "find", "--email", "a@example.com"], ["audit"], ["api-key", "list"],
        ["vault", "rotate"],
    ]

    private func expectRefusal(_ harness: AdminHarness, _ environment: [String: String]) async throws {
        for arguments in Self.commands {
            let ending = try await harness.run(arguments, environment: environment)
            #expect(ending.status == 1, "\(arguments)")
            #expect(
                ending.output.contains("the database was written by a newer version of Latchkey; run that version"),
                "\(arguments): \(ending.output)")
            #expect(!ending.output.contains("listening"))
        }
    }

    @Test("An SQLite database of a newer version is refused with the reason, and not changed")
    func sqlite() async throws {
        try await AdminHarness.with { harness in
            let path = harness.directory.file("latchkey.db")
            #expect(try await harness.run(["migrate"]).status == 0)
            try DatabaseProbe(path: path).change("INSERT INTO grdb_migrations VALUES ('of the future')")
            let before = try Data(contentsOf: URL(fileURLWithPath: path))
            let environment = ["LATCHKEY_ENCRYPTION_KEYS": String(repeating: "1f", count: 32)]
            try await expectRefusal(harness, environment)
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
        }
    }

    @Test("A PostgreSQL database of a newer version is refused with the reason, and not changed")
    func postgres() async throws {
        let cluster = try PostgresCluster.shared()
        let url = try cluster.makeSchema()
        let environment = [
            "LATCHKEY_DATABASE_URL": url, "LATCHKEY_ENCRYPTION_KEYS": String(repeating: "1f", count: 32),
        ]
        try await AdminHarness.with { harness in
            #expect(try await harness.run(["migrate"], environment: environment).status == 0)
            try cluster.execute("INSERT INTO latchkey_migrations (name) VALUES ('of the future')", on: url)
            let columns = """
                SELECT count(*) FROM information_schema.columns WHERE table_schema = current_schema()
                """
            let before = try cluster.execute(columns, on: url)
            try await expectRefusal(harness, environment)
            #expect(try cluster.execute(columns, on: url) == before)
        }
    }
}
