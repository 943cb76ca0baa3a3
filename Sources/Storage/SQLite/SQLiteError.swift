import CLatchkeySQLite

/// A failure of SQLite. Has the statement, and never the values bound to it.
struct SQLiteError: Error, Sendable {
    /// The extended result: https://www.sqlite.org/rescode.html
    let result: CInt
    let message: String
    let sql: String?

    init(_ result: CInt, _ message: String, sql: String? = nil) {
        self.result = result
        self.message = message
        self.sql = sql
    }

    /// The result that stands for all its extended results.
    var primaryResult: CInt { Self.primary(result) }

    static func primary(_ result: CInt) -> CInt { result & 0xFF }
}
