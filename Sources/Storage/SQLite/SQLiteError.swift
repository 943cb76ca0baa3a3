import CLatchkeySQLite
package import StorageModel

/// A failure of SQLite. Has the statement, and never the values bound to it.
package struct SQLiteError: EngineError {
    /// The extended result: https://www.sqlite.org/rescode.html
    let result: CInt
    let message: String
    let sql: String?

    init(_ result: CInt, _ message: String, sql: String? = nil) {
        self.result = result
        self.message = message
        self.sql = sql
    }

    package var storageError: StorageError {
        let statement = sql.map { " in: \($0)" } ?? ""
        return StorageError(StorageError.Code(result), reason: "\(message) (SQLite result \(result))\(statement)")
    }

    /// Whether another connection has the database locked.
    package var isBusy: Bool { primaryResult == SQLITE_BUSY }

    /// The result that stands for all its extended results.
    var primaryResult: CInt { result & 0xFF }
}

extension StorageError.Code {
    /// See https://www.sqlite.org/rescode.html for what each result says.
    init(_ result: CInt) {
        switch result {
        case csqlite_ioerr_read, csqlite_ioerr_lock, csqlite_ioerr_nomem, csqlite_ioerr_blocked: self = .unavailable
        case csqlite_ioerr_short_read, csqlite_ioerr_corruptfs, csqlite_ioerr_data: self = .corrupt
        default: self.init(primary: result & 0xFF)
        }
    }

    private init(primary result: CInt) {
        switch result {
        // A failed write or flush is an IOERR, too.
        case SQLITE_FULL, SQLITE_READONLY, SQLITE_IOERR: self = .full
        // ERROR: a statement does not match the tables.
        case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_MISMATCH, SQLITE_FORMAT, SQLITE_ERROR: self = .corrupt
        case SQLITE_CONSTRAINT: self = .conflict
        default: self = .unavailable
        }
    }
}
