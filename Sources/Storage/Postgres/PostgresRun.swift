/// One run of a statement on PostgreSQL: values first, then rows.
final class PostgresRun {
    let sql: String
    private let connection: PostgresConnection
    var parameters = PostgresParameters()
    private var result: PostgresResult?
    private var row: CInt = -1

    init(_ connection: PostgresConnection, _ sql: String) {
        self.connection = connection
        self.sql = sql
        swap(&parameters, &connection.spareParameters)
    }

    deinit {
        parameters.removeAll()
        swap(&parameters, &connection.spareParameters)
    }

    /// Runs the statement with the next one that has a result.
    func perform() throws { try connection.perform(sql, parameters) }

    func next() throws -> Bool {
        if result == nil { result = try connection.run(sql, parameters) }
        row += 1
        return row < (result?.rowCount ?? 0)
    }

    func isNull(_ column: CInt) -> Bool { result?.isNull(row, column) ?? true }

    func bytes(_ column: CInt) -> UnsafeRawBufferPointer {
        result?.bytes(row, column) ?? UnsafeRawBufferPointer(start: nil, count: 0)
    }

    func text(_ column: CInt) -> String? {
        guard let result, !result.isNull(row, column) else { return nil }
        return PostgresText.decode(result.bytes(row, column))
    }

    /// A whole number of whatever width, or a truth value.
    func number(_ column: CInt) -> Int64 {
        guard let result, !result.isNull(row, column) else { return 0 }
        let bytes = result.bytes(row, column)
        let isNegative = bytes.count > 1 && (bytes.first ?? 0) >= 0x80
        return bytes.prefix(8).reduce(isNegative ? -1 : 0) { $0 << 8 | Int64($1) }
    }
}
