import CLatchkeySQLite
import StorageModel

extension StorageError {
    /// Translates a failure of the database. The reason contains the statement, never the values bound to it.
    init(_ error: any Error) {
        switch error {
        case let error as StorageError: self = error
        case let error as SQLiteError: self.init(error)
        case let error as PostgresError: self.init(error)
        default: self.init(.unavailable, reason: "the database gave an unknown error")
        }
    }

    /// Translates a failure, with what failed before its reason.
    init(_ error: any Error, _ failed: String) {
        let error = StorageError(error)
        self.init(error.code, reason: "\(failed): \(error.reason)")
    }

    private init(_ error: SQLiteError) {
        let statement = error.sql.map { " in: \($0)" } ?? ""
        self.init(Code(error.result), reason: "\(error.message) (SQLite result \(error.result))\(statement)")
    }
}

extension StorageError.Code {
    /// See https://www.sqlite.org/rescode.html for what each result says.
    init(_ result: CInt) {
        switch result {
        case csqlite_ioerr_read, csqlite_ioerr_lock, csqlite_ioerr_nomem, csqlite_ioerr_blocked: self = .unavailable
        case csqlite_ioerr_short_read, csqlite_ioerr_corruptfs, csqlite_ioerr_data: self = .corrupt
        default: self.init(primary: SQLiteError.primary(result))
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

/// A failure of SQLite. Has the statement, and never the values bound to it.
struct SQLiteError: Error, Sendable {
    /// The extended result: https://www.sqlite.org/rescode.html
    let result: CInt
    let message: String
    let sql: String?

    init(_ result: CInt, _ message: String, sql: String? = nil) {
        self.result = result
        self.message = message
        self.sql = sql
    }

    /// The result that stands for all its extended results.
    var primaryResult: CInt { Self.primary(result) }

    static func primary(_ result: CInt) -> CInt { result & 0xFF }
}
