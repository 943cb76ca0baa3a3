import CLatchkeySQLite

/// A connection to a database in a file or in memory, with its prepared statements.
///
/// `@unchecked`: one thread uses it at a time. Who opens it hands it on to the thread that runs its work.
package final class SQLiteConnection: @unchecked Sendable {
    /// In memory, for a database that ends with its connection.
    package static let inMemory = ":memory:"

    /// The open connection; nil once it is closed.
    private(set) var handle: OpaquePointer?
    let busyMilliseconds: CInt
    /// The statements with a number, by it.
    private var numbered: [OpaquePointer?] = []
    private var others: [String: OpaquePointer] = [:]

    /// Opens a database, and reads its first page.
    /// - Parameters:
    ///   - isReadOnly: Otherwise the file is made if it is missing.
    ///   - busyMilliseconds: How long a statement waits for other connections.
    ///   - settings: Statements that are run before the first page is read.
    /// - Throws: ``SQLiteError``, also for a file that is not a database.
    package init(
        _ path: String, isReadOnly: Bool = false, busyMilliseconds: CInt = 0, enforcesForeignKeys: Bool = true,
        settings: [String] = []
    ) throws(SQLiteError) {
        self.busyMilliseconds = busyMilliseconds
        let access = isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        // Without a lock, because one thread uses it at a time.
        let result = sqlite3_open_v2(path, &handle, access | SQLITE_OPEN_NOMUTEX, nil)
        guard result == SQLITE_OK else {
            let error = failure(result)
            sqlite3_close(handle)
            handle = nil
            throw error
        }
        sqlite3_extended_result_codes(handle, 1)
        sqlite3_busy_timeout(handle, busyMilliseconds)
        csqlite_refuse_double_quoted_texts(handle)
        try execute("PRAGMA foreign_keys = \(enforcesForeignKeys ? "ON" : "OFF")")
        for setting in settings { try execute(setting) }
        try execute("SELECT 1 FROM sqlite_schema LIMIT 1")
    }

    deinit {
        finalizeStatements()
        sqlite3_close_v2(handle)
    }

    /// Closes the connection, which is not used any more. The last connection to a database moves its log into it.
    package func close() throws(SQLiteError) {
        finalizeStatements()
        let result = sqlite3_close(handle)
        guard result == SQLITE_OK else { throw failure(result) }
        handle = nil
    }

    /// Runs statements that have no parameters and whose rows are not needed; they may change the schema.
    package func execute(_ script: String) throws(SQLiteError) {
        let result = sqlite3_exec(handle, script, nil, nil, nil)
        guard result == SQLITE_OK else { throw failure(result, of: script) }
    }

    // MARK: Prepared statements

    /// The prepared statement of a text.
    func statement(_ sql: SQL) throws(SQLiteError) -> OpaquePointer {
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

    private func prepare(_ text: String) throws(SQLiteError) -> OpaquePointer {
        var statement: OpaquePointer?
        let result = sqlite3_prepare_v3(handle, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        if result == SQLITE_OK, let statement { return statement }
        throw failure(result, of: text)
    }

    /// A connection with statements cannot be closed.
    private func finalizeStatements() {
        for case let statement? in numbered { sqlite3_finalize(statement) }
        for statement in others.values { sqlite3_finalize(statement) }
        numbered = []
        others = [:]
    }

    // MARK: State

    /// The connection as the tables' code sees it.
    package var session: SQLSession { .sqlite(self) }

    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// How many rows the last statement changed.
    var changesCount: Int { Int(sqlite3_changes(handle)) }

    /// How many rows all statements have changed since the connection was opened.
    var totalChanges: Int64 { sqlite3_total_changes64(handle) }

    /// The number of the last row that a statement inserted.
    var lastInsertedNumber: Int64 { sqlite3_last_insert_rowid(handle) }

    /// The connection's last error.
    func failure(_ result: CInt, of text: String? = nil) -> SQLiteError {
        SQLiteError(result, String(cString: sqlite3_errmsg(handle)), sql: text)
    }

    // MARK: Whole databases

    /// Copies the whole database over another connection's, in one step.
    package func copy(to target: SQLiteConnection) throws(SQLiteError) {
        guard let backup = sqlite3_backup_init(target.handle, "main", handle, "main") else {
            throw target.failure(sqlite3_extended_errcode(target.handle))
        }
        let step = sqlite3_backup_step(backup, -1)
        let end = sqlite3_backup_finish(backup)
        guard step == SQLITE_DONE else { throw SQLiteError(step, String(cString: sqlite3_errstr(step))) }
        guard end == SQLITE_OK else { throw target.failure(end) }
    }

    /// Moves the write-ahead log into the database.
    ///
    /// - Parameters:
    ///   - mode: `SQLITE_CHECKPOINT_PASSIVE` and its siblings.
    ///   - busyMilliseconds: How long it waits for other connections, if the mode waits for them.
    func checkpoint(_ mode: CInt, busyMilliseconds wait: CInt) throws(SQLiteError) {
        sqlite3_busy_timeout(handle, wait)
        defer { sqlite3_busy_timeout(handle, busyMilliseconds) }
        let result = sqlite3_wal_checkpoint_v2(handle, nil, mode, nil, nil)
        guard result == SQLITE_OK else { throw failure(result) }
    }

    // MARK: Space in the file that is not in use

    /// The pages that are kept for rows to come: an eighth, and at least 1 MiB.
    private static let reserve: Int64 = 256

    /// Gives some unused pages back to the file system, if there are more than a reserve. The file gets shorter with
    /// the next checkpoint.
    ///
    /// Only for databases made with `auto_vacuum`: others keep their unused pages for new rows.
    /// - Returns: Whether there is more to give back.
    func shorten(in db: SQLSession) throws -> Bool {
        guard try db.number("PRAGMA auto_vacuum") == 2 else { return false }
        let unused = try db.number("PRAGMA freelist_count")
        let reserve = max(Self.reserve, try db.number("PRAGMA page_count") / 8)
        guard unused > reserve else { return false }
        _ = try db.run("PRAGMA incremental_vacuum(64)")
        return unused - 64 > reserve
    }
}
