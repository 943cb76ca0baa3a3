package import Storage
package import StorageModel

/// A complete copy of a database into an empty one, on either engine.
package struct DatabaseTransfer: Sendable, Hashable {
    package struct Table: Sendable, Hashable {
        package let name: String
        package let rows: Int64
    }

    package struct Progress: Sendable, Hashable {
        package let table: String
        package let rows: Int64
        /// How many rows the table has.
        package let total: Int64
        /// Whether the stored rows are being read again.
        package let isChecking: Bool
    }

    package let tables: [Table]

    /// Copies all rows with their numbers, in one transaction of the target; reads them again there, and commits only
    /// if they are identical. Blocks.
    ///
    /// The call has both databases for itself: a database that a server has open is refused. Only some rows are in
    /// memory at a time. An interruption of the process or of a connection leaves the target unchanged.
    ///
    /// - Parameters:
    ///   - target: Has the tables of this version and no rows, or no tables yet; then they are made.
    ///   - isCancelled: Called between batches.
    /// - Throws: ``StorageError``, and then nothing was copied, unless the reason says that this is unknown.
    package static func run(
        from source: any DatabaseLocation, to target: any DatabaseLocation, onProgress: (Progress) -> Void = { _ in },
        isCancelled: () -> Bool = { false }
    ) throws(StorageError) -> DatabaseTransfer {
        do {
            try refuse(source, target)
            let shapes = try TableShape.all(with: source.featureTables)
            return try source.alone(as: "the source", shapes) { from in
                try refuseUnknownTables(in: from, beside: shapes)
                return try target.alone(as: "the target", shapes) { to in
                    try refuseRows(of: shapes, in: to)
                    let tables = try shapes.map { shape in
                        try copy(shape, from, to) { progress in
                            if isCancelled() { throw StorageError(.closed, reason: "it was interrupted") }
                            onProgress(progress)
                        }
                    }
                    return DatabaseTransfer(tables: tables)
                }
            }
        } catch let error as UnknownOutcome {
            throw StorageError(
                .unavailable,
                reason: """
                    the connection was lost during the commit, so it is unknown whether the target has all rows or \
                    none; repeat the command: if the rows are there, the target is refused as not empty: \
                    \(error.reason)
                    """)
        } catch {
            throw StorageError(error, "nothing was copied")
        }
    }

    /// The checks before a database is opened for writing.
    private static func refuse(_ source: any DatabaseLocation, _ target: any DatabaseLocation) throws(StorageError) {
        guard !source.isSame(as: target) else {
            throw StorageError(.unavailable, reason: "source and target are the same database")
        }
        let there = try steps(of: source, "the source")
        guard !there.done.isEmpty else {
            throw StorageError(.unavailable, reason: "the source has no tables of Latchkey; name another database")
        }
        guard there.pending.isEmpty else { throw older("the source") }
        let here = try steps(of: target, "the target")
        guard here.done.isEmpty || here.pending.isEmpty else { throw older("the target") }
    }

    private static func steps(of place: any DatabaseLocation, _ name: String) throws(StorageError) -> DatabaseSteps {
        do throws(StorageError) {
            return try DatabaseSteps(of: place)
        } catch {
            throw StorageError(error, name)
        }
    }

    private static func older(_ name: String) -> StorageError {
        StorageError(
            .unavailable, reason: "\(name) has the tables of an older version; run latchkey migrate on it first")
    }

    /// The rows of a feature that this program lacks would be left out.
    private static func refuseUnknownTables(in db: SQLSession, beside shapes: [TableShape]) throws {
        let names = try db.all(
            db.isPostgres
                ? "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1"
                : "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1"
        ) { try $0.text(0) }
        let known = Set(shapes.map(\.name))
        guard let name = names.first(where: { $0.hasPrefix(FeatureTable.prefix) && !known.contains($0) }) else {
            return
        }
        throw StorageError(
            .unavailable,
            reason: """
                the source has the table \(name) of a feature that this program lacks; copy it with the program that \
                has the feature, or drop the table
                """)
    }

    private static func refuseRows(of shapes: [TableShape], in db: SQLSession) throws {
        let taken = try shapes.map(\.name).filter { try db.exists("SELECT 1 FROM \($0) LIMIT 1") }
        guard taken.isEmpty else {
            throw StorageError(
                .conflict,
                reason: """
                    the target is not empty: there are rows in \(taken.joined(separator: ", ")); name a database that \
                    no server has been started on, or a new one
                    """)
        }
    }

    private static func copy(
        _ shape: TableShape, _ from: SQLSession, _ to: SQLSession, _ step: (Progress) throws -> Void
    ) throws -> Table {
        let total = try from.number("SELECT count(*) FROM \(shape.name)")
        func report(_ digest: TransferDigest, isChecking: Bool) throws {
            try step(Progress(table: shape.name, rows: digest.rows, total: total, isChecking: isChecking))
        }
        do {
            var read = TransferDigest()
            try report(read, isChecking: false)
            try shape.readRows(in: from) { rows in
                try shape.insert(rows, in: to)
                for row in rows { read.add(row) }
                try report(read, isChecking: false)
            }
            var stored = TransferDigest()
            try shape.readRows(in: to) { rows in
                for row in rows { stored.add(row) }
                try report(stored, isChecking: true)
            }
            guard stored == read, read.rows == total else {
                throw StorageError(.corrupt, reason: "the rows stored in the target differ from the source's")
            }
            try shape.continueNumbers(after: shape.lastNumber(in: from), in: to)
            return Table(name: shape.name, rows: total)
        } catch let error as StorageError where error.code == .closed {
            throw error
        } catch {
            throw StorageError(error, "the table \(shape.name)")
        }
    }
}

/// Tells whether two tables have the same rows, in any order.
///
/// The sum of the rows' hashes: it detects rows that were lost, doubled or changed. It does not protect against
/// deliberate changes.
struct TransferDigest: Sendable, Hashable {
    private(set) var rows: Int64 = 0
    private var sum = 0

    mutating func add(_ row: [TransferValue]) {
        var hasher = Hasher()
        for value in row {
            switch value {
            case .null: hasher.combine(0)
            case .integer(let number): hasher.combine([1, number])
            // Equal strings may have different bytes.
            case .text(let text): hasher.combine([2] + text.utf8)
            case .blob(let blob): hasher.combine([3] + blob)
            }
        }
        sum &+= hasher.finalize()
        rows += 1
    }
}

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
            for (value, column) in zip(row, columns) {
                switch value {
                case .integer(let number): statement.bind(number)
                case .text(let text): statement.bind(text)
                case .blob(let bytes): statement.bind(bytes)
                case .null: statement.bindNull(column.kind)
                }
            }
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
