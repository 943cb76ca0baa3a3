import CLatchkeySQLite
import GRDB
import GRDBSQLite
import Glibc
import StorageModel

/// The connections of a store: one writes, and a few read at the same time, as the write-ahead log allows.
///
/// Each is a queue of its own instead of a member of a GRDB pool: a pool would take a lock, a semaphore and a query of
/// the schema's version for each read.
struct SQLiteConnections {
    let writer: DatabaseQueue
    let readers: [DatabaseQueue]
    let logSettlement: LogSettlement

    /// Once, before the first database is opened.
    private static let forgoMemoryStatistics: Void = csqlite_forgo_memory_statistics()

    /// Opens the database and migrates its tables.
    init(_ configuration: SQLiteConfiguration) throws(StorageError) {
        let file = try DatabaseFile(configuration.path)
        let hasContent = try file.prepare()
        Self.forgoMemoryStatistics
        do {
            // Through a read-only connection, so that a refused database is not changed.
            if hasContent { try Self.read(file.path, configuration, Schema.validate) }
            (writer, logSettlement) = try Self.openWriter(file.path, configuration)
            readers = try (0..<min(max(configuration.readerCount, 1), 16)).map { _ in
                try DatabaseQueue(path: file.path, configuration: Self.settings(configuration, readonly: true))
            }
        } catch {
            throw StorageError(error, "the database \(file.path) cannot be used")
        }
    }

    /// Reads through a read-only connection. If a crash interrupted a change, a writing connection rolls it back first.
    static func read<Value>(
        _ path: String, _ configuration: SQLiteConfiguration, _ body: (Database) throws -> Value
    ) throws -> Value {
        do {
            return try readAsIs(path, configuration, body)
        } catch let error as DatabaseError where error.extendedResultCode == .SQLITE_READONLY_ROLLBACK {
            try undoInterruption(path, configuration)
            return try readAsIs(path, configuration, body)
        }
    }

    private static func undoInterruption(_ path: String, _ configuration: SQLiteConfiguration) throws {
        var settings = settings(configuration, readonly: false)
        settings.journalMode = .default
        let connection = try DatabaseQueue(path: path, configuration: settings)
        try connection.unsafeRead { db in _ = try Schema.migrationCount(db) }
        try connection.close()
    }

    private static func readAsIs<Value>(
        _ path: String, _ configuration: SQLiteConfiguration, _ body: (Database) throws -> Value
    ) throws -> Value {
        let connection = try DatabaseQueue(path: path, configuration: settings(configuration, readonly: true))
        let value = try connection.unsafeRead(body)
        try connection.close()
        return value
    }

    private static func openWriter(
        _ path: String, _ configuration: SQLiteConfiguration
    ) throws -> (DatabaseQueue, LogSettlement) {
        let writer = try connectWriter(path, configuration)
        let settlement = try writer.writeWithoutTransaction { db in
            let settlement = try LogSettlement(db)
            // A migration would write.
            if try Schema.migrationCount(db) < Schema.migrations.count, let obstacle = settlement.obstacle(db) {
                throw obstacle
            }
            return settlement
        }
        try migrate(writer)
        try writer.writeWithoutTransaction { db in
            // Overrides GRDB's choice.
            try db.execute(sql: "PRAGMA synchronous = \(configuration.synchronous.rawValue)")
            // A large log is truncated when it restarts.
            try db.execute(sql: "PRAGMA journal_size_limit = 67108864")
            // Erased content is overwritten.
            try db.execute(sql: "PRAGMA secure_delete = ON")
            // With NORMAL, readers may look for a commit's frames in the log before it is synced.
            if configuration.synchronous == .full, let handle = db.sqliteConnection {
                _ = csqlite_coalesce_log_writes(UnsafeMutableRawPointer(handle))
            }
        }
        return (writer, settlement)
    }

    /// The switch to the write-ahead log ignores the busy timeout: when several processes start on a new database at
    /// once, the later ones must retry.
    private static func connectWriter(_ path: String, _ configuration: SQLiteConfiguration) throws -> DatabaseQueue {
        let end = ContinuousClock.now + configuration.busyTimeout
        while true {
            do {
                return try DatabaseQueue(path: path, configuration: settings(configuration, readonly: false))
            } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY && ContinuousClock.now < end {
                usleep(10_000)
            }
        }
    }

    /// Processes that start together find the same migrations missing. One that is too late fails, finds that another
    /// process has done the migration, and continues from there.
    private static func migrate(_ writer: DatabaseQueue) throws {
        while true {
            let done = try writer.unsafeRead(Schema.migrationCount)
            do {
                return try Schema.migrator.migrate(writer)
            } catch {
                guard try writer.unsafeRead(Schema.migrationCount) > done else { throw error }
            }
        }
    }

    private static func settings(_ configuration: SQLiteConfiguration, readonly: Bool) -> Configuration {
        var settings = Configuration()
        settings.label = "latchkey.sqlite"
        settings.readonly = readonly
        settings.journalMode = readonly ? .default : .wal
        settings.busyMode = .timeout(configuration.busyTimeout.boundedSeconds)
        settings.foreignKeysEnabled = true
        settings.publicStatementArguments = false
        // GRDB would trap on a transaction that a failed rollback left open; GroupCommit ends the transaction.
        settings.allowsUnsafeTransactions = true
        let pageCacheKiB = min(max(configuration.pageCacheKiB / (readonly ? 4 : 1), 64), 4_194_304)
        settings.prepareDatabase { db in
            // Before the first page of a new file. In a file that has pages it would be a write, which fails on a full
            // disk, and which would append to a log that is not settled.
            if !readonly, try Int.fetchOne(db, sql: "PRAGMA page_count") == 0 {
                try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
            }
            try db.execute(sql: "PRAGMA cache_size = -\(pageCacheKiB)")
        }
        return settings
    }
}

extension Duration {
    /// In seconds, at least 0 and at most an hour.
    fileprivate var boundedSeconds: Double {
        let bounded = min(max(self, .zero), .seconds(3_600))
        return Double(bounded.components.seconds) + Double(bounded.components.attoseconds) / 1e18
    }
}
