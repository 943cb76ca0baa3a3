import GRDB
public import StorageModel

/// A copy of a database in one file, that can be put in its place again.
public struct DatabaseBackup: Sendable, Hashable {
    /// In bytes.
    public let size: Int64
    /// How many steps the database had been through.
    public let steps: Int

    /// Copies the database that a configuration names as it is at one moment, also while servers read and write it. Blocks.
    ///
    /// The copy is written beside its place under another name, looked through, flushed, and then named: there is a whole
    /// backup or none. It is for its owner's eyes only.
    ///
    /// - Parameter replaces: Whether a file that is at the path gives way.
    /// - Throws: ``StorageError``, and then there is no new file.
    public static func make(
        of configuration: SQLiteConfiguration, at path: String, replaces: Bool
    ) throws(StorageError) -> DatabaseBackup {
        let (database, target) = (try DatabaseFile(configuration.path), try DatabaseFile(path).path)
        guard let size = try database.size(), size > 0 else {
            throw StorageError(.unavailable, reason: "there is no database at \(configuration.path)")
        }
        try Self.refuse(target, as: database.path, replaces: replaces)
        let temporary = try WholeFile.make(for: target)
        do {
            let backup = try copy(database.path, configuration, into: temporary)
            try WholeFile.name(temporary, target, replaces: replaces)
            return backup
        } catch {
            WholeFile.discard(temporary)
            let error = StorageError(error)
            throw StorageError(
                error.code, reason: "the database \(configuration.path) was not backed up: \(error.reason)")
        }
    }

    /// Above all, a backup never takes the place of the database, or of what belongs to it.
    private static func refuse(_ path: String, as database: String, replaces: Bool) throws(StorageError) {
        guard let there = WholeFile.Attributes(path) else { return }
        for suffix in ["", "-wal", "-shm", "-journal"] {
            if let own = WholeFile.Attributes(database + suffix), own.isSameFile(as: there) {
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

    /// In one step: the copy is of one moment, and those who write meanwhile do not have it begin anew.
    private static func copy(
        _ database: String, _ configuration: SQLiteConfiguration, into path: String
    ) throws -> DatabaseBackup {
        let copy = try DatabaseQueue(path: path, configuration: DetachedDatabase.settings)
        let steps = try SQLiteConnections.read(database, configuration) { db in
            try Schema.validate(db)
            try copy.writeWithoutTransaction { copy in try db.backup(to: copy) }
            return try Schema.migrationCount(db)
        }
        try copy.writeWithoutTransaction { db in
            try DetachedDatabase.settle(db)
            try DetachedDatabase.check(db)
        }
        try copy.close()
        return DatabaseBackup(size: WholeFile.Attributes(path)?.size ?? 0, steps: steps)
    }
}

/// A database in a file that nobody else has open.
enum DetachedDatabase {
    static let settings: Configuration = {
        var settings = Configuration()
        settings.label = "latchkey.copy"
        settings.foreignKeysEnabled = false
        settings.publicStatementArguments = false
        settings.allowsUnsafeTransactions = true
        settings.prepareDatabase { db in
            // It may have come from anywhere: nothing that stands in its schema is run, and no page is believed.
            try db.execute(sql: "PRAGMA trusted_schema = OFF")
            try db.execute(sql: "PRAGMA cell_size_check = ON")
            try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
            // Until it has its name, nobody misses it.
            try db.execute(sql: "PRAGMA synchronous = OFF")
        }
        return settings
    }()

    /// Sees that all of it is in the one file, with no log beside it.
    static func settle(_ db: Database) throws {
        let mode = try String.fetchOne(db, sql: "PRAGMA journal_mode = DELETE") ?? ""
        guard mode == "delete" else {
            throw StorageError(.unavailable, reason: "its log cannot be put away (journal_mode is \(mode))")
        }
    }

    /// Looks through all of its pages, indexes and references.
    static func check(_ db: Database) throws {
        let found = try String.fetchOne(db, sql: "PRAGMA integrity_check(1)") ?? "nothing was found"
        guard found == "ok" else { throw StorageError(.corrupt, reason: "it is damaged: \(found)") }
        guard try Row.fetchOne(db, sql: "PRAGMA foreign_key_check") == nil else {
            throw StorageError(.corrupt, reason: "it is damaged: a row refers to one that is missing")
        }
    }
}
