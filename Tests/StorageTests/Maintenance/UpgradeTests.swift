import Primitives
import StorageModel
import TestSupport
import Testing

@testable import Storage

/// Databases of every former version: the migrations up to each one, which are never changed.
@Suite("Upgrades")
struct UpgradeTests {
    /// The numbers of migrations that former versions have done.
    static let versions = Array(1..<Schema.migrations.count)

    enum Engine: String, CaseIterable, CustomTestStringConvertible {
        case sqlite = "SQLite"
        case postgres = "PostgreSQL"

        var testDescription: String { rawValue }

        func literal(_ hash: TokenHash) -> String {
            let digits = hash.withUnsafeBytes { $0.hexadecimal }
            return self == .sqlite ? "x'\(digits)'" : "'\\x\(digits)'"
        }
    }

    /// A database of a former version.
    private struct Database: Sendable {
        let engine: Engine
        let directory: TemporaryDirectory
        let url: String

        var path: String { directory.file("store.db") }

        init(_ engine: Engine, version: Int) throws {
            self.engine = engine
            directory = try TemporaryDirectory()
            switch engine {
            case .sqlite:
                url = ""
                let connection = try Storage.SQLiteConnection(path)
                try connection.execute("PRAGMA journal_mode = WAL")
                try Schema.migrate(connection, upTo: Schema.migrations[version - 1].name)
                try connection.close()
            case .postgres:
                url = try PostgresCluster.shared().makeSchema()
                var sql = """
                    CREATE TABLE latchkey_migrations (
                        name text COLLATE "C" PRIMARY KEY, done_at timestamptz NOT NULL DEFAULT now());
                    """
                for migration in Schema.migrations.prefix(version) {
                    sql += migration.postgresStatements.joined(separator: ";\n")
                    sql += ";\nINSERT INTO latchkey_migrations (name) VALUES ('\(migration.name)');\n"
                }
                try execute(sql)
            }
        }

        func execute(_ sql: String) throws {
            switch engine {
            case .sqlite: try DatabaseProbe(path: path).change(sql)
            case .postgres: try PostgresCluster.shared().execute(sql, on: url)
            }
        }

        func shapes() throws -> [TableShape] { try TableShape.all(in: Storage.SQLiteConnection(path)) }

        func open() throws -> SQLStore {
            switch engine {
            case .sqlite: try SQLStore(configuration: SQLiteConfiguration(path: path, busyTimeout: .seconds(60)))
            case .postgres: try SQLStore(configuration: PostgresConfiguration(url: Secret(url), poolSize: 4))
            }
        }

        /// Writes a user with an identity and a session, as the first version did.
        func signIn(_ identity: Identity, _ session: NewSession) throws {
            let columns = "token_hash, refresh_hash, id, user_id, client_id, created_at, expires_at, refresh_expires_at"
            let publicID = identity.subject
            try execute(
                """
                INSERT INTO users (public_id, created_at) VALUES ('\(publicID)', 1);
                INSERT INTO identities (issuer, subject, user_id, created_at)
                SELECT '\(identity.issuer)', '\(identity.subject)', id, 1 FROM users WHERE public_id = '\(publicID)';
                INSERT INTO sessions (\(columns)) SELECT \(engine.literal(session.tokenHash)),
                \(engine.literal(session.refreshTokenHash)), '\(session.id)', id, '\(session.clientID)', 1,
                \(session.expiresAt.secondsSinceEpoch), \(session.refreshExpiresAt.secondsSinceEpoch)
                FROM users WHERE public_id = '\(publicID)';
                """)
        }
    }

    /// Expects that a session is served like one of this version.
    private func expectService(_ session: NewSession, of identity: Identity, in store: SQLStore) async throws {
        let found = try #require(try await store.session(session.tokenHash, at: Records.now))
        let again = try #require(try await store.signIn(Records.signIn(identity)))
        #expect(again.user.id == found.user.id && !again.isNew)
        let rotation = try Records.rotation(of: session.refreshTokenHash, to: Records.session())
        #expect(try await store.rotate(rotation))
        let rotated = try #require(try await store.session(rotation.successor.tokenHash, at: Records.now))
        #expect(rotated.session.id == session.id)
        #expect(try await store.revokeSession(id: session.id, of: found.user.id, in: nil, recording: nil) == .revoked)
        #expect(try await store.session(rotation.successor.tokenHash, at: Records.now) == nil)
    }

    @Test("What a former version stored is served after the upgrade", arguments: Engine.allCases, versions)
    func served(engine: Engine, version: Int) async throws {
        let database = try Database(engine, version: version)
        let (identity, session) = (Records.identity(), try Records.session())
        try database.signIn(identity, session)
        let store = try database.open()
        try await expectService(session, of: identity, in: store)
        try await store.close()
        let next = try database.open()
        try await next.check()
        try await next.close()
    }

    private func counts(_ database: DatabaseProbe, _ shapes: [TableShape]) throws -> [String: Int64] {
        try Dictionary(
            uniqueKeysWithValues: shapes.map { shape in
                (shape.name, try database.number("SELECT count(*) FROM \(shape.name)"))
            })
    }

    @Test("An upgrade keeps every row of every table", arguments: versions)
    func kept(version: Int) async throws {
        let database = try Database(.sqlite, version: version)
        let shapes = try database.shapes()
        let probe = DatabaseProbe(path: database.path)
        try SampleRows.fill(probe, rows: 6, shapes: shapes)
        let before = try counts(probe, shapes)
        try await database.open().close()
        #expect(try counts(probe, shapes) == before)
        #expect(before.values.allSatisfy { $0 == 6 })
    }

    /// While instances of both versions run, during a rolling upgrade.
    @Test("What a former version writes fits into the tables of this version", arguments: versions)
    func written(version: Int) async throws {
        let (former, database) = (
            try Database(.sqlite, version: version), try Database(.sqlite, version: Schema.migrations.count)
        )
        let shapes = try former.shapes()
        try SampleRows.fill(DatabaseProbe(path: database.path), rows: 6, shapes: shapes)
    }

    @Test("What the first version writes beside this one is served", arguments: Engine.allCases)
    func writtenBeside(engine: Engine) async throws {
        let database = try Database(engine, version: 1)
        let store = try database.open()
        let (identity, session) = (Records.identity(), try Records.session())
        try database.signIn(identity, session)
        try await expectService(session, of: identity, in: store)
        try await store.close()
    }

    @Test(
        "Instances that start together on a database of a former version serve at once, and migrate it once",
        arguments: Engine.allCases, [1, versions.count / 2, versions.count])
    func together(engine: Engine, version: Int) async throws {
        let database = try Database(engine, version: version)
        let known = try (0..<4).map { _ in (identity: Records.identity(), session: try Records.session()) }
        for one in known { try database.signIn(one.identity, one.session) }
        let stores = try await withThrowingTaskGroup(of: SQLStore.self) { group in
            for number in known.indices {
                group.addTask {
                    let store = try database.open()
                    for _ in 0..<20 { #expect(try await store.signIn(Records.signIn())?.isNew == true) }
                    try await expectService(known[number].session, of: known[number].identity, in: store)
                    return store
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for store in stores { try await store.close() }
    }

    private static let count = "SELECT count(*) FROM sessions"

    /// The running instance stands for the older version: the step of a newer one is made up.
    @Test("An instance serves under load while a newer version migrates its database, and is refused when it restarts")
    func rolling() async throws {
        let database = try Database(.postgres, version: Schema.migrations.count)
        let stores = try [database.open(), database.open()]
        let session = try Records.session()
        _ = try await stores[0].signIn(Records.signIn(session: session))
        let isOver = SharedFlag()
        let served = { try #require(try Int(PostgresCluster.shared().execute(Self.count, on: database.url))) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                let store = stores[number % stores.count]
                group.addTask {
                    while !isOver.isSet {
                        let own = try Records.session()
                        let user = try #require(try await store.signIn(Records.signIn(session: own))).user.id
                        let rotation = try Records.rotation(of: own.refreshTokenHash, to: Records.session())
                        #expect(try await store.rotate(rotation))
                        #expect(try await store.session(rotation.successor.tokenHash, at: Records.now)?.user.id == user)
                    }
                }
            }
            defer { isOver.set() }
            try await until { try served() > 20 }
            try migrateAsLaterVersion(database)
            let before = try served()
            try await until { try served() > before + 20 }
            isOver.set()
            try await group.waitForAll()
        }
        #expect(try await stores[1].session(session.tokenHash, at: Records.now) != nil)
        let refusal = #expect(throws: StorageError.self) { try database.open() }
        #expect(refusal?.reason.contains("newer version of Latchkey; run that version") == true)
        for store in stores { try await store.close() }
    }

    /// Does what the start of a later version does, also after deadlocks.
    private func migrateAsLaterVersion(_ database: Database) throws {
        var tries = 0
        while true {
            do {
                return try database.execute(
                    """
                    SELECT pg_advisory_xact_lock(5503808189925909881);
                    ALTER TABLE users ADD COLUMN future text;
                    ALTER TABLE sessions ADD COLUMN future bigint NOT NULL DEFAULT 7;
                    ALTER TABLE identities ADD COLUMN future bytea;
                    CREATE TABLE futures (
                        id bigint PRIMARY KEY, user_id bigint REFERENCES users (id) ON DELETE CASCADE);
                    CREATE INDEX sessions_of_the_future ON sessions (client_id);
                    INSERT INTO latchkey_migrations (name) VALUES ('of the future');
                    """)
            } catch let failure as PostgresCluster.Failure
                where failure.description.contains("deadlock") && tries < 20
            {
                tries += 1
            }
        }
    }

    @Test("A migration that the server undoes because of a deadlock is tried again")
    func deadlocked() async throws {
        // A server of its own, because event triggers concern all schemas.
        let cluster = try PostgresCluster()
        let url = try cluster.makeSchema()
        try cluster.execute(
            """
            CREATE SEQUENCE public.tries;
            CREATE FUNCTION public.fail_twice() RETURNS event_trigger LANGUAGE plpgsql AS
            $$BEGIN
                IF nextval('public.tries') <= 2
                THEN RAISE EXCEPTION 'again' USING ERRCODE = 'deadlock_detected'; END IF;
            END$$;
            CREATE EVENT TRIGGER fail_twice ON ddl_command_start EXECUTE FUNCTION public.fail_twice();
            """)
        let store = try SQLStore(configuration: PostgresConfiguration(url: Secret(url), poolSize: 2))
        #expect(try await store.signIn(Records.signIn())?.isNew == true)
        #expect(try cluster.execute("SELECT last_value > 2 FROM public.tries") == "t")
        try await store.close()
    }
}
