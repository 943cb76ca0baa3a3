import TestSupport
import Testing

@testable import Storage

@Suite("SQLite: statements whose cost must not grow with the rows")
struct SQLiteQueryPlanTests {
    /// One user may have thousands of sessions, and all of them may have been seen at a shutdown. There may be millions
    /// of users with a verified number.
    static let statements = [
        (SessionsTable.recordSight.text, "SEARCH sessions USING INDEX sessions_by_user (user_id=? AND id=?)"),
        (
            ReassignedNumber.holders.text,
            "SEARCH users USING INDEX users_by_verified_phone_number (<expr>=?)"
        ),
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
        // The details are the last of four columns. A plan needs no values.
        let plan = try DatabaseProbe(path: directory.file("store.db")).connect().rows("EXPLAIN QUERY PLAN " + statement)
        #expect(plan.map(\.last) == [.text(expected)])
    }
}
