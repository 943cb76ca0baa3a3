import StorageModel

@testable import Storage

extension SQLSession {
    /// Runs a statement without values.
    func execute(_ sql: String) throws { try CachedStatement(self, sql).run() }

    /// The number in the first row.
    func number(_ sql: String) throws -> Int64 {
        let statement = try CachedStatement(self, sql)
        return try statement.next() ? statement.number(0) : 0
    }
}
