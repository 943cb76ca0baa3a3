import Primitives
package import Storage
package import StorageModel

/// A database in a file that no other process has open.
enum DetachedDatabase {
    /// Opens the file, which is made if it is missing.
    static func open(_ path: String) throws(SQLiteError) -> SQLiteConnection {
        let settings = [
            // The file is untrusted: nothing in its schema is run, and every page is checked.
            "PRAGMA trusted_schema = OFF", "PRAGMA cell_size_check = ON", "PRAGMA locking_mode = EXCLUSIVE",
            // Until it is renamed, its loss does not matter.
            "PRAGMA synchronous = OFF",
        ]
        return try SQLiteConnection(path, enforcesForeignKeys: false, settings: settings)
    }

    /// Ensures that all content is in the one file, without a log beside it.
    static func settle(_ db: SQLiteConnection) throws {
        let mode = try db.session.first("PRAGMA journal_mode = DELETE") { try $0.text(0) } ?? ""
        guard mode == "delete" else {
            throw StorageError(.unavailable, reason: "its log cannot be removed (journal_mode is \(mode))")
        }
    }

    static func rowCounts(_ db: SQLiteConnection) throws -> [String: Int64] {
        let names = try db.session.all(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        ) { try $0.text(0) }
        var counts: [String: Int64] = [:]
        for name in names {
            let quoted = "\"" + name.replacing("\"", with: "\"\"") + "\""
            counts[name] = try db.session.number(SQL("SELECT count(*) FROM \(quoted)"))
        }
        return counts
    }

    /// Checks all pages, indexes and references.
    static func check(_ db: SQLiteConnection) throws {
        let found = try db.session.first("PRAGMA integrity_check(1)") { try $0.text(0) } ?? "nothing was found"
        guard found == "ok" else { throw StorageError(.corrupt, reason: "it is damaged: \(found)") }
        guard try !db.session.exists("PRAGMA foreign_key_check") else {
            throw StorageError(.corrupt, reason: "it is damaged: a row refers to one that is missing")
        }
    }
}

/// A copy of a database in one file, which can be restored.
package struct DatabaseBackup: Sendable, Hashable {
    /// The file's size in bytes.
    package let size: Int64
    /// The version of the database's tables.
    package let steps: Int
    /// How many rows it has, all tables together.
    package let rows: Int64

    /// Copies the configured database as of one moment, while servers may read and write it. Blocks.
    ///
    /// The copy is written under a temporary name, flushed, read again from the disk and checked, and then renamed:
    /// there is a complete backup or none. Its mode is 0600.
    ///
    /// - Throws: ``StorageError``, and then there is no new file.
    package static func make(
        of configuration: SQLiteConfiguration, at path: String, replaces: Bool
    ) throws(StorageError) -> DatabaseBackup {
        let (database, target) = (try DatabaseFile(configuration.path), try DatabaseFile(path).path)
        guard let size = try database.size(), size > 0 else {
            throw StorageError(.unavailable, reason: "there is no database at \(configuration.path)")
        }
        try Self.refuse(target, as: database.path, replaces: replaces)
        let temporary = try AtomicFile.make(for: target)
        do {
            let backup = try copy(database.path, configuration, into: temporary)
            try AtomicFile.name(temporary, target, replaces: replaces)
            return backup
        } catch {
            AtomicFile.discard(temporary)
            throw StorageError(error, "the database \(configuration.path) was not backed up")
        }
    }

    /// Above all, a backup never overwrites the database or the files that belong to it.
    private static func refuse(_ path: String, as database: String, replaces: Bool) throws(StorageError) {
        guard let there = FileAttributes(path) else { return }
        for suffix in ["", "-wal", "-shm", "-journal"] {
            if let own = FileAttributes(database + suffix), own.isSameFile(as: there) {
                throw StorageError(.unavailable, reason: "\(path) is the database itself; name another file")
            }
        }
        guard there.isRegular else {
            throw StorageError(.unavailable, reason: "\(path) is there, and is not a file; name another")
        }
        guard replaces else {
            throw StorageError(
                .unavailable, reason: "there is a file \(path); name another, or have it replaced (--force)")
        }
    }

    /// In one step: the copy is of one moment, and concurrent writes do not restart it.
    private static func copy(
        _ database: String, _ configuration: SQLiteConfiguration, into path: String
    ) throws -> DatabaseBackup {
        let (steps, rows) = try SQLiteConnections.read(database, configuration) { db in
            let missing = try Schema.missing(db)
            let copy = try DetachedDatabase.open(path)
            // The rows are counted at the moment of the copy.
            try db.execute("BEGIN DEFERRED")
            let rows = try DetachedDatabase.rowCounts(db)
            try db.copy(to: copy)
            try db.execute("COMMIT")
            try DetachedDatabase.settle(copy)
            try copy.close()
            return (Schema.version(lacking: missing), rows)
        }
        try AtomicFile.flush(path, thenForgets: true)
        try verify(path, has: rows)
        return DatabaseBackup(
            size: FileAttributes(path)?.size ?? 0, steps: steps, rows: rows.values.reduce(0, +))
    }

    private static func verify(_ path: String, has rows: [String: Int64]) throws {
        let copy = try DetachedDatabase.open(path)
        try DetachedDatabase.check(copy)
        let found = try DetachedDatabase.rowCounts(copy)
        try copy.close()
        guard found == rows else {
            throw StorageError(.corrupt, reason: "the copy does not have the same number of rows")
        }
    }
}

package struct DatabaseRestore: Sendable, Hashable {
    /// The version of the backup's tables; the next start brings them up to date.
    package let steps: Int
    /// The path of the former database; nil if there was none.
    package let former: String?

    /// Replaces the configured database with a backup. Blocks.
    ///
    /// The backup is copied first, and the copy is checked: it must be undamaged, of this version or an older one that
    /// this one can migrate, and have exactly the tables, indexes and triggers of that version, beside tables of
    /// features in other packages. The former database is kept. A crash in between leaves the former database or the
    /// new one.
    ///
    /// - Parameter mark: The suffix of the former database's name.
    /// - Throws: ``StorageError``, and then the database is unchanged; also if a server has it open.
    package static func run(
        from path: String, to configuration: SQLiteConfiguration, mark: String
    ) throws(StorageError) -> DatabaseRestore {
        let (backup, file) = (try DatabaseFile(path).path, try DatabaseFile(configuration.path))
        let database = file.path
        do {
            try refuse(backup, for: database)
            if file.isLockedByOthers { throw inUse }
            let temporary = try AtomicFile.make(for: database)
            defer { AtomicFile.discard(temporary) }
            try AtomicFile.copy(backup, into: temporary)
            let copy = try DetachedDatabase.open(temporary)
            let steps = try examine(copy)
            let former = try install(copy, temporary, as: database, configuration, mark)
            return DatabaseRestore(steps: steps, former: former)
        } catch {
            throw StorageError(error, "the backup \(path) was not restored")
        }
    }

    private static let inUse = StorageError(
        .unavailable, reason: "the database is open in another process; stop the servers that use it first")

    private static func refuse(_ backup: String, for database: String) throws(StorageError) {
        guard let found = FileAttributes(backup) else {
            throw StorageError(.unavailable, reason: "there is no such file")
        }
        guard found.isRegular else { throw StorageError(.unavailable, reason: "it is not a file") }
        guard found.size > 0 else { throw StorageError(.corrupt, reason: "it is empty") }
        if let own = FileAttributes(database), own.isSameFile(as: found) {
            throw StorageError(.unavailable, reason: "it is the database itself")
        }
        for suffix in ["-wal", "-journal"] {
            guard let log = FileAttributes(backup + suffix), log.size > 0 else { continue }
            throw StorageError(
                .corrupt,
                reason: "there is a log beside it (\(suffix)), so it is not whole; make backups with latchkey backup")
        }
    }

    /// - Returns: The version of its tables.
    private static func examine(_ db: SQLiteConnection) throws -> Int {
        try DetachedDatabase.settle(db)
        let missing = try Schema.missing(db)
        let done = Schema.migrations.dropLast(missing.count)
        guard !done.isEmpty else {
            throw StorageError(.corrupt, reason: "it has no tables of Latchkey")
        }
        try DetachedDatabase.check(db)
        let model = try SQLiteConnection(SQLiteConnection.inMemory)
        try Schema.migrate(model, with: Array(done))
        guard missing.map(\.name) == Schema.migrations.suffix(missing.count).map(\.name),
            try objects(db) == objects(model)
        else {
            throw StorageError(
                .corrupt, reason: "its tables, indexes or triggers are not those of any version of Latchkey")
        }
        return Schema.version(lacking: missing)
    }

    /// The schema, as texts to compare: code that is not in it cannot run. Without white space outside of SQL's texts,
    /// which differs where a migration has added a column.
    ///
    /// Without each ``FeatureTable`` and its indexes: the backup may have those of any version of any feature. Their
    /// triggers are compared.
    private static func objects(_ db: SQLiteConnection) throws -> Set<String> {
        let sql = """
            SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_schema
            WHERE name NOT IN ('sqlite_stat1', 'sqlite_stat4')
            AND NOT (type IN ('table', 'index') AND tbl_name GLOB '\(FeatureTable.prefix)*')
            """
        return Set(
            try db.session.all(SQL(sql)) { row in
                try row.text(0).split(ascii: "'", omittingEmptySubsequences: false).enumerated()
                    .map { place, part in place.isMultiple(of: 2) ? part.filter { !$0.isWhitespace } : String(part) }
                    .joined(separator: "'")
            })
    }

    private static func install(
        _ copy: SQLiteConnection, _ temporary: String, as database: String, _ configuration: SQLiteConfiguration,
        _ mark: String
    ) throws -> String? {
        let there = FileAttributes(database)
        guard let there, there.size > 0 else {
            try copy.close()
            try AtomicFile.name(temporary, database, replaces: there != nil)
            return nil
        }
        let former = "\(database).\(mark)"
        guard FileAttributes(former) == nil else {
            throw StorageError(.unavailable, reason: "there is a file \(former); move it away, or try again")
        }
        do {
            try overwrite(database, with: copy, keeping: former)
            try copy.close()
        } catch {
            guard StorageError(error).code == .corrupt else { throw error }
            // No longer a database: no server can open it, and SQLite cannot write to it.
            try copy.close()
            for suffix in ["", "-wal", "-shm", "-journal"] {
                try AtomicFile.move(database + suffix, to: former + suffix)
            }
            try AtomicFile.name(temporary, database, replaces: false)
        }
        return former
    }

    /// Uses SQLite itself, in one transaction under its lock: a server that starts at this moment waits, and then finds
    /// the new content, not an unlinked file.
    private static func overwrite(
        _ database: String, with copy: SQLiteConnection, keeping former: String
    ) throws {
        do {
            let live = try SQLiteConnection(database, settings: ["PRAGMA locking_mode = EXCLUSIVE"])
            try DetachedDatabase.settle(live)
            try live.execute("BEGIN EXCLUSIVE; COMMIT")
            try keep(live, as: former)
            try copy.copy(to: live)
            try live.close()
        } catch let error as SQLiteError where error.isBusy {
            throw inUse
        }
    }

    private static func keep(_ live: SQLiteConnection, as former: String) throws {
        let temporary = try AtomicFile.make(for: former)
        defer { AtomicFile.discard(temporary) }
        let kept = try DetachedDatabase.open(temporary)
        try live.copy(to: kept)
        try kept.close()
        try AtomicFile.name(temporary, former, replaces: false)
    }
}
