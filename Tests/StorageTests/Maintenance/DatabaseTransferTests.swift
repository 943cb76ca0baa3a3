import Administration
import Foundation
import Primitives
import StorageModel
import Synchronization
import TestSupport
import Testing

@testable import PostgreSQL
@testable import Storage

@Suite("Copying a database into another")
struct DatabaseTransferTests {
    private let directory: TemporaryDirectory
    private let cluster: PostgresCluster
    private let url: String

    init() throws {
        directory = try TemporaryDirectory()
        cluster = try PostgresCluster.shared()
        url = try cluster.makeSchema()
    }

    private func file(_ name: String) -> SQLiteConfiguration {
        SQLiteConfiguration(path: directory.file(name), busyTimeout: .milliseconds(50))
    }

    private func sqlite(_ name: String) -> any DatabaseLocation { file(name) }

    private var postgres: any DatabaseLocation { postgres(url) }

    private func postgres(_ url: String) -> any DatabaseLocation {
        PostgresConfiguration(url: Secret(url), poolSize: 2)
    }

    private func open(_ place: any DatabaseLocation) throws -> SQLStore { try place.open(observer: nil) }

    /// Makes a file with rows in every table.
    private func make(_ name: String, rows: Int) async throws {
        try await open(sqlite(name)).close()
        try SampleRows.fill(DatabaseProbe(path: directory.file(name)), rows: rows)
    }

    /// The whole content of a file, by table, as text: the type and the bytes of each value.
    private func content(_ name: String) throws -> [String: [String]] {
        let database = DatabaseProbe(path: directory.file(name))
        var content: [String: [String]] = [:]
        for shape in try TableShape.all() {
            let columns = shape.columns.map { "iif(\($0.name) IS NULL, 'NULL', hex(\($0.name)) || '\($0.kind)')" }
            content[shape.name] = try database.texts(
                "SELECT \(columns.joined(separator: " || '|' || ")) FROM \(shape.name) ORDER BY 1")
        }
        content["sqlite_sequence"] = try database.texts("SELECT name || seq FROM sqlite_sequence ORDER BY name")
        return content
    }

    /// The same for PostgreSQL, read with psql.
    private func contentOfPostgres() throws -> [String: [String]] {
        var content: [String: [String]] = [:]
        for shape in try TableShape.all() {
            let columns = shape.columns.map { column in
                let hex =
                    switch column.kind {
                    case .integer: "encode(\(column.name)::text::bytea, 'hex')"
                    case .text: "encode(convert_to(\(column.name), 'UTF8'), 'hex')"
                    case .blob: "encode(\(column.name), 'hex')"
                    }
                return "coalesce(upper(\(hex)) || '\(column.kind)', 'NULL')"
            }
            let rows = "SELECT \(columns.joined(separator: " || '|' || ")) FROM \(shape.name)"
            content[shape.name] = try cluster.execute(rows, on: url)
                .split(separator: "\n").map(String.init)
        }
        return content
    }

    @Test("Every value of every table survives a copy to PostgreSQL and back, and the numbering continues")
    func everything() async throws {
        try await make("first.db", rows: 510)
        try DatabaseProbe(path: directory.file("first.db")).change(
            """
            INSERT INTO users (id, public_id, created_at) VALUES (2305843009213693952, 'x', 1);
            DELETE FROM users WHERE public_id = 'x'
            """)
        let before = try content("first.db")
        let transfer = try DatabaseTransfer.run(from: sqlite("first.db"), to: postgres)
        let shapes = try TableShape.all()
        #expect(transfer.tables.map(\.name) == shapes.map(\.name))
        #expect(transfer.tables.allSatisfy { $0.rows == 510 })

        let there = try contentOfPostgres()
        for shape in shapes {
            let expected = try #require(before[shape.name])
            #expect(there[shape.name]?.count == 510)
            let kept = try #require(there[shape.name])
            #expect(kept.sorted() == expected.sorted(), "\(shape.name)")
        }
        #expect(try content("first.db") == before)

        _ = try DatabaseTransfer.run(from: postgres, to: sqlite("second.db"))
        let after = try content("second.db")
        for (table, rows) in before { #expect(after[table] == rows, "\(table)") }

        for place in [postgres, sqlite("second.db")] {
            let store = try open(place)
            let newcomer = try #require(try await store.signIn(Records.signIn()))
            #expect(newcomer.isNew)
            #expect(newcomer.user.id.number == 2_305_843_009_213_693_953)
            try await store.close()
        }
    }

    @Test("Databases of the same kind are copied, too, and one without rows")
    func sameKind() async throws {
        try await make("first.db", rows: 3)
        _ = try DatabaseTransfer.run(from: sqlite("first.db"), to: sqlite("second.db"))
        #expect(try content("second.db") == content("first.db"))
        try await open(sqlite("empty.db")).close()
        let other = try cluster.makeSchema()
        #expect(
            try DatabaseTransfer.run(from: sqlite("empty.db"), to: postgres).tables.allSatisfy { $0.rows == 0 })
        _ = try DatabaseTransfer.run(from: sqlite("first.db"), to: postgres)
        _ = try DatabaseTransfer.run(from: postgres, to: postgres(other))
        _ = try DatabaseTransfer.run(from: postgres(other), to: sqlite("third.db"))
        #expect(try content("third.db") == content("first.db"))
    }

    private func refusal(
        _ source: any DatabaseLocation, _ target: any DatabaseLocation,
        onProgress: (DatabaseTransfer.Progress) -> Void = { _ in },
        isCancelled: () -> Bool = { false }
    ) throws -> String {
        try #require(throws: StorageError.self) {
            try DatabaseTransfer.run(from: source, to: target, onProgress: onProgress, isCancelled: isCancelled)
        }.reason
    }

    @Test("A target with rows is refused and not changed", arguments: [true, false])
    func notEmpty(isPostgres: Bool) async throws {
        try await make("first.db", rows: 2)
        let target = isPostgres ? postgres : sqlite("second.db")
        let session = try Records.session()
        let store = try open(target)
        _ = try await store.signIn(Records.signIn(session: session))
        try await store.close()
        let reason = try refusal(sqlite("first.db"), target)
        #expect(reason.contains("not empty: there are rows in users, identities, sessions"), "\(reason)")
        let again = try open(target)
        #expect(try await again.session(session.tokenHash, at: Records.now) != nil)
        try await again.close()
    }

    @Test("Databases of another version, and missing ones, are refused with advice")
    func versions() async throws {
        try await make("first.db", rows: 2)
        try await open(sqlite("empty.db")).close()
        try directory.write("no database, whatever its name says", as: "text.db")
        for (name, change) in [
            ("old.db", Version35.older),
            ("new.db", "INSERT INTO grdb_migrations VALUES ('99 of the future')"),
        ] {
            let connection = try Storage.SQLiteConnection(directory.file(name))
            try Storage.Schema.migrate(connection)
            try connection.execute(change)
            try connection.close()
        }
        for (source, target, words) in [
            ("old.db", "empty.db", "the source: "),
            ("first.db", "old.db", "the target: "),
            ("old.db", "empty.db", "commit fd443933"), ("first.db", "old.db", "commit fd443933"),
            ("new.db", "empty.db", "the source: "), ("new.db", "empty.db", "newer version"),
            ("first.db", "new.db", "the target: "), ("first.db", "new.db", "newer version"),
            ("none.db", "empty.db", "the source has no tables of Latchkey"),
            ("text.db", "empty.db", "the source: "), ("first.db", "text.db", "the target: "),
            ("first.db", "first.db", "the same database"),
        ] {
            let reason = try refusal(sqlite(source), sqlite(target))
            #expect(reason.contains(words), "\(source), \(target): \(reason)")
        }
        try await open(postgres).close()
        try cluster.execute(
            "DELETE FROM latchkey_migrations; "
                + "INSERT INTO latchkey_migrations VALUES ('capsules of failed sign-ins')", on: url)
        let older = try refusal(sqlite("first.db"), postgres)
        #expect(older.contains("the target: ") && older.contains("commit fd443933"), "\(older)")
        try cluster.execute("INSERT INTO latchkey_migrations VALUES ('99 of the future')", on: url)
        let newer = try refusal(postgres, sqlite("third.db"))
        #expect(newer.contains("newer version"), "\(newer)")
    }

    @Test(
        "An interrupted copy leaves the target empty and reports it; the next copy is complete",
        arguments: [true, false])
    func interrupted(isPostgres: Bool) async throws {
        try await make("first.db", rows: 30)
        let target = isPostgres ? postgres : sqlite("second.db")
        var steps = 0
        let reason = try refusal(
            sqlite("first.db"), target,
            isCancelled: {
                steps += 1
                return steps > 20
            })
        #expect(reason == "nothing was copied: it was interrupted")
        let store = try open(target)
        #expect(try await store.writes.submit { try $0.number("SELECT count(*) FROM users") } == 0)
        try await store.close()
        let whole = try DatabaseTransfer.run(from: sqlite("first.db"), to: target)
        #expect(whole.tables.allSatisfy { $0.rows == 30 })
    }

    @Test("A lost connection leaves the target empty")
    func lost() async throws {
        try await make("first.db", rows: 30)
        let end = """
            SELECT pg_terminate_backend(pid) FROM pg_locks \
            WHERE relation = 'users'::regclass AND mode = 'ExclusiveLock'
            """
        let reason = try refusal(
            sqlite("first.db"), postgres,
            onProgress: { progress in
                guard progress.table == "sessions", progress.rows > 0, !progress.isChecking else { return }
                _ = try? cluster.execute(end, on: url)
            })
        #expect(reason.hasPrefix("nothing was copied: the table sessions: "), "\(reason)")
        #expect(try cluster.execute("SELECT count(*) FROM users", on: url) == "0")
        let whole = try DatabaseTransfer.run(from: sqlite("first.db"), to: postgres)
        #expect(whole.tables.allSatisfy { $0.rows == 30 })
    }

    @Test("An unconfirmed commit is reported as an unknown outcome")
    func unknown() async throws {
        try await make("first.db", rows: 2)
        try await open(postgres).close()
        try cluster.execute(
            """
            CREATE FUNCTION hang_up() RETURNS trigger LANGUAGE plpgsql AS
            $$BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END$$;
            CREATE CONSTRAINT TRIGGER hang_up AFTER INSERT ON logout_tokens DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION hang_up();
            """, on: url)
        let reason = try refusal(sqlite("first.db"), postgres)
        #expect(reason.contains("it is unknown whether"), "\(reason)")
        #expect(!reason.contains("nothing was copied"), "\(reason)")
    }

    @Test("Rows that the target changed are detected, and nothing is stored")
    func changed() async throws {
        try await make("first.db", rows: 2)
        try await open(postgres).close()
        try cluster.execute(
            """
            CREATE FUNCTION alter_name() RETURNS trigger LANGUAGE plpgsql AS
            $$BEGIN NEW.created_at := NEW.created_at + 1; RETURN NEW; END$$;
            CREATE TRIGGER alter_name BEFORE INSERT ON identities FOR EACH ROW EXECUTE FUNCTION alter_name();
            """, on: url)
        let reason = try refusal(sqlite("first.db"), postgres)
        #expect(reason.contains("the table identities: the rows stored in the target differ"), "\(reason)")
        #expect(try cluster.execute("SELECT count(*) FROM users", on: url) == "0")
    }

    @Test(
        "A text that is not UTF-8 or has a NUL is refused with its column and without its content",
        arguments: ["6d65ff", "6d650065"])
    func unreadableText(bytes: String) async throws {
        try await make("first.db", rows: 2)
        try DatabaseProbe(path: directory.file("first.db")).change(
            "UPDATE users SET email = CAST(x'\(bytes)' AS TEXT) WHERE id = 1")
        let reason = try refusal(sqlite("first.db"), postgres)
        #expect(reason.contains("a text in the column email of the table users is not UTF-8"), "\(reason)")
        #expect(try cluster.execute("SELECT count(*) FROM users", on: url) == "0")
    }

    @Test("A database in use by a server is refused on either side, until the server has stopped")
    func inUse() async throws {
        try await make("first.db", rows: 2)
        let store = try open(postgres)
        let hasBegun = Flag()
        store.watch { _ in hasBegun.raise() }
        let presences = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = (\(Self.place))"
        try await until { try cluster.execute(presences, on: url) == "1" }
        let target = try refusal(sqlite("first.db"), postgres)
        #expect(target.contains("servers have the target open; stop all"), "\(target)")
        let source = try refusal(postgres, sqlite("second.db"))
        #expect(source.contains("servers have the source open; stop all"), "\(source)")
        try await store.close()
        try await until { try cluster.execute(presences, on: url) == "0" }
        _ = try DatabaseTransfer.run(from: sqlite("first.db"), to: postgres)
    }

    private static let place = "SELECT hashtext(current_schema())::bigint & 4294967295"

    @Test("No process writes to the source during a copy", arguments: [true, false])
    func sourceStandsStill(isPostgres: Bool) async throws {
        try await make("first.db", rows: 2)
        var source = sqlite("first.db")
        if isPostgres {
            _ = try DatabaseTransfer.run(from: source, to: postgres)
            source = postgres
        }
        var attempts = 0
        let (file, url, cluster) = (directory.file("first.db"), url, cluster)
        _ = try DatabaseTransfer.run(
            from: source, to: sqlite("second.db"),
            onProgress: { progress in
                guard progress.table == "users", attempts == 0 else { return }
                attempts += 1
                let statement = "UPDATE users SET name = 'changed meanwhile'"
                if isPostgres {
                    #expect(throws: PostgresCluster.Failure.self) {
                        try cluster.execute("SET lock_timeout = 50; \(statement)", on: url)
                    }
                } else {
                    #expect(throws: DatabaseProbe.Refusal.self) {
                        try DatabaseProbe(path: file).connect(waiting: false).execute(statement)
                    }
                }
            })
        #expect(attempts == 1)
    }
}
