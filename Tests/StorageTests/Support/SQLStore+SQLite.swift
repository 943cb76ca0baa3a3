import GRDB
import StorageModel

@testable import Storage

extension SQLStore {
    /// Runs `body` on the writing connection, in a transaction.
    func onSQLite<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StorageError) -> Value {
        try await writes.submit { session in
            switch session {
            case .sqlite(let connection): try body(connection.db)
            case .postgres: throw StorageError(.unavailable, reason: "this is PostgreSQL")
            }
        }
    }
}
