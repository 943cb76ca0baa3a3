import Foundation
import TestSupport
import Testing

/// How `Tests/Run/run.py` ends a run of tests, and what it says of it.
@Suite struct TestRunTests {
    /// A program in place of one with tests.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The records of events that it writes.
        let events: [String]
        /// How it goes on.
        let end: String
        let status: Int32
        /// What is printed at the end.
        let report: String
    }

    private static let suite = "StorageTests.GroupCommitTests"
    private static let test = "\(suite)/order()/GroupCommitTests.swift:9:6"

    private static func event(_ kind: String, _ id: String, _ more: String = "") -> String {
        #"{"kind":"event","version":0,"payload":{"kind":"\#(kind)","messages":[],"testID":"\#(id)"\#(more)}}"#
    }

    private static let begun = [
        event("testStarted", suite), event("testStarted", "\(suite)/other()/GroupCommitTests.swift:4:6"),
        event("testEnded", "\(suite)/other()/GroupCommitTests.swift:4:6"), event("testStarted", test),
    ]
    private static let ended = [event("testEnded", test), event("testEnded", suite)]

    private static func issue(isKnown: Bool) -> String {
        #"""
        {"kind":"event","version":0,"payload":{"kind":"issueRecorded","testID":"\#(test)",\#
        "issue":{"isKnown":\#(isKnown),\#
        "sourceLocation":{"fileID":"StorageTests/GroupCommitTests.swift","line":12}},\#
        "messages":[{"symbol":"fail","text":"Expectation failed: 1 == 2"}]}}
        """#
    }

    private static let rows = [
        Row(testDescription: "passes", events: begun + [issue(isKnown: true)] + ended, end: "", status: 0, report: ""),
        Row(
            testDescription: "fails", events: begun + [issue(isKnown: false)] + ended, end: "exit 1", status: 1,
            report: """
                ✘ StorageTests.GroupCommitTests/order() at StorageTests/GroupCommitTests.swift:12
                    Expectation failed: 1 == 2

                """),
        Row(
            testDescription: "crashes", events: begun, end: "kill -KILL $$", status: 1,
            report: """
                ✘ The program ended (status -9) in:
                    StorageTests.GroupCommitTests/order()

                """),
        Row(
            testDescription: "hangs", events: begun, end: "exec sleep 600", status: 124,
            report: """
                ✘ No test began or ended for 0.1 minutes, and the run was ended in:
                    StorageTests.GroupCommitTests/order()

                """),
        Row(
            testDescription: "fails before the first test", events: [], end: "exit 3", status: 3,
            report: """
                ✘ The program ended with status 3; see the end of the log.

                """),
    ]

    @Test("A run names suite and test of each failure, and ends when a test hangs", arguments: rows)
    func ends(row: Row) async throws {
        let directory = try TemporaryDirectory()
        let lines = row.events.map { "printf '%s\\n' '\($0)' >>\"$2\"\n" }.joined()
        let ending = try await Program.run(
            "env",
            [
                "LATCHKEY_TEST_MINUTES=0.1", "LATCHKEY_TEST_PATIENCE=1", "python3", Repository.path("Tests/Run/run.py"),
                "--log", directory.file("log"), "sh", "-c", "\(lines)echo output\n\(row.end)", "sh",
            ])
        #expect(ending.status == row.status, "\(ending.output)")
        #expect(ending.output == "output\n" + row.report)
        #expect(try String(contentsOfFile: directory.file("log"), encoding: .utf8) == "output\n")
    }
}
