import Primitives
import Storage
import StorageModel
import Testing

@testable import SecurityEvents

@Suite("Any store: security events")
struct SecurityEventConformanceTests {
    private func origin(_ id: String, keptFor seconds: Int64 = 600) -> EventOrigin {
        EventOrigin(
            provider: "acme", issuer: Records.issuer, tokenID: id, keptUntil: Records.now.advanced(bySeconds: seconds),
            requestID: "r-1")
    }

    private func sessions(of user: UserID, in store: SQLStore) async throws -> Int {
        try await store.sessions(of: user, at: Records.now, limit: 9).count
    }

    @Test("A token is used up with its effect on its users alone, once", arguments: StoreKind.all)
    func once(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let (identity, other) = (Records.identity(), Records.identity())
        let user = try #require(await store.signIn(Records.signIn(identity))).user.id
        _ = try await store.signIn(Records.signIn(identity))
        let bystander = try #require(await store.signIn(Records.signIn(other))).user.id
        let changes = [
            EventChange(event: .credentialChange, action: .record, identity: other),
            EventChange(event: .sessionRevoked, action: .endSessions, identity: Records.identity()),
            EventChange(event: .accountDisabled, action: .endSessions, identity: identity),
        ]
        let effects = try #require(try await store.apply(changes, of: origin("one"), at: Records.now))
        #expect(effects.map { $0?.user } == [bystander, nil, user])
        #expect(effects.map { $0?.sessions } == [0, nil, 2])
        #expect(try await sessions(of: user, in: store) == 0)
        #expect(try await sessions(of: bystander, in: store) == 1)
        let events = try await store.auditEvents(AuditQuery(kind: AuditEvent.Kind("security_event.received")))
        #expect(Set(events.map(\.event.user)) == [user, bystander] && events.count == 2)
        #expect(events.allSatisfy { $0.event.actor == .client(Records.issuer) && $0.event.requestID == "r-1" })
        // The same id again, and of another issuer.
        _ = try await store.signIn(Records.signIn(identity))
        #expect(try await store.apply(changes, of: origin("one"), at: Records.now) == nil)
        #expect(try await sessions(of: user, in: store) == 1)
        let elsewhere = EventOrigin(
            provider: "other", issuer: "https://other.example", tokenID: "one",
            keptUntil: Records.now.advanced(bySeconds: 600), requestID: nil)
        #expect(try await store.apply(changes, of: elsewhere, at: Records.now) != nil)
        withExtendedLifetime(holding) {}
    }

    @Test("The same token at the same time has one effect", arguments: StoreKind.all)
    func concurrent(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let identity = Records.identity()
        _ = try await store.signIn(Records.signIn(identity))
        let change = EventChange(event: .sessionRevoked, action: .endSessions, identity: identity)
        let effects = try await withThrowingTaskGroup { group in
            for _ in 0..<16 {
                group.addTask { try await store.apply([change], of: origin("one"), at: Records.now) != nil }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(effects == 1)
        withExtendedLifetime(holding) {}
    }

    @Test("One instance has the lease of a provider's polls, until it ends or is released", arguments: StoreKind.all)
    func pollLease(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        func claim(_ holder: String, after seconds: Int64 = 0, of provider: String = "acme") async throws -> Bool {
            try await store.claimPolling(
                of: provider, for: holder, at: Records.now.advanced(bySeconds: seconds), seconds: 60)
        }
        let first = try await withThrowingTaskGroup { group in
            for number in 0..<16 { group.addTask { try await claim("h\(number)") ? "h\(number)" : nil } }
            return try await group.reduce(into: []) { $0 += [$1].compactMap(\.self) }
        }
        #expect(first.count == 1)
        #expect(try await claim("other", of: "another provider"))
        #expect(try await claim(first[0], after: 59))
        #expect(try await !claim("other", after: 118))
        #expect(try await claim("other", after: 119))
        #expect(try await !claim(first[0], after: 119))
        try await store.releasePolling(of: "acme", by: first[0])
        #expect(try await !claim(first[0], after: 119), "it is not the holder's")
        try await store.releasePolling(of: "acme", by: "other")
        #expect(try await claim(first[0], after: 119))
        // A clock that was years ahead.
        #expect(try await claim(first[0], after: 100_000_000))
        #expect(try await claim("other", after: 120))
        withExtendedLifetime(holding) {}
    }

    @Test("Its id is kept until it is refused for its age", arguments: StoreKind.all)
    func kept(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let change = EventChange(event: .accountPurged, action: .endAccess, identity: Records.identity())
        #expect(try await store.apply([change], of: origin("one"), at: Records.now) != nil)
        _ = try await store.purgeExpired(at: Records.now.advanced(bySeconds: 599), limit: 100)
        #expect(try await store.apply([change], of: origin("one"), at: Records.now) == nil)
        _ = try await store.purgeExpired(at: Records.now.advanced(bySeconds: 600), limit: 100)
        #expect(try await store.apply([change], of: origin("one"), at: Records.now) != nil)
        withExtendedLifetime(holding) {}
    }
}
