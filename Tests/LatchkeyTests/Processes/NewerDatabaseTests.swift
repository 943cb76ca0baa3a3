import Foundation
import TestSupport
import Testing

/// A binary that is older than its database, as after the way back from an upgrade; or too new for it.
@Suite struct NewerDatabaseTests {
    private static let commands = [
        ["serve"], ["migrate"], ["users", "find", "--email", "a@example.com"], ["audit"], ["api-key", "list"],
        ["vault", "rotate"],
    ]

    /// What a database of another version has recorded, and the refusal.
    enum Version: CaseIterable {
        case newer, older

        func change(_ table: String, _ column: String) -> String {
            switch self {
            case .newer: "INSERT INTO \(table) (\(column)) VALUES ('99 of the future')"
            case .older:
                "DELETE FROM \(table); INSERT INTO \(table) (\(column)) VALUES ('capsules of failed sign-ins')"
            }
        }

        var refusal: String {
            switch self {
            case .newer: "the database was written by a newer version of Latchkey; run that version"
            case .older:
                "the database has the tables of an older version of Latchkey; start the version of commit fd443933 "
                    + "once, which brings them up to date"
            }
        }
    }

    private func expectRefusal(
        of version: Version, _ harness: AdminHarness, _ environment: [String: String]
    ) async throws {
        for arguments in Self.commands {
            let ending = try await harness.run(arguments, environment: environment)
            #expect(ending.status == 1, "\(arguments)")
            #expect(
                ending.output.contains(version.refusal), "\(arguments): \(ending.output)")
            #expect(!ending.output.contains("listening"))
        }
    }

    @Test(
        "An SQLite database of a newer or too old version is refused with the reason, and not changed",
        arguments: Version.allCases)
    func sqlite(version: Version) async throws {
        try await AdminHarness.with { harness in
            let path = harness.directory.file("latchkey.db")
            #expect(try await harness.run(["migrate"]).status == 0)
            try DatabaseProbe(path: path).change(version.change("grdb_migrations", "identifier"))
            let before = try Data(contentsOf: URL(fileURLWithPath: path))
            let environment = ["LATCHKEY_ENCRYPTION_KEYS": String(repeating: "1f", count: 32)]
            try await expectRefusal(of: version, harness, environment)
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
        }
    }

    @Test(
        "A PostgreSQL database of a newer or too old version is refused with the reason, and not changed",
        arguments: Version.allCases)
    func postgres(version: Version) async throws {
        let cluster = try PostgresCluster.shared()
        let url = try cluster.makeSchema()
        let environment = [
            "LATCHKEY_DATABASE_URL": url, "LATCHKEY_ENCRYPTION_KEYS": String(repeating: "1f", count: 32),
        ]
        try await AdminHarness.with { harness in
            #expect(try await harness.run(["migrate"], environment: environment).status == 0)
            try cluster.execute(version.change("latchkey_migrations", "name"), on: url)
            let columns = """
                SELECT count(*) FROM information_schema.columns WHERE table_schema = current_schema()
                """
            let before = try cluster.execute(columns, on: url)
            try await expectRefusal(of: version, harness, environment)
            #expect(try cluster.execute(columns, on: url) == before)
        }
    }
}
