import Examination
import Foundation
import Primitives
import Storage
import StorageModel
import TestSupport
import Testing

@testable import PostgreSQL

struct DatabaseExaminationTests {
    @Test("A missing database is reported, and not made")
    func missing() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("latchkey.db")
        let examination = try DatabaseExamination(SQLiteConfiguration(path: path))
        #expect(examination.steps == nil)
        #expect((examination.freeBytes ?? 0) > 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == [])
    }

    @Test("A database of this version has all migrations, also while it is open")
    func current() async throws {
        let directory = try TemporaryDirectory()
        let configuration = SQLiteConfiguration(path: directory.file("latchkey.db"))
        let store = try SQLStore(configuration: configuration)
        #expect(try DatabaseExamination(configuration).steps == Schema.version)
        #expect(Schema.version > 0)
        try await store.close()
    }

    @Test("Identities whose user is gone are counted", arguments: UpgradeTests.Engine.allCases)
    func orphans(engine: UpgradeTests.Engine) async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("latchkey.db")
        let url = engine == .postgres ? try PostgresCluster.shared().makeSchema() : ""
        let place: any DatabaseLocation =
            engine == .postgres
            ? PostgresConfiguration(url: Secret(url), poolSize: 1) : SQLiteConfiguration(path: path)
        let store = try place.open(observer: nil)
        _ = try await store.signIn(Records.signIn())
        try await store.close()
        #expect(try DatabaseExamination(place).orphanedIdentities == 0)
        let orphan = """
            INSERT INTO identities (issuer, subject, user_id, created_at) VALUES ('https://op.example', 'a', 99, 1)
            """
        switch engine {
        case .sqlite:
            let probe = try DatabaseProbe(path: path).connect()
            try probe.execute("PRAGMA foreign_keys = OFF; \(orphan)")
            probe.close()
        case .postgres:
            try PostgresCluster.shared().execute(orphan, on: url)
            let plan = try PostgresCluster.shared().execute(
                "EXPLAIN SELECT count(*) FROM identities WHERE \(DatabaseExamination.isOrphaned)", on: url)
            #expect(plan.contains("Anti Join") && !plan.contains("SubPlan"), "\(plan)")
        }
        #expect(try DatabaseExamination(place).orphanedIdentities == 1)
    }

    @Test("Databases of an older and a newer version, and another program's, are refused")
    func otherVersions() async throws {
        let directory = try TemporaryDirectory()
        let configuration = SQLiteConfiguration(path: directory.file("latchkey.db"))
        try await SQLStore(configuration: configuration).close()
        let database = DatabaseProbe(path: configuration.path)
        try database.change(Version35.older)
        let older = #expect(throws: StorageError.self) { try DatabaseExamination(configuration) }
        #expect(older?.reason.contains("commit fd443933") == true)
        try database.change("INSERT INTO grdb_migrations VALUES ('99 of the future')")
        let newer = #expect(throws: StorageError.self) { try DatabaseExamination(configuration) }
        #expect(newer?.reason.contains("newer version") == true)
        let other = SQLiteConfiguration(path: directory.file("other.db"))
        try DatabaseProbe(path: other.path).change("CREATE TABLE theirs (x)")
        #expect(throws: StorageError.self) { try DatabaseExamination(other) }
    }
}
