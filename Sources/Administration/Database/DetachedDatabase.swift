import Storage
import StorageModel

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

    /// How many rows each table has.
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
