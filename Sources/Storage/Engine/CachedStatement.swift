import CLatchkeySQLite
import Primitives
package import StorageModel

/// One run of a statement that its connection keeps prepared.
///
/// Values are bound and columns read through the C functions of SQLite, or by the engine of PostgreSQL. Statements that
/// change the schema do not belong here.
///
/// Most code runs statements through ``SQLSession/run(_:_:)`` and its siblings.
public struct CachedStatement: ~Copyable {
    private let sql: SQL
    /// Nil on PostgreSQL.
    private let sqlite: SQLiteConnection?
    private let handle: OpaquePointer?
    /// Nil on SQLite.
    private let postgres: (any PostgresStatement)?
    private var bound: CInt = 0
    private var bindingResult = SQLITE_OK

    package init(_ session: SQLSession, _ sql: SQL) throws {
        self.sql = sql
        switch session.engine {
        case .sqlite(let connection):
            handle = try connection.statement(sql)
            sqlite = connection
            postgres = nil
        case .postgres(let connection):
            handle = nil
            sqlite = nil
            postgres = connection.statement(sql.text)
        }
    }

    // A statement that is left between two rows would hold its snapshot, and with it the write-ahead log.
    deinit {
        guard let handle else { return }
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    // MARK: Binding, in the order of the statement's question marks

    /// Binds values, each to one question mark or, for values of several columns, to several.
    @inline(__always)
    package mutating func bind<each Value: SQLValue>(_ values: repeat each Value) {
        repeat (each values).bind(to: &self)
    }

    /// Binds an array for each column of rows, with the same columns in each. PostgreSQL only.
    /// - Parameter rows: At least one.
    package mutating func bindRows<Row>(_ rows: some Sequence<Row>, _ bind: (Row, inout CachedStatement) -> Void) {
        for row in rows {
            postgres?.beginRow()
            bind(row, &self)
        }
        postgres?.endRows()
    }

    package mutating func bind(_ text: String) {
        if let postgres { return postgres.bind(text) }
        let position = position()
        let result = text.withBytes { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                guard let start = characters.baseAddress else { return sqlite3_bind_text(handle, position, "", 0, nil) }
                return sqlite3_bind_text64(
                    handle, position, start, UInt64(characters.count), copied, UInt8(SQLITE_UTF8))
            }
        }
        keep(result)
    }

    package mutating func bind(_ number: Int64) {
        if let postgres { return postgres.bind(number) }
        keep(sqlite3_bind_int64(handle, position(), number))
    }

    package mutating func bind(_ bytes: UnsafeRawBufferPointer) {
        if let postgres { return postgres.bind(bytes) }
        // An address of nil would bind NULL.
        guard let start = bytes.baseAddress else { return keep(sqlite3_bind_zeroblob(handle, position(), 0)) }
        keep(sqlite3_bind_blob64(handle, position(), start, UInt64(bytes.count), copied))
    }

    package mutating func bindNull(_ kind: TableShape.Kind) {
        if let postgres { return postgres.bindNull(kind) }
        // What has no value is NULL: the values of the last run were cleared.
        bound += 1
    }

    private mutating func position() -> CInt {
        bound += 1
        return bound
    }

    private mutating func keep(_ result: CInt) {
        if bindingResult == SQLITE_OK { bindingResult = result }
    }

    // MARK: Running

    /// Steps to the next row; false after the last one.
    package func next() throws -> Bool {
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

    /// Runs a statement whose result is not needed: see ``SQLSession/perform(_:_:)``.
    package func perform() throws {
        if let postgres { return try postgres.perform() }
        try run()
    }

    private func failure(_ result: CInt) -> SQLiteError {
        sqlite?.failure(result, of: sql.text) ?? SQLiteError(result, String(cString: sqlite3_errstr(result)))
    }

    // MARK: Reading the current row, by column from 0

    package var isPostgres: Bool { postgres != nil }

    /// The number; 0 for NULL.
    public func number(_ column: CInt) -> Int64 {
        if let postgres { return postgres.number(column) }
        return sqlite3_column_int64(handle, column)
    }

    /// Whether the column is NULL.
    public func isNull(_ column: CInt) -> Bool {
        if let postgres { return postgres.isNull(column) }
        return sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    /// The text; nil for NULL.
    public func optionalText(_ column: CInt) -> String? {
        if let postgres { return postgres.text(column) }
        guard let start = sqlite3_column_text(handle, column) else { return nil }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    /// Gives the bytes to `body`; none for NULL.
    private func withBytes<Value>(_ column: CInt, _ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        if let postgres { return body(postgres.bytes(column)) }
        // The length is asked for after the address, as SQLite's documentation of both demands.
        let start = sqlite3_column_blob(handle, column)
        return body(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }

    /// The bytes; none for NULL.
    public func blob(_ column: CInt) -> [UInt8] { withBytes(column) { Array($0) } }

    /// The hash; nil for NULL.
    package func optionalHash(_ column: CInt) -> TokenHash? { withBytes(column) { TokenHash($0) } }

    /// The hash in a column that is declared NOT NULL.
    package func hash(_ column: CInt) throws -> TokenHash { try required(optionalHash(column), "hash") }

    /// The text in a column that is declared NOT NULL.
    public func text(_ column: CInt) throws -> String { try required(optionalText(column), "text") }

    private func required<Value>(_ value: Value?, _ kind: StaticString) throws -> Value {
        if let value { return value }
        throw StorageError(.corrupt, reason: "a required \(kind) is missing in: \(sql.text)")
    }
}

/// SQLITE_TRANSIENT, a macro that Swift does not see: SQLite copies the bytes before the call returns.
private let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
