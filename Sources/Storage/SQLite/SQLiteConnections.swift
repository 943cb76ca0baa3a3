import CLatchkeySQLite
import Glibc
import StorageModel

/// The connections of a store: one writes, and a few read at the same time, as the write-ahead log allows.
package struct SQLiteConnections {
    let writer: SQLiteConnection
    let readers: [SQLiteConnection]
    let walRecovery: WALRecovery
    /// Whether a running server moves the write-ahead log into the database, and this process does not: before SQLite
    /// 3.51.3, two processes that do it can damage the database (``SQLiteLibrary``).
    let leavesLogToServer: Bool

    /// Once, before the first database is opened.
    private static let forgoMemoryStatistics: Void = csqlite_forgo_memory_statistics()

    /// Opens the database and migrates its tables.
    init(_ configuration: SQLiteConfiguration) throws(StorageError) {
        let file = try DatabaseFile(configuration.path)
        let hasContent = try file.prepare()
        leavesLogToServer = configuration.isForCommand && file.isLockedByOthers
        Self.forgoMemoryStatistics
        csqlite_keep_temporary_files_in(DatabaseFile.directory(of: file.path))
        do {
            // Through a read-only connection, so that a refused database is not changed.
            if hasContent { _ = try Self.read(file.path, configuration) { try Schema.missing($0) } }
            (writer, walRecovery) = try Self.openWriter(
                file.path, configuration, leavesLog: leavesLogToServer)
            readers = try (0..<2).map { _ in try Self.connect(file.path, configuration, isReadOnly: true) }
        } catch {
            throw StorageError(error, "the database \(file.path) cannot be used")
        }
    }

    func close() throws(SQLiteError) {
        // The last connection to close must be able to move the log, so the writer is the last.
        for reader in readers { try reader.close() }
        try writer.close()
    }

    /// Reads through a read-only connection. If a crash interrupted a change, a writing connection rolls it back first.
    package static func read<Value>(
        _ path: String, _ configuration: SQLiteConfiguration, _ body: (SQLiteConnection) throws -> Value
    ) throws -> Value {
        let connection: SQLiteConnection
        do {
            connection = try connect(path, configuration, isReadOnly: true)
        } catch let error where error.result == csqlite_readonly_rollback {
            // Opening reads the first page, and with it rolls back.
            try connect(path, configuration, isReadOnly: false).close()
            connection = try connect(path, configuration, isReadOnly: true)
        }
        let value = try body(connection)
        try connection.close()
        return value
    }

    private static func openWriter(
        _ path: String, _ configuration: SQLiteConfiguration, leavesLog: Bool
    ) throws -> (SQLiteConnection, WALRecovery) {
        let writer = try connectWriter(path, configuration)
        if leavesLog { try writer.execute("PRAGMA wal_autocheckpoint = 0") }
        let settlement = leavesLog ? WALRecovery() : try WALRecovery(writer)
        // A migration would write.
        let isBehind =
            try !Schema.missing(writer).isEmpty || !Schema.missing(configuration.featureTables, in: writer).isEmpty
        if isBehind, let writeBlocker = settlement.writeBlocker(writer) { throw writeBlocker }
        try Schema.migrate(writer)
        try Schema.make(configuration.featureTables, in: writer)
        // A large log is truncated when it restarts.
        try writer.execute("PRAGMA journal_size_limit = 67108864")
        // Erased content is overwritten.
        try writer.execute("PRAGMA secure_delete = ON")
        return (writer, settlement)
    }

    /// The switch to the write-ahead log ignores the busy timeout: when several processes start on a new database at
    /// once, the later ones must retry.
    private static func connectWriter(
        _ path: String, _ configuration: SQLiteConfiguration
    ) throws -> SQLiteConnection {
        let end = ContinuousClock.now + configuration.busyTimeout
        while true {
            do {
                let writer = try connect(path, configuration, isReadOnly: false)
                // Before the first page of a new file. In a file that has pages it would be a write, which fails on a
                // full disk, and which would append to a log that is not settled.
                if try writer.session.number("PRAGMA page_count") == 0 {
                    try writer.execute("PRAGMA auto_vacuum = INCREMENTAL")
                }
                let mode = try writer.session.first("PRAGMA journal_mode = WAL") { try $0.text(0) }
                guard mode == "wal" else {
                    throw StorageError(
                        .unavailable, reason: "it cannot have a write-ahead log (journal_mode is \(mode ?? "unknown"))")
                }
                try writer.execute("PRAGMA synchronous = \(configuration.synchronous.rawValue)")
                return writer
            } catch let error as SQLiteError where error.isBusy && ContinuousClock.now < end {
                usleep(10_000)
            }
        }
    }

    private static func connect(
        _ path: String, _ configuration: SQLiteConfiguration, isReadOnly: Bool
    ) throws(SQLiteError) -> SQLiteConnection {
        let pageCacheKiB = min(max(configuration.pageCacheKiB / (isReadOnly ? 4 : 1), 64), 4_194_304)
        return try SQLiteConnection(
            path, isReadOnly: isReadOnly,
            busyMilliseconds: CInt(min(max(configuration.busyTimeout, .zero), .seconds(3_600)).milliseconds),
            settings: ["PRAGMA cache_size = -\(pageCacheKiB)"])
    }
}
