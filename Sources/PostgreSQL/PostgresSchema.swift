import CLatchkeyPostgres
import Glibc
import Storage
import StorageModel

/// The tables on PostgreSQL: the same migrations under the same names as on SQLite (``Schema``).
enum PostgresSchema {
    /// Runs the missing migrations and makes the missing tables of features, in one transaction. Processes that start
    /// together run them one after the other, and later ones find nothing to do. Servers of the version before keep
    /// running: if the migration and their transactions wait for each other's locks, and the server undoes the
    /// migration, it is tried again. So it is if it waits for a lock for a second, because all later transactions that
    /// need the table wait behind it.
    static func bringUpToDate(
        _ configuration: PostgresConfiguration, with migrations: [Migration] = Schema.migrations
    ) throws(StorageError) {
        try withConnection(configuration) { connection in
            var collisions = 0
            while try !missing(connection, of: migrations).isEmpty
                || !missing(configuration.featureTables, connection).isEmpty
            {
                do {
                    return try migrate(connection, with: migrations, configuration.featureTables)
                } catch let error as PostgresError
                    where (error.isCollision || error.isLockTimeout) && collisions < 40
                {
                    collisions += 1
                    connection.rollBack()
                    // Those that waited behind the migration run now.
                    usleep(500_000)
                }
            }
        }
    }

    private static func migrate(
        _ connection: PostgresConnection, with migrations: [Migration], _ tables: [FeatureTable]
    ) throws {
        try connection.begin()
        // The letters of "Latchkey".
        _ = try connection.run("SELECT pg_advisory_xact_lock(5503808189925909881)")
        // After the lock of migrations: other processes may hold that one for longer.
        try connection.script("SET LOCAL lock_timeout = '1s'")
        try connection.script(
            """
            CREATE TABLE IF NOT EXISTS latchkey_migrations (
                name text COLLATE "C" PRIMARY KEY,
                done_at timestamptz NOT NULL DEFAULT now()
            )
            """)
        for migration in try missing(connection, of: migrations) {
            for sql in migration.postgresStatements { try connection.script(sql) }
            _ = try connection.run(
                "INSERT INTO latchkey_migrations (name) VALUES (?)", PostgresParameters(migration.name))
        }
        for table in try missing(tables, connection) {
            try connection.script(PostgresStatementText.translate(schema: table.statements))
        }
        guard try connection.commit() else {
            throw StorageError(.unavailable, reason: "the server rolled the migration of the tables back")
        }
    }

    /// Opens a connection for `body`, and waits up to a minute for other processes.
    static func withConnection<Value>(
        _ configuration: PostgresConfiguration, _ body: (PostgresConnection) throws -> Value
    ) throws(StorageError) -> Value {
        var patient = configuration
        patient.statementTimeout = max(.seconds(60), configuration.statementTimeout)
        let connection = PostgresConnection(patient, gate: ReconnectGate())
        defer { connection.close() }
        do {
            try connection.connect()
            try connection.examineServer()
            try connection.examinePooler()
            return try body(connection)
        } catch {
            throw StorageError(error)
        }
    }

    /// The missing migrations. Refuses a database of another version that cannot be migrated, and one that another
    /// program made. Changes nothing.
    static func missing(
        _ connection: PostgresConnection, of migrations: [Migration] = Schema.migrations
    ) throws -> [Migration] {
        // In this order, because another process may be making both tables at this moment.
        let holdsUsers = try holdsTable("users", connection)
        guard try holdsTable("latchkey_migrations", connection) else {
            guard !holdsUsers else {
                throw StorageError(
                    .corrupt, reason: "the database is another program's: it has a table users, but none of Latchkey's")
            }
            return migrations
        }
        let result = try connection.run("SELECT name FROM latchkey_migrations")
        let done = Set((0..<result.rowCount).map { String(decoding: result.bytes($0, 0), as: UTF8.self) })
        return try Schema.missing(after: done, of: migrations)
    }

    private static func missing(_ tables: [FeatureTable], _ connection: PostgresConnection) throws -> [FeatureTable] {
        try tables.filter { try !holdsTable($0.name, connection) }
    }

    private static func holdsTable(_ name: String, _ connection: PostgresConnection) throws -> Bool {
        let result = try connection.run("SELECT to_regclass(?)::text", PostgresParameters(name))
        return !result.isNull(0, 0)
    }
}

extension PostgresConnection {
    /// Refuses a server that the tables and statements do not support.
    fileprivate func examineServer() throws {
        guard serverVersion >= 130_000 else {
            throw StorageError(.unavailable, reason: "PostgreSQL 13 or later is needed, and the server is older")
        }
        guard try text("SHOW server_encoding") == "UTF8" else {
            throw StorageError(
                .unavailable, reason: "the database is not in UTF-8; make one with CREATE DATABASE … ENCODING 'UTF8'")
        }
    }

    /// Refuses a pooler that leads to another database, or that the configuration does not name as one.
    fileprivate func examinePooler() throws {
        guard !isPooled else { return }
        if configuration.poolerURL != nil {
            let pooled = PostgresConnection(configuration.forCalls, gate: ReconnectGate())
            defer { pooled.close() }
            try pooled.connect()
            // Of the same schema of the same running server.
            let place = """
                SELECT current_database() || '.' || current_schema() || ' of the server that was started at ' \
                || (pg_postmaster_start_time() AT TIME ZONE 'UTC')::text
                """
            let (here, there) = (try text(place), try pooled.text(place))
            guard here == there else {
                throw StorageError(
                    .unavailable, reason: "database.url leads to \(here), and database.pooler_url to \(there)")
            }
        }
        guard try isOfTransactionPooler() else { return }
        throw StorageError(
            .unavailable,
            reason: """
                the database's URL is that of a pooler in transaction mode; use the server's own, and write the \
                pooler's in database.pooler_url (docs/database.md#poolers)
                """)
    }

    /// Whether another connection uses the server's process of this one, as only a pooler can have it.
    private func isOfTransactionPooler() throws -> Bool {
        let process = "SELECT pg_backend_pid()::text"
        // A pooler makes up the numbers that it tells at the start of a connection.
        guard try text(process) != "\(PQbackendPID(handle))" else { return false }
        var hasty = configuration
        // In session mode, there may be no further process.
        hasty.statementTimeout = .seconds(1)
        let other = PostgresConnection(hasty, gate: ReconnectGate())
        defer { other.close() }
        do throws(PostgresError) { try other.connect() } catch { return false }
        // Other clients may use the process meanwhile.
        for _ in 0..<5 where try text(process) == (try? other.text(process)) { return true }
        return false
    }

    private func text(_ sql: String) throws -> String {
        String(decoding: try run(sql).bytes(0, 0), as: UTF8.self)
    }
}
