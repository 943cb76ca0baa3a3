import GRDB
public import StorageModel

/// A backup that was put in the place of a database.
public struct DatabaseRestore: Sendable, Hashable {
    /// How many steps the backup had been through, and how many this version has; the next start does the rest.
    public let steps: Int
    public let allSteps: Int
    /// Where the former database is now; nil if there was none.
    public let former: String?

    /// Puts a backup in the place of the database that a configuration names. Blocks.
    ///
    /// The backup is copied first, and the copy is looked through: it has to be whole, of this version or an older one,
    /// and to have the tables, indexes and triggers of that version and no others. The former database is kept beside.
    /// A crash in between leaves the former database, or the new one.
    ///
    /// - Parameter mark: What the former database's name ends with.
    /// - Throws: ``StorageError``, and then the database is as it was: also where a server has it open.
    public static func run(
        from path: String, to configuration: SQLiteConfiguration, mark: String
    ) throws(StorageError) -> DatabaseRestore {
        let (backup, database) = (try DatabaseFile(path).path, try DatabaseFile(configuration.path).path)
        do {
            try refuse(backup, for: database)
            if WholeFile.isLockedByOthers(database) { throw inUse }
            let temporary = try WholeFile.make(for: database)
            defer { WholeFile.discard(temporary) }
            try WholeFile.copy(backup, into: temporary)
            let copy = try DatabaseQueue(path: temporary, configuration: DetachedDatabase.settings)
            let steps = try copy.writeWithoutTransaction(examine)
            let former = try install(copy, temporary, as: database, configuration, mark)
            return DatabaseRestore(steps: steps, allSteps: Schema.migrator.migrations.count, former: former)
        } catch {
            let error = StorageError(error)
            throw StorageError(error.code, reason: "the backup \(path) was not restored: \(error.reason)")
        }
    }

    private static let inUse = StorageError(
        .unavailable, reason: "the database is open in another process; stop the servers that use it first")

    /// What can be told before anything is copied.
    private static func refuse(_ backup: String, for database: String) throws(StorageError) {
        guard let found = WholeFile.Attributes(backup) else {
            throw StorageError(.unavailable, reason: "there is no such file")
        }
        guard found.isRegular else { throw StorageError(.unavailable, reason: "it is not a file") }
        guard found.size > 0 else { throw StorageError(.corrupt, reason: "it is empty") }
        if let own = WholeFile.Attributes(database), own.isSameFile(as: found) {
            throw StorageError(.unavailable, reason: "it is the database itself")
        }
        for suffix in ["-wal", "-journal"] {
            guard let log = WholeFile.Attributes(backup + suffix), log.size > 0 else { continue }
            throw StorageError(
                .corrupt,
                reason: "there is a log beside it (\(suffix)), so it is not whole; make backups with latchkey backup")
        }
    }

    /// - Returns: How many steps it has been through.
    private static func examine(_ db: Database) throws -> Int {
        try DetachedDatabase.settle(db)
        try Schema.validate(db)
        let applied = try Schema.migrator.appliedMigrations(db)
        guard let last = applied.last else {
            throw StorageError(.corrupt, reason: "it has no tables of Latchkey")
        }
        try DetachedDatabase.check(db)
        guard applied == Array(Schema.migrator.migrations.prefix(applied.count)),
            try objects(db) == expectedObjects(upTo: last)
        else {
            throw StorageError(
                .corrupt, reason: "its tables, indexes or triggers are not those of any version of Latchkey")
        }
        return applied.count
    }

    /// All that a schema has: what is not in it cannot be run by it.
    private static func objects(_ db: Database) throws -> Set<String> {
        let sql = """
            SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_schema
            WHERE name NOT IN ('sqlite_stat1', 'sqlite_stat4')
            """
        return try String.fetchSet(db, sql: sql)
    }

    private static func expectedObjects(upTo last: String) throws -> Set<String> {
        let model = try DatabaseQueue()
        try Schema.migrator.migrate(model, upTo: last)
        return try model.read(objects)
    }

    private static func install(
        _ copy: DatabaseQueue, _ temporary: String, as database: String, _ configuration: SQLiteConfiguration,
        _ mark: String
    ) throws -> String? {
        guard let there = WholeFile.Attributes(database) else {
            try copy.close()
            try WholeFile.name(temporary, database, replaces: false)
            return nil
        }
        guard there.size > 0 else {
            try copy.close()
            try WholeFile.name(temporary, database, replaces: true)
            return nil
        }
        let former = "\(database).\(mark)"
        guard WholeFile.Attributes(former) == nil else {
            throw StorageError(.unavailable, reason: "there is a file \(former); move it away, or try again")
        }
        do {
            try overwrite(database, with: copy, keeping: former)
            try copy.close()
        } catch {
            guard StorageError(error).code == .corrupt else { throw error }
            // Not a database any more: no server can have it open, and SQLite cannot write into it.
            try copy.close()
            for suffix in ["", "-wal", "-shm", "-journal"] {
                try WholeFile.move(database + suffix, to: former + suffix)
            }
            try WholeFile.name(temporary, database, replaces: false)
        }
        return former
    }

    /// Through SQLite itself, in one transaction under its lock: a server that starts at this moment waits, and then
    /// finds the new content rather than a file that has lost its name.
    private static func overwrite(_ database: String, with copy: DatabaseQueue, keeping former: String) throws {
        var settings = Configuration()
        settings.label = "latchkey.restore"
        settings.busyMode = .immediateError
        settings.allowsUnsafeTransactions = true
        settings.prepareDatabase { db in try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE") }
        do {
            let live = try DatabaseQueue(path: database, configuration: settings)
            try live.writeWithoutTransaction { live in
                try DetachedDatabase.settle(live)
                try live.execute(sql: "BEGIN EXCLUSIVE; COMMIT")
                try keep(live, as: former)
                try copy.writeWithoutTransaction { copy in try copy.backup(to: live) }
            }
            try live.close()
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            throw inUse
        }
    }

    private static func keep(_ live: Database, as former: String) throws {
        let temporary = try WholeFile.make(for: former)
        defer { WholeFile.discard(temporary) }
        let kept = try DatabaseQueue(path: temporary, configuration: DetachedDatabase.settings)
        try kept.writeWithoutTransaction { kept in try live.backup(to: kept) }
        try kept.close()
        try WholeFile.name(temporary, former, replaces: false)
    }
}
