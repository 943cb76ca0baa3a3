import StorageModel

/// A value on its way from one database to another.
enum TransferValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case text(String)
    case blob([UInt8])
}

/// Some rows of a table, each with a value for each column.
typealias TransferRows = [[TransferValue]]

extension TableShape {
    /// Rows at a time: what is in memory of a table, however many it has.
    private static let batch = 500

    /// Hands out all rows, some at a time.
    func readRows(in db: SQLSession, _ body: (TransferRows) throws -> Void) throws {
        switch db {
        case .sqlite: try readOneAfterTheOther(in: db, body)
        case .postgres(let connection): try readThroughCursor(on: connection, body)
        }
    }

    func rowCount(in db: SQLSession) throws -> Int64 {
        let query = try CachedStatement(db, "SELECT count(*) FROM \(name)")
        return try query.next() ? query.number(0) : 0
    }

    func isEmpty(in db: SQLSession) throws -> Bool {
        let query = try CachedStatement(db, "SELECT 1 FROM \(name) LIMIT 1")
        return try !query.next()
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

    /// libpq would keep all rows of a plain SELECT in memory.
    private func readThroughCursor(
        on connection: PostgresConnection, _ body: (TransferRows) throws -> Void
    ) throws {
        let cursor = "rows_of_\(name)"
        try connection.script("DECLARE \(cursor) NO SCROLL CURSOR FOR SELECT \(columnNames) FROM \(name)")
        while true {
            var rows: TransferRows = []
            let query = try CachedStatement(.postgres(connection), "FETCH FORWARD \(Self.batch) FROM \(cursor)")
            while try query.next() { rows.append(try values(in: query)) }
            if rows.isEmpty { break }
            try body(rows)
        }
        try connection.script("CLOSE \(cursor)")
    }

    private func values(in query: borrowing CachedStatement) throws -> [TransferValue] {
        var values: [TransferValue] = []
        values.reserveCapacity(columns.count)
        for (index, column) in columns.enumerated() {
            let position = CInt(index)
            if query.isNull(position) {
                values.append(.null)
                continue
            }
            switch column.kind {
            case .integer: values.append(.integer(query.number(position)))
            case .blob: values.append(.blob(query.blob(position)))
            case .text: values.append(.text(try text(in: query, position, column)))
            }
        }
        return values
    }

    /// SQLite takes any bytes for a text, and PostgreSQL does not.
    private func text(
        in query: borrowing CachedStatement, _ position: CInt, _ column: Column
    ) throws -> String {
        guard let text = query.text(position) else {
            throw StorageError(.corrupt, reason: "a value of \(name).\(column.name) cannot be read")
        }
        guard !query.isPostgres, !text.utf8.elementsEqual(query.blob(position)) else { return text }
        throw StorageError(
            .corrupt,
            reason: """
                a text in the column \(column.name) of the table \(name) is not UTF-8, and could not be the same \
                afterwards; correct it in the source, or delete its row there
                """)
    }

    /// Stores rows as they are, with their numbers.
    func insert(_ rows: TransferRows, in db: SQLSession) throws {
        switch db {
        case .sqlite:
            let marks = columns.map { _ in "?" }.joined(separator: ", ")
            for row in rows {
                var statement = try CachedStatement(db, "INSERT INTO \(name) (\(columnNames)) VALUES (\(marks))")
                for (value, column) in zip(row, columns) { statement.bind(value, as: column.kind) }
                try statement.run()
            }
        case .postgres(let connection):
            let marks = columns.map { _ in "?" }.joined(separator: ", ")
            let arrays = columns.indices.map { index in
                PostgresValue(array: rows.map { $0[index] }, of: columns[index].kind)
            }
            _ = try connection.run(
                "INSERT INTO \(name) (\(columnNames)) SELECT * FROM unnest(\(marks))", arrays)
        }
    }

    // MARK: Numbers

    /// The highest number that was ever given to a row; 0 if none was.
    func lastNumber(in db: SQLSession) throws -> Int64 {
        guard let numbered else { return 0 }
        let highest = try number("SELECT coalesce(max(\(numbered)), 0) FROM \(name)", in: db)
        switch db {
        case .sqlite:
            guard remembersNumbers else { return highest }
            return max(
                highest, try number("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '\(name)'", in: db))
        case .postgres:
            let query = try CachedStatement(db, "SELECT pg_get_serial_sequence('\(name)', '\(numbered)')")
            guard try query.next(), let sequence = query.text(0) else { return highest }
            let given = "SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM \(sequence)"
            return max(highest, try number(given, in: db))
        }
    }

    /// Has the next row that is made get the number behind `last`.
    func continueNumbers(after last: Int64, in db: SQLSession) throws {
        guard let numbered, last > 0 else { return }
        switch db {
        case .sqlite:
            guard remembersNumbers else { return }
            try CachedStatement(db, "DELETE FROM sqlite_sequence WHERE name = '\(name)'").run()
            try CachedStatement(db, "INSERT INTO sqlite_sequence (name, seq) VALUES ('\(name)', \(last))").run()
        case .postgres(let connection):
            // Unlike setval(), this is undone with its transaction.
            try connection.script("ALTER TABLE \(name) ALTER COLUMN \(numbered) RESTART WITH \(last + 1)")
        }
    }

    private func number(_ sql: String, in db: SQLSession) throws -> Int64 {
        let query = try CachedStatement(db, sql)
        return try query.next() ? query.number(0) : 0
    }
}

extension CachedStatement {
    fileprivate mutating func bind(_ value: TransferValue, as kind: TableShape.Kind) {
        switch (value, kind) {
        case (.integer(let number), _): bind(number)
        case (.text(let text), _): bind(text)
        case (.blob(let bytes), _): bind(blob: bytes)
        case (.null, .integer): bind(Int64?.none)
        case (.null, .text): bind(String?.none)
        case (.null, .blob): bind(blob: [UInt8]?.none)
        }
    }
}
