import CLatchkeySQLite
import StorageModel

/// The location of a database on either engine.
package enum DatabaseLocation: Sendable {
    case sqlite(SQLiteConfiguration)
    case postgres(PostgresConfiguration)

    /// Reads the database, which servers may be using. Blocks.
    /// - Parameter body: Gets the missing migrations.
    /// - Returns: Nil without a database.
    func read<Value>(_ body: ([Migration], SQLSession) throws -> Value) throws(StorageError) -> Value? {
        switch self {
        case .postgres(let configuration):
            return try PostgresSchema.withConnection(configuration) { connection in
                try body(PostgresSchema.missing(connection), .postgres(connection))
            }
        case .sqlite(let configuration):
            let file = try DatabaseFile(configuration.path)
            guard let size = try file.size(), size > 0 else { return nil }
            do {
                return try SQLiteConnections.read(file.path, configuration) { db in
                    try body(Schema.missing(db), db.session)
                }
            } catch {
                throw StorageError(error, "the database \(file.path) cannot be used")
            }
        }
    }

    func isSame(as other: DatabaseLocation) -> Bool {
        switch (self, other) {
        case (.sqlite(let one), .sqlite(let other)):
            guard let one = AtomicFile.Attributes(one.path), let other = AtomicFile.Attributes(other.path) else {
                return false
            }
            return one.isSameFile(as: other)
        case (.postgres(let one), .postgres(let other)): return one.url == other.url
        default: return false
        }
    }

    /// Runs `body` in one transaction of a database that no server has open; no other process writes to it meanwhile.
    ///
    /// - Parameter name: The database's name in errors.
    /// - Throws: The error of `body`, or ``StorageError``; then nothing was stored. ``UnknownOutcome`` if it is unknown
    ///   whether something was.
    func alone<Value>(as name: String, _ tables: [TableShape], _ body: (SQLSession) throws -> Value) throws -> Value {
        switch self {
        case .sqlite(let sqlite): try Self.alone(with: sqlite, name, body)
        case .postgres(let postgres): try Self.alone(with: postgres, name, tables, body)
        }
    }

    /// It is unknown whether a transaction was stored, because its commit was not confirmed.
    struct UnknownOutcome: Error { let reason: String }

    private static func inUse(_ name: String) -> StorageError {
        StorageError(.unavailable, reason: "servers have \(name) open; stop all that use it first")
    }

    private static func alone<Value>(
        with configuration: SQLiteConfiguration, _ name: String, _ body: (SQLSession) throws -> Value
    ) throws -> Value {
        if AtomicFile.isLockedByOthers(configuration.path) { throw inUse(name) }
        let connections = try SQLiteConnections(configuration)
        defer { try? connections.close() }
        let db = connections.writer
        do {
            if let writeBlocker = connections.walRecovery.writeBlocker(db) { throw writeBlocker }
            try db.execute("BEGIN IMMEDIATE")
        } catch let error as SQLiteError where error.primaryResult == SQLITE_BUSY {
            throw inUse(name)
        }
        do {
            let value = try body(db.session)
            try db.execute("COMMIT")
            return value
        } catch {
            if db.isInTransaction { try? db.execute("ROLLBACK") }
            throw error
        }
    }

    private static func alone<Value>(
        with configuration: PostgresConfiguration, _ name: String, _ tables: [TableShape],
        _ body: (SQLSession) throws -> Value
    ) throws -> Value {
        try PostgresSchema.bringUpToDate(configuration)
        var outcome: Result<Value, UnknownOutcome>?
        try PostgresSchema.withConnection(configuration) { connection in
            guard try PostgresPresence.takeAlone(on: connection) else { throw inUse(name) }
            // All reads must be of one moment, and the other database may take long.
            try connection.script(
                "BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE; SET LOCAL idle_in_transaction_session_timeout = 0")
            // Before the first read, which starts the snapshot.
            try connection.script("LOCK TABLE \(tables.map(\.name).joined(separator: ", ")) IN EXCLUSIVE MODE")
            let value = try body(.postgres(connection))
            do {
                guard try connection.commit() else {
                    throw StorageError(.unavailable, reason: "the PostgreSQL server rolled the transaction back")
                }
                outcome = .success(value)
            } catch let error as PostgresError where error.mayBeCommitted {
                outcome = .failure(UnknownOutcome(reason: error.reason))
            }
        }
        guard let outcome else { throw StorageError(.unavailable, reason: "nothing was done") }
        return try outcome.get()
    }
}
