import GRDB
import GRDBSQLite
import StorageModel

/// One run of a statement that its connection keeps prepared.
///
/// Values are bound and columns read through SQLite's own calls, or libpq's: a sign-in runs several statements, and
/// GRDB's arguments and rows would cost more than SQLite's work. Statements that change the schema or open transactions which
/// GRDB should know of do not belong here.
///
/// ```swift
/// var statement = try CachedStatement(db, "SELECT name FROM users WHERE id = ?")
/// statement.bind(7)
/// let name = try statement.next() ? statement.text(0) : nil
/// ```
struct CachedStatement: ~Copyable {
    /// Nil on PostgreSQL.
    private let statement: Statement?
    private let handle: OpaquePointer?
    /// Nil on SQLite.
    private let postgres: PostgresRun?
    private var bound: CInt = 0
    private var bindingResult = SQLITE_OK

    /// - Parameter column: Of an INSERT, the column that the database numbers; ``runForNumber()`` tells the number.
    init(_ session: SQLSession, _ sql: String, numberedBy column: StaticString? = nil) throws {
        switch session {
        case .sqlite(let db):
            statement = try db.cachedStatement(sql: sql)
            postgres = nil
        case .postgres(let connection):
            statement = nil
            postgres = PostgresRun(connection, column.map { "\(sql) RETURNING \($0)" } ?? sql)
        }
        handle = statement?.sqliteStatement
    }

    // A statement left in the middle of its rows would hold its snapshot, and with it the write-ahead log.
    deinit {
        guard let handle else { return }
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    // MARK: Binding, in the order of the statement's question marks

    mutating func bind(_ text: String?) {
        if let postgres { return postgres.bind(PostgresValue(text)) }
        guard var text else { return note(sqlite3_bind_null(handle, position())) }
        let position = position()
        // By length, since a text may have a NUL inside.
        let result = text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                guard let start = characters.baseAddress else { return sqlite3_bind_text(handle, position, "", 0, nil) }
                return sqlite3_bind_text64(
                    handle, position, start, UInt64(characters.count), copied, UInt8(SQLITE_UTF8))
            }
        }
        note(result)
    }

    mutating func bind(_ number: Int64) {
        if let postgres { return postgres.bind(PostgresValue(number)) }
        note(sqlite3_bind_int64(handle, position(), number))
    }

    mutating func bind(_ number: Int64?) {
        if let postgres { return postgres.bind(PostgresValue(number)) }
        guard let number else { return note(sqlite3_bind_null(handle, position())) }
        bind(number)
    }

    mutating func bind(_ hash: TokenHash) {
        if let postgres { return postgres.bind(PostgresValue(blob: hash.bytes)) }
        let position = position()
        note(
            hash.withUnsafeBytes { bytes in
                sqlite3_bind_blob64(handle, position, bytes.baseAddress, UInt64(bytes.count), copied)
            })
    }

    mutating func bind(_ hash: TokenHash?) {
        if let postgres { return postgres.bind(PostgresValue(blob: hash?.bytes)) }
        guard let hash else { return note(sqlite3_bind_null(handle, position())) }
        bind(hash)
    }

    mutating func bind(blob bytes: [UInt8]) {
        if let postgres { return postgres.bind(PostgresValue(blob: bytes)) }
        let position = position()
        let result = bytes.withUnsafeBytes { bytes in
            sqlite3_bind_blob64(handle, position, bytes.baseAddress, UInt64(bytes.count), copied)
        }
        note(result)
    }

    mutating func bind(blob bytes: [UInt8]?) {
        if let postgres { return postgres.bind(PostgresValue(blob: bytes)) }
        guard let bytes else { return note(sqlite3_bind_null(handle, position())) }
        bind(blob: bytes)
    }

    private mutating func position() -> CInt {
        bound += 1
        return bound
    }

    private mutating func note(_ result: CInt) {
        if bindingResult == SQLITE_OK { bindingResult = result }
    }

    // MARK: Running

    /// Steps to the next row; false after the last one.
    func next() throws -> Bool {
        if let postgres { return try postgres.next() }
        guard bindingResult == SQLITE_OK else { throw failure(bindingResult) }
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let result: throw failure(result)
        }
    }

    /// Runs a statement to its end.
    func run() throws {
        while try next() {}
    }

    /// Runs an INSERT of one row and returns the number that the row got.
    func runForNumber() throws -> Int64 {
        if let postgres {
            guard try postgres.next() else { throw StorageError(.corrupt, reason: "no number came of: \(sql)") }
            return postgres.number(0)
        }
        try run()
        return sqlite3_last_insert_rowid(sqlite3_db_handle(handle))
    }

    private func failure(_ result: CInt) -> DatabaseError {
        DatabaseError(
            resultCode: ResultCode(rawValue: result),
            message: String(cString: sqlite3_errmsg(sqlite3_db_handle(handle))), sql: statement?.sql)
    }

    // MARK: Reading the row stepped to, by column from 0

    var isPostgres: Bool { postgres != nil }

    func number(_ column: CInt) -> Int64 {
        if let postgres { return postgres.number(column) }
        return sqlite3_column_int64(handle, column)
    }

    func isNull(_ column: CInt) -> Bool {
        if let postgres { return postgres.isNull(column) }
        return sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    /// The text, or nil for NULL.
    func text(_ column: CInt) -> String? {
        if let postgres { return postgres.text(column) }
        guard let start = sqlite3_column_text(handle, column) else { return nil }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    /// The bytes; none for NULL.
    func blob(_ column: CInt) -> [UInt8] {
        if let postgres { return postgres.bytes(column) }
        guard let start = sqlite3_column_blob(handle, column) else { return [] }
        return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }

    /// The hash in a column that is declared NOT NULL.
    func hash(_ column: CInt) throws -> TokenHash {
        if let hash = optionalHash(column) { return hash }
        throw StorageError(.corrupt, reason: "a hash does not have 32 bytes in: \(sql)")
    }

    /// The hash in a column; nil for NULL.
    func optionalHash(_ column: CInt) -> TokenHash? {
        if let postgres { return postgres.hash(column) }
        guard let start = sqlite3_column_blob(handle, column) else { return nil }
        return TokenHash(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }

    private var sql: String { statement?.sql ?? postgres?.sql ?? "" }

    /// The text of a column that is declared NOT NULL.
    func requiredText(_ column: CInt) throws -> String {
        if let text = text(column) { return text }
        throw StorageError(.corrupt, reason: "a required text is missing in: \(sql)")
    }
}

/// SQLITE_TRANSIENT, a macro that Swift does not see: SQLite copies the bytes before the call returns.
private let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
