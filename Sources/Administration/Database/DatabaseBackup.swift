package import Storage
package import StorageModel

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
    /// - Parameter replaces: Whether an existing file at the path is replaced.
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
