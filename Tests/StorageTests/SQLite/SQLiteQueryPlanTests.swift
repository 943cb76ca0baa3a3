import GRDB
import TestSupport
import Testing

@testable import Storage

@Suite("SQLite: statements whose cost must not grow with what a user has")
struct SQLiteQueryPlanTests {
    /// One user may have thousands of sessions, and all of them may have been seen at a shutdown.
    static let statements = [
        (SessionsTable.recordSight.text, "SEARCH sessions USING INDEX sessions_by_user (user_id=? AND id=?)")
    ]

    @Test("They find their row by an index", arguments: statements)
    func plan(statement: String, expected: String) async throws {
        let directory = try TemporaryDirectory()
        let store = try SQLStore(configuration: SQLiteConfiguration(path: directory.file("store.db")))
        try await store.close()
        let plan = try await DatabaseQueue(path: directory.file("store.db")).read { db in
            let explained = try db.makeStatement(sql: "EXPLAIN QUERY PLAN " + statement)
            // A plan needs no values.
            explained.setUncheckedArguments(StatementArguments())
            return try Row.fetchAll(explained).map { $0["detail"] as String }
        }
        #expect(plan == [expected])
    }
}
