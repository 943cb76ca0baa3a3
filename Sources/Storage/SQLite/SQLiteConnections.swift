import GRDB
import Glibc
import StorageModel

/// The connections of a store: one that writes, and a few that read beside it (SQLite's write-ahead log lets them).
///
/// Each is a queue of its own rather than a member of a GRDB pool: a pool would take a lock, a semaphore and a query of
/// the schema's version for each read.
struct SQLiteConnections {
    let writer: DatabaseQueue
    let readers: [DatabaseQueue]

    /// Opens the database, makes the tables or brings them up to date.
    init(_ configuration: SQLiteConfiguration) throws(StorageError) {
        let file = try DatabaseFile(configuration.path)
        let hasContent = try file.prepare()
        do {
            if hasContent { try Self.validate(file.path, configuration) }
            writer = try Self.openWriter(file.path, configuration)
            readers = try (0..<min(max(configuration.readerCount, 1), 16)).map { _ in
                try DatabaseQueue(path: file.path, configuration: Self.settings(configuration, readonly: true))
            }
        } catch {
            let error = StorageError(error)
            throw StorageError(error.code, reason: "the database \(file.path) cannot be used: \(error.reason)")
        }
    }

    /// Looks at the content through a connection that cannot write, so that a database which is refused stays as it is.
    private static func validate(_ path: String, _ configuration: SQLiteConfiguration) throws {
        try read(path, configuration) { db in try Schema.validate(db) }
    }

    /// Reads through a connection that cannot write. A change that was interrupted by a crash, which only one that can
    /// write undoes, is undone before.
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

    private static func openWriter(_ path: String, _ configuration: SQLiteConfiguration) throws -> DatabaseQueue {
        let writer = try connectWriter(path, configuration)
        try migrate(writer)
        try writer.writeWithoutTransaction { db in
            // After GRDB has set its own choice.
            try db.execute(sql: "PRAGMA synchronous = \(configuration.synchronous.rawValue)")
            // A log that has grown large gives its room back when it begins anew.
            try db.execute(sql: "PRAGMA journal_size_limit = 67108864")
            // What is erased is overwritten.
            try db.execute(sql: "PRAGMA secure_delete = ON")
        }
        return writer
    }

    /// The change to the write-ahead log does not wait for a lock, whatever the busy time-out: when several processes
    /// start on a new database at once, the later ones have to ask again.
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

    /// Processes that start together all find the same migrations undone. One that comes too late for a migration fails in
    /// it, finds that another has done it meanwhile, and goes on from there.
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
        // GRDB would end the process over a transaction that a failed rollback has left open; GroupCommit ends it.
        settings.allowsUnsafeTransactions = true
        let pageCacheKiB = min(max(configuration.pageCacheKiB / (readonly ? 4 : 1), 64), 4_194_304)
        settings.prepareDatabase { db in try db.execute(sql: "PRAGMA cache_size = -\(pageCacheKiB)") }
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
