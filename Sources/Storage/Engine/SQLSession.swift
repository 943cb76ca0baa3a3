import StorageModel

/// A connection during callers' work, as the tables' code sees it: the same code runs on every engine.
///
/// The SQL uses what the engines have in common: `ON CONFLICT` and `RETURNING`, `NULLS FIRST` where NULLs are ordered,
/// `IS NOT DISTINCT FROM` where they are compared, a name for every subquery that is selected from.
///
/// ```swift
/// let count = try db.run("DELETE FROM users WHERE id = ?", user)
/// let name = try db.first("SELECT name FROM users WHERE id = ?", user) { row in try row.text(0) }
/// ```
public struct SQLSession {
    package enum Engine {
        case sqlite(SQLiteConnection)
        case postgres(any PostgresSession)
    }

    package let engine: Engine

    package static func sqlite(_ connection: SQLiteConnection) -> SQLSession { SQLSession(engine: .sqlite(connection)) }

    package static func postgres(_ connection: any PostgresSession) -> SQLSession {
        SQLSession(engine: .postgres(connection))
    }

    /// For statements that the engines cannot share.
    package var isPostgres: Bool {
        switch engine {
        case .sqlite: false
        case .postgres: true
        }
    }

    /// How many rows the last statement changed.
    private var changesCount: Int {
        switch engine {
        case .sqlite(let connection): connection.changesCount
        case .postgres(let connection): connection.changesCount
        }
    }

    /// Runs a statement that a caller needs no result of.
    ///
    /// PostgreSQL gets it with the next statement that has a result, or with the commit, and its failure is thrown
    /// there. So a failure cannot be caught to act on it: it undoes the transaction. SQLite runs it at once.
    @inline(__always)
    public func perform<each Value: SQLValue>(_ sql: SQL, _ values: repeat each Value) throws {
        var statement = try CachedStatement(self, sql)
        statement.bind(repeat each values)
        try statement.perform()
    }

    /// Runs a statement to its end; returns how many rows it changed.
    @inline(__always)
    public func run<each Value: SQLValue>(_ sql: SQL, _ values: repeat each Value) throws -> Int {
        var statement = try CachedStatement(self, sql)
        statement.bind(repeat each values)
        try statement.run()
        return changesCount
    }

    /// Runs an INSERT of one row; returns the number that the database gave to a column of it.
    func insert<each Value: SQLValue>(
        _ sql: SQL, _ values: repeat each Value, numbering column: StaticString
    ) throws -> Int64 {
        switch engine {
        case .sqlite(let connection):
            try perform(sql, repeat each values)
            return connection.lastInsertedNumber
        case .postgres:
            let number = try first("\(sql.text) RETURNING \(column)", repeat each values) { $0.number(0) }
            if let number { return number }
            throw StorageError(.corrupt, reason: "no number was given by: \(sql.text)")
        }
    }

    /// Reads the first row of a statement; nil if it has none. Only for queries: SQLite returns a row of RETURNING
    /// before the statement has ended.
    @inline(__always)
    public func first<each Value: SQLValue, Row>(
        _ sql: SQL, _ values: repeat each Value, read: (borrowing CachedStatement) throws -> Row
    ) throws -> Row? {
        var statement = try CachedStatement(self, sql)
        statement.bind(repeat each values)
        return try statement.next() ? read(statement) : nil
    }

    /// Reads all rows of a statement.
    public func all<each Value: SQLValue, Row>(
        _ sql: SQL, _ values: repeat each Value, read: (borrowing CachedStatement) throws -> Row
    ) throws -> [Row] {
        var statement = try CachedStatement(self, sql)
        statement.bind(repeat each values)
        var rows: [Row] = []
        while try statement.next() { rows.append(try read(statement)) }
        return rows
    }

    /// The counts of a query of texts and numbers.
    func counts(_ sql: SQL) throws -> [String: Int] {
        // Swift takes canonically equivalent ids for the same; the database groups by bytes.
        Dictionary(try all(sql) { row in (try row.text(0), Int(row.number(1))) }, uniquingKeysWith: +)
    }

    /// Whether a query has a row.
    @inline(__always)
    public func exists<each Value: SQLValue>(_ sql: SQL, _ values: repeat each Value) throws -> Bool {
        try first(sql, repeat each values) { _ in true } ?? false
    }

    /// The number in the first column of a query's only row, such as a count; 0 if there is no row.
    public func number<each Value: SQLValue>(_ sql: SQL, _ values: repeat each Value) throws -> Int64 {
        try first(sql, repeat each values) { $0.number(0) } ?? 0
    }
}
