import Primitives
import Storage
import StorageModel
import TestSupport
import Testing

@Suite("Any store: account changes are counted across all processes")
struct AccountChangeConformanceTests {
    private let now = Records.now

    private func use(of user: UserID, _ allowance: SharedAllowance) -> AllowanceUse {
        AllowanceUse(of: "account change of user \(user.number)", allowance)
    }

    private func user(in store: SQLStore) async throws -> UserID {
        try #require(try await store.signIn(Records.signIn())).user.id
    }

    @Test("Each user has the full allowance at once, and then the steady rate", arguments: StoreKind.all)
    func counts(kind: StoreKind) async throws {
        let (open, holding) = try kind.make()
        let stores = [try open(), try open()]
        let (user, other) = (try await user(in: stores[0]), try await user(in: stores[0]))
        let allowance = SharedAllowance(count: 4, seconds: 60)
        func change(_ user: UserID, in copy: Int, at seconds: Int64) async throws -> Int64? {
            try await stores[copy].count([use(of: user, allowance)], at: now.advanced(bySeconds: seconds))
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
        let wide = SharedAllowance(count: 600, seconds: 60)
        #expect(try await stores[1].count([use(of: user, wide)], at: now.advanced(bySeconds: 16)) == nil)
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
        let use = use(of: user, SharedAllowance(count: 7, seconds: 3_600))
        let now = now
        let admitted = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<40 {
                let store = stores[number % 2]
                group.addTask { try await store.count([use], at: now) == nil }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(admitted == 7)
        for store in stores { try await store.close() }
        withExtendedLifetime(holding) {}
    }

    /// A request may wait for its turn to write while its session is revoked.
    @Test("A revoked session changes nothing of its user's account", arguments: StoreKind.all)
    func revoked(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let (session, kept) = (try Records.session(), try Records.session())
        let identity = Records.identity()
        let user = try #require(try await store.signIn(Records.signIn(identity, session: session))).user
        _ = try await store.signIn(Records.signIn(identity, session: kept))
        let event = AuditEvent(at: now, AuditEvent.Kind("test"), user: user.id, by: .user)
        let change: ProfileChange = [.name: .set("Jane")]
        func edited(in session: String) async throws -> User? {
            try await store.editProfile(of: user.id, in: session, change, recording: event)
        }
        #expect(try await store.revokeSession(session.tokenHash))
        #expect(try await edited(in: session.id) == nil)
        #expect(try await !store.deleteUser(user.id, in: session.id, recording: event))
        let listed = try #require(try await store.identities(of: user.id).first)
        let removal = try await store.removeIdentity(id: listed.id, of: user.id, keeping: session.id) { _ in event }
        #expect(removal == .unknownSession)
        // Whether the other session exists or not.
        for id in [kept.id, "unknown", session.id] {
            let revocation = try await store.revokeSession(id: id, of: user.id, in: session.id, recording: event)
            #expect(revocation == .askingSessionEnded)
        }
        let unknown = try await store.revokeSession(id: session.id, of: user.id, in: kept.id, recording: event)
        #expect(unknown == .unknownSession)
        #expect(try await store.revokeSessions(of: user.id, except: session.id, recording: event) == nil)
        #expect(try await store.auditEvents(AuditQuery(user: user.id)).isEmpty)
        #expect(try await store.session(kept.tokenHash, at: now)?.user.profile[.name] == nil)
        #expect(try await edited(in: kept.id)?.profile[.name] == "Jane")
        #expect(try await store.deleteUser(user.id, in: kept.id, recording: nil))
        withExtendedLifetime(holding) {}
    }

    @Test("The row is removed when the allowance is whole again", arguments: StoreKind.all)
    func bounded(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let (user, other) = (try await user(in: store), try await user(in: store))
        let allowance = SharedAllowance(count: 2, seconds: 20)
        for user in [user, user, other] {
            #expect(try await store.count([use(of: user, allowance)], at: now) == nil)
        }
        #expect(try await store.purgeExpired(at: now.advanced(bySeconds: 9), limit: 10) == 0)
        #expect(try await store.purgeExpired(at: now.advanced(bySeconds: 10), limit: 10) == 1)
        #expect(try await store.count([use(of: user, allowance)], at: now) == 10)
        #expect(try await store.purgeExpired(at: now.advanced(bySeconds: 20), limit: 10) == 1)
        #expect(try await store.purgeExpired(at: now.advanced(bySeconds: 1_000), limit: 10) == 0)
        withExtendedLifetime(holding) {}
    }
}
