import Primitives
import StorageModel
import TestSupport
import Testing

@testable import PostgreSQL
@testable import Storage

/// Databases of the former version 35, and the migrations of later versions.
@Suite("Upgrades")
struct UpgradeTests {
    /// The next migration, made up.
    private static let next = Migration(
        "\(Schema.version + 1) the future",
        """
        CREATE TABLE futures (
            serial INTEGER PRIMARY KEY,
            user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE
        ) STRICT;
        ALTER TABLE sessions ADD COLUMN future INTEGER NOT NULL DEFAULT 7
        """)

    enum Engine: String, CaseIterable, CustomTestStringConvertible {
        case sqlite = "SQLite"
        case postgres = "PostgreSQL"

        var testDescription: String { rawValue }

        func literal(_ hash: TokenHash) -> String {
            let digits = hash.withUnsafeBytes { $0.hexadecimal }
            return self == .sqlite ? "x'\(digits)'" : "'\\x\(digits)'"
        }
    }

    /// A database of version 35.
    private struct Database: Sendable {
        let engine: Engine
        let directory: TemporaryDirectory
        let url: String

        var path: String { directory.file("store.db") }

        /// - Parameter count: How many of its migrations the database has recorded; nil for an empty database.
        init(_ engine: Engine, first count: Int? = Version35.migrations.count) throws {
            self.engine = engine
            directory = try TemporaryDirectory()
            switch engine {
            case .sqlite:
                url = ""
                guard let count else { return }
                try execute(Version35.sqlite)
                try execute(
                    "DELETE FROM grdb_migrations; \(Version35.record(first: count, in: "grdb_migrations"))")
            case .postgres:
                url = try PostgresCluster.shared().makeSchema()
                guard let count else { return }
                try execute(
                    """
                    CREATE TABLE latchkey_migrations (
                        name text COLLATE "C" PRIMARY KEY, done_at timestamptz NOT NULL DEFAULT now());
                    \(Schema.baseline.postgresStatements.joined(separator: ";\n"));
                    \(Version35.record(first: count, in: "latchkey_migrations (name)"))
                    """)
            }
        }

        func execute(_ sql: String) throws {
            switch engine {
            case .sqlite: try DatabaseProbe(path: path).change(sql)
            case .postgres: try PostgresCluster.shared().execute(sql, on: url)
            }
        }

        func shapes() throws -> [TableShape] { try TableShape.all(in: Storage.SQLiteConnection(path)) }

        func texts(_ sql: String) throws -> [String] {
            switch engine {
            case .sqlite: try DatabaseProbe(path: path).texts(sql)
            case .postgres: try PostgresCluster.shared().execute(sql, on: url).split(separator: "\n").map(String.init)
            }
        }

        /// The recorded migrations.
        func steps() throws -> [String] {
            try texts(
                engine == .sqlite
                    ? "SELECT identifier FROM grdb_migrations ORDER BY 1"
                    : "SELECT name FROM latchkey_migrations ORDER BY 1")
        }

        /// Does what the start of a version with further migrations does.
        func migrate(with migrations: [Migration]) throws {
            switch engine {
            case .sqlite:
                let connection = try Storage.SQLiteConnection(path, busyMilliseconds: 60_000)
                try Schema.migrate(connection, with: migrations)
                try connection.close()
            case .postgres:
                try PostgresSchema.bringUpToDate(
                    PostgresConfiguration(url: Secret(url), poolSize: 1), with: migrations)
            }
        }

        func open() throws -> SQLStore {
            switch engine {
            case .sqlite: try SQLStore(configuration: SQLiteConfiguration(path: path, busyTimeout: .seconds(60)))
            case .postgres: try PostgresConfiguration(url: Secret(url), poolSize: 4).open(observer: nil)
            }
        }

        /// Writes a user with an identity and a session.
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
        let rotated = try #require(try await store.session(rotation.tokenHash, at: Records.now))
        #expect(rotated.session.id == session.id)
        #expect(try await store.revokeSession(id: session.id, of: found.user.id, in: nil, recording: nil) == .revoked)
        #expect(try await store.session(rotation.tokenHash, at: Records.now) == nil)
    }

    @Test("A database of version 35 opens, and what it has stored is served", arguments: Engine.allCases)
    func served(engine: Engine) async throws {
        let database = try Database(engine)
        let (identity, session) = (Records.identity(), try Records.session())
        try database.signIn(identity, session)
        let store = try database.open()
        try await expectService(session, of: identity, in: store)
        try await store.close()
        #expect(try Set(database.steps()) == Set(Version35.migrations + Schema.migrations.dropFirst().map(\.name)))
    }

    @Test("A nonce that version 35 issued is good for one sign-in", arguments: Engine.allCases)
    func issuedNonce(engine: Engine) async throws {
        let database = try Database(engine)
        let nonce = TokenHash(sha256Of: "nonce")
        let end = Records.now.secondsSinceEpoch + 1
        try database.execute("INSERT INTO sign_in_attempts VALUES (\(engine.literal(nonce)), 'acme', \(end))")
        let store = try database.open()
        for (provider, isGood) in [("other", false), ("acme", true), ("acme", false)] {
            let content = try await store.takeOneTimeRecord(nonce, purpose: "nonce for \(provider)", at: Records.now)
            #expect(content == (isGood ? [] : nil), "\(provider)")
        }
        try await store.close()
    }

    private func counts(_ database: DatabaseProbe, _ shapes: [TableShape]) throws -> [String: Int64] {
        try Dictionary(
            uniqueKeysWithValues: shapes.map { shape in
                (shape.name, try database.number("SELECT count(*) FROM \(shape.name)"))
            })
    }

    @Test(
        "A database of version 35 keeps every row, but of tables that are dropped, and has all columns of a new one")
    func kept() async throws {
        let database = try Database(.sqlite)
        let shapes = try database.shapes()
        let probe = DatabaseProbe(path: database.path)
        try SampleRows.fill(probe, rows: 6, shapes: shapes)
        try await database.open().close()
        // The table of backchannel authentications is made anew: its rows live for minutes. Issued nonces are moved,
        // and changes of accounts are counted anew.
        let dropped = ["async_sign_ins", "sign_in_attempts", "account_changes"]
        for (name, count) in try counts(probe, shapes.filter { !dropped.contains($0.name) }) {
            #expect(count == (name == "sealed_notes" ? 12 : 6), "\(name)")
        }
        #expect(try Set(database.shapes()) == Set(TableShape.all()))
    }

    @Test(
        "A database of an older version is refused with the commit that migrates it, and not changed",
        arguments: Engine.allCases, [1, 20, 34])
    func older(engine: Engine, count: Int) async throws {
        let database = try Database(engine, first: count)
        let before = try database.steps()
        let refusal = try #require(throws: StorageError.self) { try database.open() }
        #expect(refusal.code == .corrupt)
        #expect(
            refusal.reason.contains(
                "the database has the tables of an older version of Latchkey; start the version of commit fd443933 "
                    + "once, which brings them up to date"), "\(refusal.reason)")
        #expect(try database.steps() == before)
    }

    @Test(
        "A database with a migration that this version does not know is refused as newer", arguments: Engine.allCases,
        [(true, "of nobody"), (true, "36 of the future"), (false, "of nobody"), (false, "99999999999999999999 of all")])
    func unknown(engine: Engine, row: (isNew: Bool, name: String)) async throws {
        let database = try Database(engine, first: row.isNew ? nil : Version35.migrations.count)
        try await database.open().close()
        let table = engine == .sqlite ? "grdb_migrations" : "latchkey_migrations (name)"
        try database.execute("INSERT INTO \(table) VALUES ('\(row.name)')")
        let refusal = try #require(throws: StorageError.self) { try database.open() }
        #expect(refusal.reason.contains("newer version of Latchkey; run that version"))
    }

    @Test(
        "A further migration keeps every row, and the version before it refuses the database",
        arguments: Engine.allCases, [true, false])
    func migrated(engine: Engine, isNew: Bool) async throws {
        let database = try Database(engine, first: isNew ? nil : Version35.migrations.count)
        let store = try database.open()
        let session = try Records.session()
        _ = try await store.signIn(Records.signIn(session: session))
        try await store.close()
        let before = try database.steps()
        #expect(before.contains(Schema.baseline.name) == isNew)
        try database.migrate(with: Schema.migrations + [Self.next])
        #expect(try database.steps().count == before.count + 1)
        #expect(try database.texts("SELECT CAST(future AS text) FROM sessions") == ["7"])
        let refusal = try #require(throws: StorageError.self) { try database.open() }
        #expect(refusal.reason.contains("newer version of Latchkey; run that version"))
    }

    @Test("Instances that start together migrate a database once", arguments: Engine.allCases)
    func together(engine: Engine) async throws {
        let database = try Database(engine)
        try database.signIn(Records.identity(), Records.session())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { try database.migrate(with: Schema.migrations + [Self.next]) }
            }
            try await group.waitForAll()
        }
        #expect(try database.steps().count == Version35.migrations.count + Schema.migrations.count)
        #expect(try database.texts("SELECT CAST(future AS text) FROM sessions") == ["7"])
    }

    private static let count = "SELECT count(*) FROM sessions"

    /// The running instance stands for the older version: the step of a newer one is made up.
    @Test("An instance serves under load while a newer version migrates its database, and is refused when it restarts")
    func rolling() async throws {
        let database = try Database(.postgres)
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
                        #expect(try await store.session(rotation.tokenHash, at: Records.now)?.user.id == user)
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
                    INSERT INTO latchkey_migrations (name) VALUES ('\(Self.next.name)');
                    """)
            } catch let failure as PostgresCluster.Failure
                where failure.description.contains("deadlock") && tries < 20
            {
                tries += 1
            }
        }
    }

    @Test("While a migration waits for a transaction that has read a table, others can read the table")
    func givesWay() async throws {
        let database = try Database(.postgres)
        let cluster = try PostgresCluster.shared()
        let holder = PostgresConnection(
            PostgresConfiguration(url: Secret(database.url), statementTimeout: .seconds(120)), gate: ReconnectGate())
        defer { holder.close() }
        try holder.connect()
        try holder.script("BEGIN; SELECT count(*) FROM users")
        let migration = Task.detached { try database.migrate(with: Schema.migrations) }
        let waiting = "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'users'::regclass AND NOT granted)"
        try await until { try cluster.execute(waiting, on: database.url) == "t" }
        #expect(try cluster.execute("SELECT count(*) FROM users", on: database.url) == "0")
        // Fails if the server has ended the holder's transaction before.
        try holder.script("COMMIT")
        try await migration.value
        #expect(try database.steps().contains("37 former tables"))
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
        let store = try PostgresConfiguration(url: Secret(url), poolSize: 2).open(observer: nil)
        #expect(try await store.signIn(Records.signIn())?.isNew == true)
        #expect(try cluster.execute("SELECT last_value > 2 FROM public.tries") == "t")
        try await store.close()
    }
}
