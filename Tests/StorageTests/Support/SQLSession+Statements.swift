import StorageModel

@testable import Storage

extension SQLSession {
    /// Runs a statement without values.
    func execute(_ sql: String) throws { _ = try run(SQL(sql)) }

    /// The number in the first row.
    func number(_ sql: String) throws -> Int64 {
        try first(SQL(sql)) { $0.number(0) } ?? 0
    }

    var isOnPostgres: Bool { isPostgres }
}
