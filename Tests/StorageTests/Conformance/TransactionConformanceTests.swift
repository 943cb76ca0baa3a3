import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel
import Testing

@testable import Transactions

@Suite("Any store: transactions")
struct TransactionConformanceTests {
    private func key(_ id: String, signsFrom: Int64 = 0) -> SigningKeyRecord {
        SigningKeyRecord(
            id: id, publicKey: [UInt8](repeating: 4, count: 64), privateKey: [0, 1, 2, 3], createdAt: Records.now,
            signsFrom: Records.now.advanced(bySeconds: signsFrom))
    }

    private static func event(_ id: String, is kind: String = "added") -> AuditEvent {
        AuditEvent(at: Records.now, AuditEvent.Kind("key.\(kind)"), user: nil, by: .latchkey, requestID: id)
    }

    /// A session, and the identity of its user.
    private func session(in store: any Store) async throws -> (token: TokenHash, identity: Identity, user: User) {
        let session = try Records.session()
        let identity = Records.identity()
        let signedIn = try #require(await store.signIn(Records.signIn(identity, session: session)))
        return (session.tokenHash, identity, signedIn.user)
    }

    private func receipt(code: TokenHash? = nil, lifetime: Int64 = 300) throws -> ReceiptRow {
        ReceiptRow(
            id: Records.hash(), code: code ?? Records.hash(),
            expiresAt: Records.now.advanced(bySeconds: lifetime))
    }

    @Test("Signing keys are read unchanged, in order, until they are removed", arguments: StoreKind.all)
    func signingKeys(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        #expect(try await store.signingKeys().isEmpty)
        #expect(try await store.addSigningKey(key("b", signsFrom: 60), after: nil, recording: Self.event("b")))
        #expect(try await store.addSigningKey(key("a"), after: "b", recording: Self.event("a")))
        #expect(try await store.signingKeys() == [key("b", signsFrom: 60), key("a")])
        try await store.removeSigningKeys(["b", "unknown"]) { Self.event($0, is: "removed") }
        #expect(try await store.signingKeys() == [key("a")])
        let events = try await store.auditEvents(AuditQuery()).reversed().map(\.event)
        #expect(events == [Self.event("b"), Self.event("a"), Self.event("b", is: "removed")])
        withExtendedLifetime(holding) {}
    }

    @Test("A signing key is added only after the newest key that its maker knows", arguments: StoreKind.all)
    func outpaced(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        #expect(try await !store.addSigningKey(key("a"), after: "unknown", recording: Self.event("a")))
        #expect(try await store.addSigningKey(key("a"), after: nil, recording: Self.event("a")))
        #expect(try await !store.addSigningKey(key("b"), after: nil, recording: Self.event("b")))
        #expect(try await store.addSigningKey(key("b"), after: "a", recording: Self.event("b")))
        #expect(try await !store.addSigningKey(key("c"), after: "a", recording: Self.event("c")))
        #expect(try await !store.addSigningKey(key("a"), after: "b", recording: Self.event("a")))
        #expect(try await store.signingKeys().map(\.id) == ["a", "b"])
        let events = try await store.auditEvents(AuditQuery()).reversed().map(\.event)
        #expect(events == [Self.event("a"), Self.event("b")], "a key that is not added is not recorded")
        withExtendedLifetime(holding) {}
    }

    @Test(
        "Of concurrent additions of a signing key, from several stores on one database, one succeeds",
        arguments: StoreKind.engines)
    func race(kind: StoreKind) async throws {
        let (open, holding) = try kind.make()
        let stores = try (0..<3).map { _ in try open() }
        for round in 0..<2 {
            let newest = try await stores[0].signingKeys().last?.id
            let added = try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<12 {
                    let key = key("\(round)-\(number)")
                    group.addTask {
                        try await stores[number % 3].addSigningKey(key, after: newest, recording: Self.event(key.id))
                    }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(added == 1)
        }
        #expect(try await stores[0].signingKeys().count == 2)
        for store in stores { try await store.close() }
        withExtendedLifetime(holding) {}
    }

    @Test("A receipt is recorded for the session's user when that user approved", arguments: StoreKind.all)
    func recorded(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let (token, identity, user) = try await session(in: store)
        let (_, other, _) = try await session(in: store)
        let receipt = try receipt()
        for stranger in [other, Records.identity("nobody's")] {
            let refused = try await store.addReceipt(receipt, approvedBy: stranger, session: token, at: Records.now)
            #expect(refused == SignInError(.failed(.sameUser), codeWasPosted: true))
        }
        #expect(try await store.redeemReceipt(receipt.id, at: Records.now) == .unknownReceipt)
        let admitted = try await store.addReceipt(receipt, approvedBy: identity, session: token, at: Records.now)
        #expect(admitted == nil)
        let owner = try await store.reads.submit { db in
            try db.number("SELECT user_id FROM receipts WHERE receipt_hash = ?", receipt.id)
        }
        #expect(owner == user.id.number)
        #expect(try await store.redeemReceipt(receipt.id, at: Records.now) == nil)
        withExtendedLifetime(holding) {}
    }

    @Test("An unknown, revoked or expired session stores no receipt", arguments: StoreKind.all)
    func sessionGone(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let (token, identity, _) = try await session(in: store)
        let later = Records.now.advanced(bySeconds: 3_600)
        let unknown = Records.hash()
        func admission(_ session: TokenHash, at now: Timestamp) async throws -> SignInError? {
            try await store.addReceipt(receipt(), approvedBy: identity, session: session, at: now)
        }
        #expect(try await admission(unknown, at: Records.now) == .sessionUnknown)
        #expect(try await admission(token, at: later) == .sessionUnknown)
        #expect(try await store.revokeSession(token))
        #expect(try await admission(token, at: Records.now) == .sessionUnknown)
        withExtendedLifetime(holding) {}
    }

    @Test("A code makes one receipt", arguments: StoreKind.all)
    func codeUsed(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let (token, identity, _) = try await session(in: store)
        let code = Records.hash()
        let first = try await store.addReceipt(
            receipt(code: code), approvedBy: identity, session: token, at: Records.now)
        #expect(first == nil)
        let second = try await store.addReceipt(
            receipt(code: code), approvedBy: identity, session: token, at: Records.now)
        #expect(second == .codeUsed)
        withExtendedLifetime(holding) {}
    }

    @Test("A receipt is redeemed once, and before it expires", arguments: StoreKind.all)
    func redeemed(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let (token, identity, _) = try await session(in: store)
        let (one, late) = (try receipt(), try receipt())
        for receipt in [one, late] {
            _ = try await store.addReceipt(receipt, approvedBy: identity, session: token, at: Records.now)
        }
        let results = try await withThrowingTaskGroup(of: SignInError?.self) { group in
            for _ in 0..<16 { group.addTask { try await store.redeemReceipt(one.id, at: Records.now) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.count { $0 == nil } == 1)
        #expect(results.count { $0 == .usedReceipt } == 15)
        #expect(try await store.redeemReceipt(late.id, at: late.expiresAt) == .expiredReceipt)
        #expect(try await store.redeemReceipt(one.id, at: late.expiresAt) == .usedReceipt)
        withExtendedLifetime(holding) {}
    }

    @Test("Receipts are removed with their user, and a day after they expire", arguments: StoreKind.all)
    func removed(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let (token, identity, user) = try await session(in: store)
        let (erased, old) = (try receipt(lifetime: 1_000_000), try receipt())
        for receipt in [erased, old] {
            _ = try await store.addReceipt(receipt, approvedBy: identity, session: token, at: Records.now)
        }
        let day = old.expiresAt.advanced(bySeconds: 86_400)
        #expect(try await store.purgeExpired(at: Records.now.advanced(bySeconds: 3_000), limit: 100) == 0)
        #expect(try await store.redeemReceipt(old.id, at: day) == .expiredReceipt)
        #expect(try await store.purgeExpired(at: day, limit: 100) >= 1)
        #expect(try await store.redeemReceipt(old.id, at: day) == .unknownReceipt)
        #expect(try await store.deleteUser(user.id))
        #expect(try await store.redeemReceipt(erased.id, at: Records.now) == .unknownReceipt)
        withExtendedLifetime(holding) {}
    }
}

private struct ReceiptRow: Sendable {
    let id: TokenHash
    let code: TokenHash
    let expiresAt: Timestamp
}

extension SQLStore {
    fileprivate func addReceipt(
        _ receipt: ReceiptRow, approvedBy identity: Identity, session: TokenHash, at now: Timestamp
    ) async throws(StorageError) -> SignInError? {
        try await addReceipt(
            receipt.id, of: receipt.code, until: receipt.expiresAt, approvedBy: identity, session: session, at: now)
    }
}
