import Foundation
import GRDB

/// Reads and changes a server's database beside the server.
struct DatabaseProbe {
    let path: String

    func change(_ sql: String) throws { try open().write { try $0.execute(sql: sql) } }

    /// The number in the first row.
    func number(_ sql: String) throws -> Int64 { try open().read { try Int64.fetchOne($0, sql: sql) ?? 0 } }

    /// The first column of all rows.
    func texts(_ sql: String) throws -> [String] { try open().read { try String.fetchAll($0, sql: sql) } }

    /// The first column of all rows.
    func contents(_ sql: String) throws -> [Data] { try open().read { try Data.fetchAll($0, sql: sql) } }

    /// Runs a body while the database is locked against other writers.
    func whileLocked(_ body: () async throws -> Void) async throws {
        let lock = try lock()
        do { try await body() } catch {
            try release(lock)
            throw error
        }
        try release(lock)
    }

    private func lock() throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        // The server may be writing.
        configuration.busyMode = .timeout(10)
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try queue.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        return queue
    }

    private func release(_ queue: DatabaseQueue) throws {
        try queue.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        try queue.close()
    }

    private func open() throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        return try DatabaseQueue(path: path, configuration: configuration)
    }
}
