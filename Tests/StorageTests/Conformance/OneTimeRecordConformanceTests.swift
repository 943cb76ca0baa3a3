import Primitives
import Storage
import StorageModel
import TestSupport
import Testing

@Suite("Any store: one-time records")
struct OneTimeRecordConformanceTests {
    private func record(content: Int = 10) -> OneTimeRecord {
        OneTimeRecord(
            handle: Records.hash(), purpose: "redirect attempt",
            content: (0..<content).map { _ in .random(in: 0...255) },
            expiresAt: Records.now.advanced(bySeconds: 600))
    }

    @Test("A record takes the place of others", arguments: StoreKind.all)
    func insteadOf(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let (first, second, third) = (record(), record(), record())
        for record in [first, second] { #expect(try await store.addOneTimeRecord(record, insteadOf: [])) }
        #expect(try await store.addOneTimeRecord(third, insteadOf: [first.handle, Records.hash()]))
        func take(_ record: OneTimeRecord) async throws -> [UInt8]? {
            try await store.takeOneTimeRecord(record.handle, purpose: record.purpose, at: Records.now)
        }
        #expect(try await take(first) == nil)
        #expect(try await take(second) == second.content)
        #expect(try await take(third) == third.content)
        withExtendedLifetime(holding) {}
    }

    @Test("A record is read and taken for its purpose, and before its end; taken once", arguments: StoreKind.all)
    func take(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        for (seconds, isLive) in [(Int64(599), true), (600, false)] {
            let record = record()
            #expect(try await store.addOneTimeRecord(record, insteadOf: []))
            let now = Records.now.advanced(bySeconds: seconds)
            for (purpose, content) in [
                ("another", nil), (record.purpose, isLive ? record.content : nil), (record.purpose, nil),
            ] {
                let read = try await store.oneTimeRecord(record.handle, purpose: purpose, at: now)
                let taken = try await store.takeOneTimeRecord(record.handle, purpose: purpose, at: now)
                #expect(read == content && taken == content, "\(seconds) \(purpose)")
            }
        }
        withExtendedLifetime(holding) {}
    }

    @Test("Of many handles, those with a live record are told", arguments: StoreKind.all)
    func among(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let records = (0..<120).map { _ in record() }
        for record in records { #expect(try await store.addOneTimeRecord(record, insteadOf: [])) }
        let taken = records[0]
        _ = try await store.takeOneTimeRecord(taken.handle, purpose: taken.purpose, at: Records.now)
        let handles = records.map(\.handle)
        let unknown = (0..<10).map { _ in Records.hash() }
        let last = Records.now.advanced(bySeconds: 599)
        #expect(try await store.oneTimeRecords(among: unknown + handles, at: last) == Set(handles.dropFirst()))
        #expect(try await store.oneTimeRecords(among: [handles[7]], at: last) == [handles[7]])
        #expect(try await store.oneTimeRecords(among: Array(handles[..<50]), at: last) == Set(handles[1..<50]))
        #expect(try await store.oneTimeRecords(among: [], at: last) == [])
        #expect(try await store.oneTimeRecords(among: handles, at: Records.now.advanced(bySeconds: 600)) == [])
        withExtendedLifetime(holding) {}
    }

    @Test(
        "A record takes 248 bytes of the database besides its content, with its indexes, or at most 2 % more in all",
        arguments: StoreKind.engines)
    func length(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let (count, content) = (4_000, 352)
        let before = try await length(of: store)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count {
                group.addTask { _ = try await store.addOneTimeRecord(record(content: content), insteadOf: []) }
            }
            try await group.waitForAll()
        }
        let each = (try await length(of: store) - before) / Int64(count)
        // Pages of indexes split where the random handles happen to fall.
        #expect(each <= Int64(content + OneTimeRecord.overhead) * 51 / 50, "\(each) bytes each")
        withExtendedLifetime(holding) {}
    }

    private func length(of store: SQLStore) async throws -> Int64 {
        try await store.writes.submit { session in
            if session.isOnPostgres { return try session.number("SELECT pg_total_relation_size('sealed_notes')") }
            return try session.number("PRAGMA page_count") * session.number("PRAGMA page_size")
        }
    }
}
