import Storage
import StorageModel

/// A value that is copied from one database to another.
enum TransferValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case text(String)
    case blob([UInt8])
}

/// Some rows of a table, each with a value for each column.
typealias TransferRows = [[TransferValue]]

extension TableShape {
    /// The number of rows in memory at a time.
    private static let batch = 500

    /// Reads all rows, in batches.
    func readRows(in db: SQLSession, _ body: (TransferRows) throws -> Void) throws {
        switch db.engine {
        case .sqlite: try readOneAfterTheOther(in: db, body)
        case .postgres(let connection): try readThroughCursor(on: connection, body)
        }
    }

    private func readOneAfterTheOther(in db: SQLSession, _ body: (TransferRows) throws -> Void) throws {
        let query = try CachedStatement(db, "SELECT \(columnNames) FROM \(name)")
        var rows: TransferRows = []
        while try query.next() {
            rows.append(try values(in: query))
            guard rows.count == Self.batch else { continue }
            try body(rows)
            rows.removeAll(keepingCapacity: true)
        }
        if !rows.isEmpty { try body(rows) }
    }

    /// Through a cursor, because libpq keeps all rows of a plain SELECT in memory.
    private func readThroughCursor(
        on connection: any PostgresSession, _ body: (TransferRows) throws -> Void
    ) throws {
        let cursor = "rows_of_\(name)"
        try connection.script("DECLARE \(cursor) NO SCROLL CURSOR FOR SELECT \(columnNames) FROM \(name)")
        while true {
            let rows = try SQLSession.postgres(connection).all(
                "FETCH FORWARD \(Self.batch) FROM \(cursor)", read: values(in:))
            if rows.isEmpty { break }
            try body(rows)
        }
        try connection.script("CLOSE \(cursor)")
    }

    private func values(in query: borrowing CachedStatement) throws -> [TransferValue] {
        var values: [TransferValue] = []
        for (index, column) in columns.enumerated() {
            let position = CInt(index)
            switch column.kind {
            case _ where query.isNull(position): values.append(.null)
            case .integer: values.append(.integer(query.number(position)))
            case .blob: values.append(.blob(query.blob(position)))
            case .text: values.append(.text(try text(in: query, position, column)))
            }
        }
        return values
    }

    /// SQLite accepts any bytes as a text; PostgreSQL accepts UTF-8 without NUL.
    private func text(in query: borrowing CachedStatement, _ position: CInt, _ column: Column) throws -> String {
        guard let text = query.optionalText(position) else {
            throw StorageError(.corrupt, reason: "a value of \(name).\(column.name) cannot be read")
        }
        guard !query.isPostgres, !text.utf8.elementsEqual(query.blob(position)) || text.utf8.contains(0) else {
            return text
        }
        throw StorageError(
            .corrupt,
            reason: """
                a text in the column \(column.name) of the table \(name) is not UTF-8, or has a NUL, and cannot be \
                copied unchanged; correct it in the source, or delete its row there
                """)
    }

    /// Stores rows unchanged, with their numbers.
    func insert(_ rows: TransferRows, in db: SQLSession) throws {
        let marks = columns.map { _ in "?" }.joined(separator: ", ")
        for row in rows {
            var statement = try CachedStatement(db, "INSERT INTO \(name) (\(columnNames)) VALUES (\(marks))")
            for (value, column) in zip(row, columns) { value.bind(to: &statement, as: column.kind) }
            try statement.perform()
        }
    }

    // MARK: Numbers

    /// The highest number that a row ever had; 0 if there was none.
    func lastNumber(in db: SQLSession) throws -> Int64 {
        guard let numbered else { return 0 }
        let highest = try db.number("SELECT coalesce(max(\(numbered)), 0) FROM \(name)")
        switch db.engine {
        case .sqlite:
            guard remembersNumbers else { return highest }
            return max(
                highest, try db.number("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '\(name)'"))
        case .postgres:
            let sequence = try db.first("SELECT pg_get_serial_sequence('\(name)', '\(numbered)')") {
                $0.optionalText(0)
            }
            guard let sequence = sequence ?? nil else { return highest }
            let given = "SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM \(sequence)"
            return max(highest, try db.number(SQL(given)))
        }
    }

    /// Makes the next row's number `last + 1`.
    func continueNumbers(after last: Int64, in db: SQLSession) throws {
        guard let numbered, last > 0 else { return }
        switch db.engine {
        case .sqlite:
            guard remembersNumbers else { return }
            try db.perform("DELETE FROM sqlite_sequence WHERE name = ?", name)
            try db.perform("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", name, last)
        case .postgres(let connection):
            // Unlike setval(), this is rolled back with its transaction.
            try connection.script("ALTER TABLE \(name) ALTER COLUMN \(numbered) RESTART WITH \(last + 1)")
        }
    }
}

extension TransferValue {
    fileprivate func bind(to statement: inout CachedStatement, as kind: TableShape.Kind) {
        switch self {
        case .integer(let number): statement.bind(number)
        case .text(let text): statement.bind(text)
        case .blob(let bytes): statement.bind(bytes)
        case .null: statement.bindNull(kind)
        }
    }
}
