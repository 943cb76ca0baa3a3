import Primitives
import SignIn
import Storage
import StorageModel
import Testing

@testable import Registration

@Suite("Any store: registration, nonces, upkeep")
struct RegistrationConformanceTests {
    private func register(
        _ handle: TokenHash, at now: Timestamp = Records.now, session: NewSession? = nil, in store: SQLStore
    ) async throws -> Result<User, SignInError>? {
        try await store.register(
            handle: handle, profile: [.name: "Jane Doe"], session: session ?? Records.session(),
            publicID: RandomSource.system.token(bytes: 16), at: now)
    }

    @Test(
        "A pending registration is read unchanged and repeatedly until it expires",
        arguments: StoreKind.all)
    func readPending(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let pending = try Records.pending(profile: [.name: "Jane Doe", .email: "jane@example.com"])
        try await store.addPendingRegistration(pending)
        #expect(try await store.pendingRegistration(pending.handle, at: Records.now) == pending)
        #expect(try await store.pendingRegistration(pending.handle, at: Records.now) == pending)
        #expect(try await store.pendingRegistration(pending.handle, at: pending.expiresAt) == nil)
        #expect(try await store.pendingRegistration(Records.hash(), at: Records.now) == nil)
        withExtendedLifetime(holding) {}
    }

    @Test("A handle makes a user and a session once", arguments: StoreKind.all)
    func registers(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let pending = try Records.pending(profile: [.email: "carrier@example.com"])
        try await store.addPendingRegistration(pending)
        let session = try Records.session()
        guard case .success(let user) = try await register(pending.handle, session: session, in: store) else {
            Issue.record("not registered")
            return
        }
        #expect(user.profile == [.name: "Jane Doe"])
        #expect(user.createdAt == Records.now)
        #expect(try await store.session(session.tokenHash, at: Records.now)?.user == user)
        #expect(try await store.signIn(Records.signIn(pending.identity, newcomers: .mustRegister))?.user == user)
        #expect(try await register(pending.handle, in: store) == nil)
        withExtendedLifetime(holding) {}
    }

    @Test(
        "The erasure of a user ends the registrations of the user's identities, and no others", arguments: StoreKind.all
    )
    func erasure(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let identities = (0..<2).map { _ in Records.identity() }
        let pending = try identities.map { try Records.pending($0) }
        var users: [UserID] = []
        for (identity, registration) in zip(identities, pending) {
            users.append(try #require(await store.signIn(Records.signIn(identity))).user.id)
            try await store.addPendingRegistration(registration)
        }
        #expect(try await store.deleteUser(users[0]))
        #expect(try await store.pendingRegistration(pending[0].handle, at: Records.now) == nil)
        #expect(try await store.pendingRegistration(pending[1].handle, at: Records.now) == pending[1])
        withExtendedLifetime(holding) {}
    }

    @Test("An unknown or expired handle registers no user", arguments: StoreKind.all)
    func unknownHandle(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let pending = try Records.pending()
        try await store.addPendingRegistration(pending)
        #expect(try await register(Records.hash(), in: store) == nil)
        #expect(try await register(pending.handle, at: pending.expiresAt, in: store) == nil)
        #expect(try await store.signIn(Records.signIn(pending.identity, newcomers: .mustRegister)) == nil)
        withExtendedLifetime(holding) {}
    }

    @Test("A handle whose identity has become a user is spent without a session", arguments: StoreKind.all)
    func alreadyExists(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let pending = try Records.pending()
        try await store.addPendingRegistration(pending)
        _ = try await store.signIn(Records.signIn(pending.identity))
        let session = try Records.session()
        #expect(try await register(pending.handle, session: session, in: store) == .failure(.userAlreadyExists))
        #expect(try await store.session(session.tokenHash, at: Records.now) == nil)
        #expect(try await register(pending.handle, in: store) == nil)
        withExtendedLifetime(holding) {}
    }

    @Test("A handle that is used fifty times at once registers once", arguments: StoreKind.all)
    func concurrentRegistration(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let pending = try Records.pending()
        try await store.addPendingRegistration(pending)
        let registered = try await withThrowingTaskGroup(of: Result<User, SignInError>?.self) { group in
            for _ in 0..<50 { group.addTask { try await self.register(pending.handle, in: store) } }
            return try await group.reduce(into: 0) { if $1 != nil { $0 += 1 } }
        }
        #expect(registered == 1)
        withExtendedLifetime(holding) {}
    }

    @Test("A one-time record that is asked for a hundred times at once is taken once", arguments: StoreKind.all)
    func concurrentAttempt(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let record = Records.oneTimeRecord()
        _ = try await store.addOneTimeRecord(record, insteadOf: [])
        let taken = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    try await store.takeOneTimeRecord(record.handle, purpose: "test", at: Records.now) != nil
                }
            }
            return try await group.reduce(into: 0) { if $1 { $0 += 1 } }
        }
        #expect(taken == 1)
        withExtendedLifetime(holding) {}
    }

    @Test("A working store passes its check", arguments: StoreKind.all)
    func check(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        try await store.check()
        withExtendedLifetime(holding) {}
    }

    @Test("Only expired rows are removed, in bounded numbers", arguments: StoreKind.all)
    func purge(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        for _ in 0..<300 {
            let session = try Records.session(lifetime: 10, refreshLifetime: 20)
            _ = try await store.signIn(Records.signIn(session: session))
        }
        for _ in 0..<3 {
            try await store.addPendingRegistration(Records.pending(lifetime: 10))
            _ = try await store.addOneTimeRecord(Records.oneTimeRecord(lifetime: 10), insteadOf: [])
        }
        let (session, pending, record) = (try Records.session(), try Records.pending(), Records.oneTimeRecord())
        _ = try await store.signIn(Records.signIn(session: session))
        try await store.addPendingRegistration(pending)
        _ = try await store.addOneTimeRecord(record, insteadOf: [])

        let later = Records.now.advanced(bySeconds: 60)
        #expect(try await store.purgeExpired(at: Records.now, limit: 1_000) == 0)
        #expect(try await store.purgeExpired(at: later, limit: 0) == 0)
        #expect(try await store.purgeExpired(at: later, limit: 2) == 6)
        #expect(try await store.purgeExpired(at: later, limit: 1_000) == 300)
        #expect(try await store.purgeExpired(at: later, limit: 1_000) == 0)
        #expect(try await store.session(session.tokenHash, at: later) != nil)
        #expect(try await store.pendingRegistration(pending.handle, at: later) != nil)
        #expect(try await store.takeOneTimeRecord(record.handle, purpose: "test", at: later) == [])
        withExtendedLifetime(holding) {}
    }

    @Test("A session stays stored until its refresh token expires", arguments: StoreKind.all)
    func purgeKeepsRefreshable(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let session = try Records.session(lifetime: 10, refreshLifetime: 100)
        _ = try await store.signIn(Records.signIn(session: session))
        #expect(try await store.purgeExpired(at: Records.now.advanced(bySeconds: 50), limit: 10) == 0)
        #expect(try await store.purgeExpired(at: Records.now.advanced(bySeconds: 101), limit: 10) == 1)
        withExtendedLifetime(holding) {}
    }
}
