import Primitives
import SignIn
import Storage
import StorageModel
import TestSupport
import Testing

@testable import Administration
@testable import PostgreSQL
@testable import Registration
@testable import Transactions

/// Several stores on one database, as with several processes.
@Suite("Several stores on one database")
struct RaceTests {
    private let stores: Int = 3

    /// Runs the same call in every store, eight times each, at once.
    private func race<Value: Sendable>(
        _ kind: StoreKind, preparing prepare: (SQLStore) async throws -> Void = { _ in },
        finally check: (SQLStore) async throws -> Void = { _ in },
        _ body: @escaping @Sendable (SQLStore, Int) async throws -> Value
    ) async throws -> [Value] {
        let (open, holding) = try kind.make()
        let stores = try (0..<self.stores).map { _ in try open() }
        try await prepare(stores[0])
        let values = try await withThrowingTaskGroup(of: Value.self) { group in
            for number in 0..<8 * stores.count {
                group.addTask { try await body(stores[number % stores.count], number) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        try await check(stores[0])
        for store in stores { try await store.close() }
        withExtendedLifetime(holding) {}
        return values
    }

    @Test("Of concurrent attempts to take a one-time record, one gets its content", arguments: StoreKind.engines)
    func note(kind: StoreKind) async throws {
        let note = OneTimeRecord(
            handle: Records.hash(), purpose: "test", content: [1, 2, 3],
            expiresAt: Records.now.advanced(bySeconds: 60))
        let taken = try await race(kind, preparing: { _ = try await $0.addOneTimeRecord(note, insteadOf: []) }) {
            store, _ in
            try await store.takeOneTimeRecord(note.handle, purpose: "test", at: Records.now)
        }
        #expect(taken.compactMap { $0 } == [[1, 2, 3]])
    }

    @Test("Many sign-outs of one user on several instances at once all succeed")
    func signOuts() async throws {
        // Each write in a transaction of its own, on as many connections as there are.
        let configuration = PostgresConfiguration(
            url: Secret(try PostgresCluster.shared().makeSchema()), poolSize: 32, statementTimeout: .seconds(60),
            maximumBatch: 1, maximumWait: .seconds(60))
        let stores = try (0..<2).map { _ in try configuration.open(observer: nil) }
        let identity = Records.identity()
        let sessions = try (0..<400).map { _ in try Records.session() }
        let user = try #require(try await stores[0].signIn(Records.signIn(identity, session: sessions[0]))?.user.id)
        for session in sessions.dropFirst() {
            _ = try await stores[0].signIn(Records.signIn(identity, session: session))
        }
        let ended = await withTaskGroup(of: Result<SessionRevocation, any Error>.self) { group in
            for (number, session) in sessions.enumerated() {
                let store = stores[number % stores.count]
                group.addTask {
                    await Result.of { try await store.revokeSession(id: session.id, of: user, in: nil, recording: nil) }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        for result in ended { #expect(try result.get() == .revoked) }
        for store in stores { try await store.close() }
    }

    @Test("Of concurrent exchanges of a refresh token, one succeeds", arguments: StoreKind.engines)
    func rotation(kind: StoreKind) async throws {
        let session = try Records.session()
        let exchanged = try await race(kind, preparing: { _ = try await $0.signIn(Records.signIn(session: session)) }) {
            store, _ in
            try await store.rotate(Records.rotation(of: session.refreshTokenHash, to: Records.session()))
        }
        #expect(exchanged.count { $0 } == 1)
    }

    @Test("Of concurrent registrations with a handle, one succeeds", arguments: StoreKind.engines)
    func registration(kind: StoreKind) async throws {
        let pending = try Records.pending()
        let results = try await race(kind, preparing: { try await $0.addPendingRegistration(pending) }) {
            store, number in
            try await store.register(
                handle: pending.handle, profile: Profile(), session: Records.session(), publicID: "p\(number)",
                at: Records.now)
        }
        #expect(results.count { if case .success = $0 { true } else { false } } == 1)
        #expect(results.count { $0 == nil } == results.count - 1)
    }

    @Test("Of concurrent redemptions of a receipt, one succeeds", arguments: StoreKind.engines)
    func receipt(kind: StoreKind) async throws {
        let session = try Records.session()
        let identity = Records.identity()
        let receipt = Records.hash()
        let redeemed = try await race(
            kind,
            preparing: { store in
                _ = try await store.signIn(Records.signIn(identity, session: session))
                _ = try await store.addReceipt(
                    receipt, of: Records.hash(), until: Records.now.advanced(bySeconds: 60), approvedBy: identity,
                    session: session.tokenHash, at: Records.now)
            }
        ) { store, _ in
            try await store.redeemReceipt(receipt, at: Records.now)
        }
        #expect(redeemed.count { $0 == nil } == 1)
        #expect(redeemed.count { $0 == .usedReceipt } == redeemed.count - 1)
    }

    @Test("Concurrent sign-ins of one new identity get one user", arguments: StoreKind.engines)
    func newcomer(kind: StoreKind) async throws {
        let identity = Records.identity()
        let signedIn = try await race(kind) { (store, _) in try await store.signIn(Records.signIn(identity)) }
        #expect(Set(signedIn.compactMap { $0?.user.id }).count == 1)
        #expect(signedIn.count { $0?.isNew == true } == 1)
    }

    @Test("Concurrent sign-ins of different new identities all succeed", arguments: StoreKind.engines)
    func newcomers(kind: StoreKind) async throws {
        let signedIn = try await race(kind) { (store, _) in
            var new = 0
            for _ in 0..<5 where try await store.signIn(Records.signIn())?.isNew == true { new += 1 }
            return new
        }
        #expect(signedIn.allSatisfy { $0 == 5 })
    }

    @Test(
        "A session that begins while its identity is removed does not outlive the removal",
        arguments: StoreKind.engines)
    func endings(kind: StoreKind) async throws {
        let identity = Records.identity()
        let other = Records.identity()
        let sessions = try (0..<24).map { _ in try Records.session() }
        _ = try await race(
            kind, preparing: { _ = try await $0.signIn(Records.signIn(identity)) },
            finally: { store in
                for session in sessions {
                    let found = try await store.session(session.tokenHash, at: Records.now)
                    #expect(found == nil)
                }
            }
        ) { store, number in
            if number == 12 {
                let user = try #require(try await store.users(.identity(identity), limit: 1).first)
                let relinked = try await store.relink(
                    user.id, to: other, replacing: nil, at: Records.now, by: .operating("pat"), reason: nil)
                #expect(relinked == .success(identity))
            } else {
                let signIn = try Records.signIn(identity, session: sessions[number], newcomers: .mustRegister)
                _ = try await store.signIn(signIn)
            }
        }
    }
}
