import GRDB
import GRDBSQLite

/// A connection with its prepared statements.
///
/// The statements are prepared and run through SQLite's C functions: a sign-in runs several, and GRDB's statements,
/// arguments and rows would cost more than SQLite's work. GRDB opens the connection, and runs what changes the schema.
///
/// Used on the connection's queue only.
package final class SQLiteDatabase {
    let db: Database
    /// The statements with a number, by it.
    private var numbered: [OpaquePointer?] = []
    private var others: [String: OpaquePointer] = [:]

    init(_ db: Database) { self.db = db }

    /// The prepared statement of a text.
    func statement(_ sql: SQL) throws(DatabaseError) -> OpaquePointer {
        guard let number = sql.number else {
            if let statement = others[sql.text] { return statement }
            let statement = try prepare(sql.text)
            others[sql.text] = statement
            return statement
        }
        if number < numbered.count, let statement = numbered[number] { return statement }
        let statement = try prepare(sql.text)
        if number >= numbered.count {
            numbered += Array(repeating: nil, count: number + 1 - numbered.count)
        }
        numbered[number] = statement
        return statement
    }

    /// Gives the statements back: a connection with statements cannot be closed.
    func finalizeStatements() {
        for case let statement? in numbered { sqlite3_finalize(statement) }
        for statement in others.values { sqlite3_finalize(statement) }
        numbered = []
        others = [:]
    }

    deinit { finalizeStatements() }

    private func prepare(_ text: String) throws(DatabaseError) -> OpaquePointer {
        var statement: OpaquePointer?
        let result = sqlite3_prepare_v3(
            db.sqliteConnection, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        if result == SQLITE_OK, let statement { return statement }
        throw failure(result, of: text)
    }

    var isInTransaction: Bool { sqlite3_get_autocommit(db.sqliteConnection) == 0 }

    /// How many rows the last statement changed.
    var changesCount: Int { Int(sqlite3_changes(db.sqliteConnection)) }

    /// How many rows all statements have changed since the connection was opened.
    var totalChanges: Int64 { sqlite3_total_changes64(db.sqliteConnection) }

    /// The number of the last row that a statement inserted.
    var lastInsertedNumber: Int64 { sqlite3_last_insert_rowid(db.sqliteConnection) }

    /// The connection's last error.
    func failure(_ result: CInt, of text: String) -> DatabaseError {
        DatabaseError(
            resultCode: ResultCode(rawValue: result), message: String(cString: sqlite3_errmsg(db.sqliteConnection)),
            sql: text)
    }
}
