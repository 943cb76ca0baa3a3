import Administration
import Primitives
import Storage
import StorageModel
import TestSupport
import Testing

@testable import PostgreSQL

@Suite("Tables of features that are in other packages")
struct FeatureTableTests {
    private static let visits = FeatureTable(
        "visits",
        """
        id INTEGER PRIMARY KEY,
        user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
        place TEXT
        """, indexes: ["user_id"])

    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func file(_ name: String, with tables: [FeatureTable] = [visits]) -> SQLiteConfiguration {
        var configuration = SQLiteConfiguration(path: directory.file(name), busyTimeout: .seconds(60))
        configuration.featureTables = tables
        return configuration
    }

    private func postgres() throws -> any DatabaseLocation {
        PostgresConfiguration(
            url: Secret(try PostgresCluster.shared().makeSchema()), poolSize: 2, featureTables: [Self.visits])
    }

    private func count(_ store: SQLStore) async throws -> Int64 {
        try await store.reads.submit { db in try db.number("SELECT count(*) FROM own_visits") }
    }

    /// Signs a user in, and adds a row of theirs.
    private func fill(_ place: any DatabaseLocation) async throws -> UserID {
        let store = try place.open(observer: nil)
        let user = try #require(try await store.signIn(Records.signIn())).user.id
        try await store.writes.submit { db in
            try db.perform("INSERT INTO own_visits (user_id, place) VALUES (?, ?)", user, "home")
        }
        try await store.close()
        return user
    }

    @Test("A table is made where it is missing, keeps its rows, and loses those of an erased user")
    func life() async throws {
        for place in [file("store.db"), try postgres()] {
            // The database is older than the feature.
            var without = place
            without.featureTables = []
            try await without.open(observer: nil).close()
            let user = try await fill(place)
            try await without.open(observer: nil).close()
            let store = try place.open(observer: nil)
            #expect(try await count(store) == 1)
            #expect(try await store.deleteUser(user))
            #expect(try await count(store) == 0)
            try await store.close()
        }
    }

    @Test("Processes that start together make a table once")
    func together() async throws {
        for place in [file("store.db"), try postgres()] {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 { group.addTask { try await place.open(observer: nil).close() } }
                try await group.waitForAll()
            }
            _ = try await fill(place)
        }
    }

    @Test("A copy of a database has the tables, too")
    func copy() async throws {
        _ = try await fill(file("first.db"))
        let middle = try postgres()
        _ = try DatabaseTransfer.run(from: file("first.db"), to: middle)
        _ = try DatabaseTransfer.run(from: middle, to: file("second.db"))
        let store = try SQLStore(configuration: file("second.db"))
        #expect(try await count(store) == 1)
        try await store.close()
    }

    @Test("A database with a table of a feature that is missing is not copied, and the target is not made")
    func copyWithoutFeature() async throws {
        for var source in [file("first.db"), try postgres()] as [any DatabaseLocation] {
            _ = try await fill(source)
            source.featureTables = []
            let error = try #require(throws: StorageError.self) {
                try DatabaseTransfer.run(from: source, to: file("second.db", with: []))
            }
            #expect(error.reason.contains("nothing was copied: the source has the table own_visits"), "\(error.reason)")
            #expect(!directory.exists("second.db"))
        }
    }

    @Test("A backup is restored with the tables that it has, also of features that are missing or have changed")
    func restore() async throws {
        try await SQLStore(configuration: file("store.db", with: [])).close()
        _ = try DatabaseBackup.make(of: file("store.db"), at: directory.file("before.db"), replaces: false)
        _ = try await fill(file("store.db"))
        _ = try DatabaseBackup.make(of: file("store.db"), at: directory.file("after.db"), replaces: false)
        _ = try DatabaseRestore.run(from: directory.file("before.db"), to: file("store.db"), mark: "first")
        let changed = FeatureTable("visits", "id INTEGER PRIMARY KEY, place TEXT")
        for (mark, tables) in [("same", [Self.visits]), ("changed", [changed]), ("missing", [])] {
            _ = try DatabaseRestore.run(
                from: directory.file("after.db"), to: file("store.db", with: tables), mark: mark)
            let store = try SQLStore(configuration: file("store.db", with: tables))
            #expect(try await count(store) == 1)
            try await store.close()
        }
    }

    @Test("A backup with a trigger on a feature's table, or with a view of such a name, is refused")
    func restoreOfCode() async throws {
        let code = [
            "CREATE TRIGGER own_spy AFTER INSERT ON own_visits BEGIN DELETE FROM users; END",
            "CREATE VIEW own_users AS SELECT * FROM users",
        ]
        _ = try await fill(file("store.db"))
        for (number, statement) in code.enumerated() {
            let name = "backup-\(number).db"
            _ = try DatabaseBackup.make(of: file("store.db"), at: directory.file(name), replaces: false)
            try DatabaseProbe(path: directory.file(name)).change(statement)
            let error = try #require(throws: StorageError.self) {
                try DatabaseRestore.run(from: directory.file(name), to: file("store.db"), mark: "former")
            }
            #expect(error.reason.contains("tables, indexes or triggers"), "\(error.reason)")
        }
    }
}
