import Primitives
import Storage
import StorageModel
import Testing

@testable import Capsules

@Suite("Any store: the capsules of failed sign-ins")
struct CapsuleConformanceTests {
    /// Six capsules, a minute apart: of the sign-ins a, b, a, b, a, b.
    private static let capsules = (0..<6).map { minute in
        CapsuleRecord(
            correlationID: minute.isMultiple(of: 2) ? "a" : "b",
            time: Records.now.advanced(bySeconds: Int64(minute) * 60), cause: "acme code invalid_id_token expiry",
            json: #"{"capsule":1,"minute":\#(minute)}"#)
    }

    private func filled(_ kind: StoreKind) async throws -> (SQLStore, any Sendable) {
        let (store, holding) = try kind.open()
        for capsule in Self.capsules { try await store.addCapsule(capsule) }
        return (store, holding)
    }

    @Test("Capsules are read unchanged, newest first, all or those of one sign-in", arguments: StoreKind.all)
    func readBack(kind: StoreKind) async throws {
        let (store, holding) = try await filled(kind)
        #expect(try await store.capsules(of: nil, limit: 10) == Self.capsules.reversed())
        #expect(try await store.capsules(of: nil, limit: 2) == Self.capsules.suffix(2).reversed())
        #expect(try await store.capsules(of: "a", limit: 2) == [Self.capsules[4], Self.capsules[2]])
        #expect(try await store.capsules(of: "c", limit: 10).isEmpty)
        withExtendedLifetime(holding) {}
    }

    @Test("Those of a build without capsules go after a year", arguments: StoreKind.all)
    func leftBehind(kind: StoreKind) async throws {
        let (store, holding) = try await filled(kind)
        let year = Int64(31_536_000)
        let last = Self.capsules[3].time.advanced(bySeconds: year)
        #expect(try await store.purgeExpired(at: Records.now.advanced(bySeconds: year - 1), limit: 100) == 0)
        #expect(try await store.purgeExpired(at: last, limit: 100) == 4)
        #expect(try await store.capsules(of: nil, limit: 10) == Self.capsules.suffix(2).reversed())
        withExtendedLifetime(holding) {}
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The minute before which capsules go.
        var before = 0
        var keeping = 100
        var limit = 100
        let removed: Int
        /// The minutes of those that stay.
        let left: ClosedRange<Int>?
    }

    private static let rows: [Row] = [
        Row(testDescription: "none is old, and few are there", removed: 0, left: 0...5),
        Row(testDescription: "by age", before: 2, removed: 2, left: 2...5),
        Row(testDescription: "by number", keeping: 4, removed: 2, left: 2...5),
        Row(testDescription: "as many as may stay", keeping: 6, removed: 0, left: 0...5),
        Row(testDescription: "both, age first", before: 4, keeping: 5, removed: 4, left: 4...5),
        Row(testDescription: "none may stay", keeping: 0, removed: 6, left: nil),
        Row(testDescription: "the oldest first", keeping: 1, limit: 3, removed: 3, left: 3...5),
    ]

    /// The causes of capsules, oldest first, how many may stay, and the numbers of those that do.
    private static let floods: [(causes: String, keeping: Int, left: [Int])] = [
        ("abbbbbbb", 4, [0, 5, 6, 7]), ("abbbbbbb", 2, [0, 7]), ("aabbbbbb", 4, [0, 1, 6, 7]),
        ("bbbbbbba", 3, [5, 6, 7]), ("aaabbbcc", 5, [2, 4, 5, 6, 7]), ("abcdbbbb", 3, [2, 3, 7]),
    ]

    @Test("A flood with one cause removes no capsule of another", arguments: StoreKind.all, floods)
    func flooded(kind: StoreKind, row: (causes: String, keeping: Int, left: [Int])) async throws {
        let (store, holding) = try kind.open()
        let capsules = row.causes.enumerated().map { number, cause in
            CapsuleRecord(
                correlationID: "\(number)", time: Records.now.advanced(bySeconds: Int64(number)), cause: "\(cause)",
                json: "{}")
        }
        for capsule in capsules { try await store.addCapsule(capsule) }
        _ = try await store.purgeCapsules(from: Records.now, keeping: row.keeping, limit: 100)
        #expect(try await store.capsules(of: nil, limit: 10).reversed() == row.left.map { capsules[$0] })
        withExtendedLifetime(holding) {}
    }

    @Test("Capsules that are too old or too many are removed", arguments: StoreKind.all, rows)
    func purged(kind: StoreKind, row: Row) async throws {
        let (store, holding) = try await filled(kind)
        let before = Records.now.advanced(bySeconds: Int64(row.before) * 60)
        #expect(try await store.purgeCapsules(from: before, keeping: row.keeping, limit: row.limit) == row.removed)
        let left = row.left.map { Array(Self.capsules[$0].reversed()) } ?? []
        #expect(try await store.capsules(of: nil, limit: 10) == left)
        withExtendedLifetime(holding) {}
    }
}
