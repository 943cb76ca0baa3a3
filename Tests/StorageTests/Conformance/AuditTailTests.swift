import Primitives
import StorageModel
import Testing

@testable import Storage

/// How far the audit log can be read in order, and that what other systems must hear of is in it.
@Suite struct AuditTailTests {
    private static func look(_ serial: Int64, _ open: String...) -> AuditHorizon {
        AuditHorizon(serial: serial, open: Set(open))
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let looks: [AuditHorizon]
        let ends: [Int64?]
    }

    @Test(
        "A tail waits for the transactions of its first look",
        arguments: [
            Row(testDescription: "none is open", looks: [look(1), look(3)], ends: [1, 3]),
            Row(
                testDescription: "one is open, and ends", looks: [look(5, "a"), look(7, "a"), look(9)],
                ends: [nil, nil, 9]),
            Row(
                testDescription: "later ones are not waited for",
                looks: [look(5, "a"), look(7, "a", "b"), look(9, "b", "c"), look(11, "c")], ends: [nil, nil, 5, nil]),
            Row(
                testDescription: "two end one by one", looks: [look(5, "a", "b"), look(6, "b"), look(7)],
                ends: [nil, nil, 7]),
        ])
    func tail(row: Row) {
        var tail = AuditTail()
        let time = Records.now
        let ends = row.looks.enumerated().map { tail.advance(to: $1, at: time.advanced(bySeconds: Int64($0))) }
        #expect(ends == row.ends)
    }

    @Test("It tells since when it waits")
    func since() {
        var tail = AuditTail()
        for second in 0..<3 as Range<Int64> {
            _ = tail.advance(to: Self.look(5, "a"), at: Records.now.advanced(bySeconds: second))
        }
        #expect(tail.waitsSince == Records.now && tail.waiting == Self.look(5, "a"))
        _ = tail.advance(to: Self.look(6), at: Records.now)
        #expect(tail.waitsSince == nil && tail.waiting == nil)
    }

    @Test(
        "A sign-in that changes the profile is recorded, with the names of the attributes",
        arguments: StoreKind.engines)
    func profile(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let identity = Records.identity()
        var profile = Profile()
        profile[.name] = "Ada"
        profile[.email] = "ada@example.com"
        let first = try await store.signIn(try Records.signIn(identity, profile: profile))
        _ = try await store.signIn(try Records.signIn(identity, profile: profile))
        #expect(try await store.auditEvents(AuditQuery(kind: .userUpdated)).isEmpty, "nothing changed")
        profile[.email] = "ada@example.org"
        _ = try await store.signIn(try Records.signIn(identity, profile: profile))
        let events = try await store.auditEvents(AuditQuery(kind: .userUpdated))
        #expect(
            events.map(\.event.details.json)
                == [#"{"attributes":["email"],"issuer":"\#(Records.issuer)"}"#])
        #expect(events.first?.event.user == first?.user.id)
        withExtendedLifetime(holding) {}
    }
}
