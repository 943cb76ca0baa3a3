import GRDB
import StorageModel

extension StorageError {
    /// Translates a failure of the database. The reason contains the statement, never the values bound to it.
    init(_ error: any Error) {
        switch error {
        case let error as StorageError: self = error
        case let error as DatabaseError: self.init(error)
        case let error as PostgresError: self.init(error)
        default: self.init(.unavailable, reason: "the database gave an unknown error")
        }
    }

    /// Translates a failure, with what failed before its reason.
    init(_ error: any Error, _ failed: String) {
        let error = StorageError(error)
        self.init(error.code, reason: "\(failed): \(error.reason)")
    }

    private init(_ error: DatabaseError) {
        let message = error.message ?? "no further explanation"
        let statement = error.sql.map { " in: \($0)" } ?? ""
        self.init(
            Code(error.extendedResultCode),
            reason: "\(message) (SQLite result \(error.extendedResultCode.rawValue))\(statement)")
    }
}

extension StorageError.Code {
    /// See https://www.sqlite.org/rescode.html for what each result says.
    init(_ result: ResultCode) {
        switch result {
        case .SQLITE_IOERR_READ, .SQLITE_IOERR_LOCK, .SQLITE_IOERR_NOMEM, .SQLITE_IOERR_BLOCKED: self = .unavailable
        case .SQLITE_IOERR_SHORT_READ, .SQLITE_IOERR_CORRUPTFS, .SQLITE_IOERR_DATA: self = .corrupt
        // From here on each result stands for all its extended results. A failed write or flush is an IOERR, too.
        case .SQLITE_FULL, .SQLITE_READONLY, .SQLITE_IOERR: self = .full
        // ERROR: a statement does not match the tables.
        case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_MISMATCH, .SQLITE_FORMAT, .SQLITE_ERROR: self = .corrupt
        case .SQLITE_CONSTRAINT: self = .conflict
        default: self = .unavailable
        }
    }
}
