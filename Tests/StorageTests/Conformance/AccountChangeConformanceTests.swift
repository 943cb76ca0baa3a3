import Primitives
import Storage
import StorageModel
import TestSupport
import Testing

@Suite("Any store: account changes are counted across all processes")
struct AccountChangeConformanceTests {
    private let now = Records.now

    private func user(in store: SQLStore) async throws -> UserID {
        try #require(try await store.signIn(Records.signIn())).user.id
    }

    @Test("Each user has the full allowance at once, and then the steady rate", arguments: StoreKind.all)
    func counts(kind: StoreKind) async throws {
        let (open, holding) = try kind.make()
        let stores = [try open(), try open()]
        let (user, other) = (try await user(in: stores[0]), try await user(in: stores[0]))
        let allowance = ChangeAllowance(count: 4, seconds: 60)
        func change(_ user: UserID, in copy: Int, at seconds: Int64) async throws -> Int64? {
            try await stores[copy].countChange(of: user, within: allowance, at: now.advanced(bySeconds: seconds))
        }
        for copy in [0, 1, 0, 1] { #expect(try await change(user, in: copy, at: 0) == nil) }
        for copy in [0, 1] { #expect(try await change(user, in: copy, at: 0) == 15) }
        #expect(try await change(other, in: 1, at: 0) == nil)
        #expect(try await change(user, in: 1, at: 14) == 1)
        #expect(try await change(user, in: 0, at: 15) == nil)
        #expect(try await change(user, in: 1, at: 15) == 15)
        // A clock that was set back, or another machine's clock, extends no wait beyond one full allowance.
        #expect(try await change(user, in: 0, at: -1_000_000) == 15)
        #expect(try await change(user, in: 0, at: -1_000_000 + 15) == nil)
        // A changed allowance applies at once.
        let wide = ChangeAllowance(count: 600, seconds: 60)
        #expect(try await stores[1].countChange(of: user, within: wide, at: now.advanced(bySeconds: 16)) == nil)
        for copy in [0, 1, 0, 1] { #expect(try await change(user, in: copy, at: 1_000) == nil) }
        #expect(try await change(user, in: 0, at: 1_000) == 15)
        for store in stores { try await store.close() }
        withExtendedLifetime(holding) {}
    }

    @Test(
        "Concurrent changes in two processes never exceed the allowance", arguments: StoreKind.engines)
    func together(kind: StoreKind) async throws {
        let (open, holding) = try kind.make()
        let stores = [try open(), try open()]
        let user = try await user(in: stores[0])
        let allowance = ChangeAllowance(count: 7, seconds: 3_600)
        let now = now
        let admitted = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<40 {
                let store = stores[number % 2]
                group.addTask { try await store.countChange(of: user, within: allowance, at: now) == nil }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(admitted == 7)
        for store in stores { try await store.close() }
        withExtendedLifetime(holding) {}
    }

    @Test("The row is removed when the allowance is whole again, and with its user", arguments: StoreKind.all)
    func bounded(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let (user, other) = (try await user(in: store), try await user(in: store))
        let allowance = ChangeAllowance(count: 2, seconds: 20)
        for user in [user, user, other] {
            #expect(try await store.countChange(of: user, within: allowance, at: now) == nil)
        }
        #expect(try await store.purgeExpired(at: now.advanced(bySeconds: 9), limit: 10) == 0)
        #expect(try await store.purgeExpired(at: now.advanced(bySeconds: 10), limit: 10) == 1)
        #expect(try await store.countChange(of: user, within: allowance, at: now) == 10)
        #expect(try await store.deleteUser(user))
        #expect(try await store.countChange(of: user, within: allowance, at: now) == nil)
        #expect(try await store.purgeExpired(at: now.advanced(bySeconds: 1_000), limit: 10) == 0)
        withExtendedLifetime(holding) {}
    }
}
