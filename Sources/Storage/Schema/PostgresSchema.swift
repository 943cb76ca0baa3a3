import StorageModel

/// The tables on PostgreSQL: the same steps under the same names as on SQLite (``Schema``).
enum PostgresSchema {
    /// Brings the tables up to date: all that is missing in one transaction. Processes that start together do it one
    /// after the other, and those that come later find nothing to do. What runs meanwhile with older tables goes on.
    static func bringUpToDate(_ configuration: PostgresConfiguration) throws(StorageError) {
        try withConnection(configuration) { connection in
            guard try !missing(connection).isEmpty else { return }
            try connection.script("BEGIN")
            // The letters of "Latchkey".
            _ = try connection.run("SELECT pg_advisory_xact_lock(5503808189925909881)", [])
            try connection.script(
                """
                CREATE TABLE IF NOT EXISTS latchkey_migrations (
                    name text COLLATE "C" PRIMARY KEY,
                    done_at timestamptz NOT NULL DEFAULT now()
                )
                """)
            for migration in try missing(connection) {
                for sql in migration.postgresStatements { try connection.script(sql) }
                _ = try connection.run(
                    "INSERT INTO latchkey_migrations (name) VALUES (?)", [PostgresValue(migration.name)])
            }
            guard try connection.commit() else {
                throw StorageError(.unavailable, reason: "the server undid the change of the tables")
            }
        }
    }

    /// The names of the steps that are still to be done. Changes nothing.
    static func pending(_ connection: PostgresConnection) throws -> [String] { try missing(connection).map(\.name) }

    /// How many of the steps have been done, after seeing that the database is of this version or an older one, and
    /// whether there is one at all. Changes nothing.
    static func stepsDone(_ connection: PostgresConnection) throws -> Int? {
        let missing = try self.missing(connection)
        guard try holdsTable("latchkey_migrations", connection) else { return nil }
        return Schema.migrations.count - missing.count
    }

    /// Does something on a connection that is made for it, and waits for other processes for a minute.
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
            return try body(connection)
        } catch {
            throw StorageError(error)
        }
    }

    /// The steps that are still to be done.
    private static func missing(_ connection: PostgresConnection) throws -> [Migration] {
        // In this order: another process that makes the tables at this moment makes both at once.
        let holdsUsers = try holdsTable("users", connection)
        guard try holdsTable("latchkey_migrations", connection) else {
            guard !holdsUsers else {
                throw StorageError(
                    .corrupt, reason: "the database is another program's: it has a table users and none of Latchkey's")
            }
            return Schema.migrations
        }
        let result = try connection.run("SELECT name FROM latchkey_migrations", [])
        let done = Set((0..<result.rowCount).map { String(decoding: result.bytes($0, 0), as: UTF8.self) })
        guard done.isSubset(of: Schema.migrations.map(\.name)) else {
            throw StorageError(
                .corrupt, reason: "the database was written by a newer version of Latchkey; run that version")
        }
        return Schema.migrations.filter { !done.contains($0.name) }
    }

    static func holdsTable(_ name: String, _ connection: PostgresConnection) throws -> Bool {
        let result = try connection.run("SELECT to_regclass(?)::text", [PostgresValue(name)])
        return !result.isNull(0, 0)
    }
}

extension PostgresConnection {
    /// Sees that the server is one that the tables and statements are made for.
    fileprivate func examineServer() throws {
        guard serverVersion >= 130_000 else {
            throw StorageError(.unavailable, reason: "PostgreSQL 13 or later is needed, and the server is older")
        }
        let encoding = try run("SHOW server_encoding", [])
        guard String(decoding: encoding.bytes(0, 0), as: UTF8.self) == "UTF8" else {
            throw StorageError(
                .unavailable, reason: "the database is not in UTF-8; make one with CREATE DATABASE … ENCODING 'UTF8'")
        }
    }
}
