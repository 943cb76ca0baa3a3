import StorageModel

@testable import Storage

extension SQLStore {
    /// Runs `body` on the writing connection, in a transaction.
    func onSQLite<Value: Sendable>(
        _ body: @escaping @Sendable (SQLiteConnection) throws -> Value
    ) async throws(StorageError) -> Value {
        try await writes.submit { session in
            switch session.engine {
            case .sqlite(let connection): try body(connection)
            case .postgres: throw StorageError(.unavailable, reason: "this is PostgreSQL")
            }
        }
    }
}

extension SQLiteConnection {
    /// The text in the first column of a query's first row.
    func text<each Value: SQLValue>(_ sql: SQL, _ values: repeat each Value) throws -> String? {
        try session.first(sql, repeat each values) { $0.optionalText(0) } ?? nil
    }
}
