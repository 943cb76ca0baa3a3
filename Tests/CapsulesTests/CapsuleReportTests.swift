import Primitives
import Testing

@testable import Capsules

/// A capsule for people.
@Suite struct CapsuleReportTests {
    @Test("Names of any length make short lines, however many members they have")
    func longNames() throws {
        let name = String(repeating: "n", count: 100_000)
        let members = (0..<1_000).map { ("m\($0)", JSONValue.integer($0)) }
        let content = try #require(JSONValue.object(of: [(name, .object(of: members))]).object)
        let lines = CapsuleReport(of: content, at: Timestamp(secondsSinceEpoch: 0)).lines
        #expect(lines.count == 1_000)
        #expect(lines.last == String(repeating: "n", count: 128) + "….m999: 999")
    }
}
