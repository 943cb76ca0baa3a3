import GRDB
import TestSupport
import Testing

@testable import Storage

@Suite("SQLite: statements whose cost must not grow with the rows")
struct SQLiteQueryPlanTests {
    /// One user may have thousands of sessions, and all of them may have been seen at a shutdown. There may be millions
    /// of users with a verified number.
    static let statements = [
        (SessionsTable.recordSight.text, "SEARCH sessions USING INDEX sessions_by_user (user_id=? AND id=?)"),
        (ReassignedNumber.holders.text, "SEARCH users USING INDEX users_by_verified_phone_number (<expr>=?)"),
        (
            ReassignedNumber.waiting.text,
            "SEARCH pending_registrations USING INDEX pending_registrations_by_verified_phone_number (<expr>=?)"
        ),
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
