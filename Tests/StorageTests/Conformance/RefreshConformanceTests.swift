import Primitives
import Storage
import StorageModel
import Testing

@Suite("Any store: refresh tokens")
struct RefreshConformanceTests {
    @Test("A refresh token is live, then just spent until its successor expires", arguments: StoreKind.all)
    func states(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let (old, new) = (try Records.session(), try Records.session(lifetime: 7_200))
        let user = try #require(await store.signIn(Records.signIn(session: old))).user
        let now = Records.now
        guard case .live(let before) = try await store.refreshToken(old.refreshTokenHash, at: now) else {
            Issue.record("it is not live")
            return
        }
        #expect(before.session.id == old.id)
        #expect(before.user == user)
        let rotation = try Records.rotation(of: old.refreshTokenHash, to: new)
        #expect(try await store.rotate(rotation))

        guard case .live(let after) = try await store.refreshToken(new.refreshTokenHash, at: now) else {
            Issue.record("the new one is not live")
            return
        }
        #expect(after.session.id == old.id)
        #expect(after.session.createdAt == old.createdAt)
        #expect(after.session.expiresAt == new.expiresAt)
        let justBefore = new.refreshExpiresAt.advanced(bySeconds: -1)
        #expect(
            try await store.refreshToken(old.refreshTokenHash, at: justBefore) == .justSpent(after, rotation.last))
        #expect(try await store.refreshToken(Records.hash(), at: now) == .unknown)
        #expect(try await store.refreshToken(old.tokenHash, at: now) == .unknown)
        #expect(try await store.refreshToken(new.refreshTokenHash, at: new.refreshExpiresAt) == .unknown)
        #expect(try await store.refreshToken(old.refreshTokenHash, at: new.refreshExpiresAt) == .unknown)
        withExtendedLifetime(holding) {}
    }

    @Test("Only the last rotation may be repeated, as long as its session lasts", arguments: StoreKind.all)
    func onlyTheLast(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let sessions = try (0..<3).map { _ in try Records.session() }
        _ = try await store.signIn(Records.signIn(session: sessions[0]))
        for index in 1..<3 {
            let rotation = try Records.rotation(of: sessions[index - 1].refreshTokenHash, to: sessions[index])
            #expect(try await store.rotate(rotation))
        }
        let states = try await states(of: sessions, Records.hash(), in: store)
        #expect(states == ["spent", "just spent", "live"])
        let end = sessions[2].refreshExpiresAt
        #expect(try await store.purgeExpired(at: end.advanced(bySeconds: -1), limit: 10) == 0)
        #expect(try await self.states(of: sessions, Records.hash(), in: store) == ["spent", "just spent", "live"])
        #expect(try await store.purgeExpired(at: end, limit: 10) > 0)
        #expect(try await self.states(of: sessions, Records.hash(), in: store) == ["unknown", "unknown", "unknown"])
        withExtendedLifetime(holding) {}
    }

    @Test(
        "The replaced session token is valid until the grace period or its own lifetime ends", arguments: StoreKind.all)
    func formerToken(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        for (lifetime, end) in [(3_600, 30), (10, 10)] as [(Int64, Int64)] {
            let (old, new) = (try Records.session(lifetime: lifetime), try Records.session())
            _ = try await store.signIn(Records.signIn(session: old))
            #expect(try await store.rotate(Records.rotation(of: old.refreshTokenHash, to: new)))
            let last = Records.now.advanced(bySeconds: end - 1)
            #expect(try await store.session(old.tokenHash, at: last)?.session.id == old.id)
            #expect(try await store.session(old.tokenHash, at: last.advanced(bySeconds: 1)) == nil)
            #expect(try await store.session(new.tokenHash, at: last)?.session.id == old.id)
        }
        withExtendedLifetime(holding) {}
    }

    @Test("A revoked session ends with all its tokens, however it is identified", arguments: StoreKind.all)
    func revoked(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        for name in ["id", "id without a record", "token", "former token", "user"] {
            let (old, new) = (try Records.session(), try Records.session())
            let user = try #require(await store.signIn(Records.signIn(session: old))).user.id
            #expect(try await store.rotate(Records.rotation(of: old.refreshTokenHash, to: new)))
            let event = AuditEvent(at: Records.now, AuditEvent.Kind("session.ended"), user: user, by: .user)
            let stranger = UserID(user.number + 1)
            let byStranger = try await store.revokeSession(id: old.id, of: stranger, in: nil, recording: event)
            #expect(byStranger == .unknownSession)
            #expect(try await store.auditEvents(AuditQuery(user: user)).isEmpty)
            let isDone =
                switch name {
                case "id": try await store.revokeSession(id: old.id, of: user, in: nil, recording: event) == .revoked
                case "id without a record":
                    try await store.revokeSession(id: old.id, of: user, in: nil, recording: nil) == .revoked
                case "token": try await store.revokeSession(new.tokenHash)
                case "former token": try await store.revokeSession(old.tokenHash)
                default: try await store.deleteUser(user)
                }
            #expect(isDone)
            #expect(try await store.auditEvents(AuditQuery(user: user)).map(\.event) == (name == "id" ? [event] : []))
            #expect(try await states(of: [old, new], Records.hash(), in: store) == ["unknown", "unknown"])
            #expect(try await store.session(old.tokenHash, at: Records.now) == nil)
            #expect(try await store.session(new.tokenHash, at: Records.now) == nil)
            #expect(try await !store.rotate(Records.rotation(of: new.refreshTokenHash, to: Records.session())))
        }
        withExtendedLifetime(holding) {}
    }

    @Test("Of fifty concurrent rotations of one token, one succeeds", arguments: StoreKind.all)
    func concurrent(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let old = try Records.session()
        _ = try await store.signIn(Records.signIn(session: old))
        let successors = try (0..<50).map { _ in try Records.session() }
        let rotations = try successors.map { try Records.rotation(of: old.refreshTokenHash, to: $0) }
        let done = try await withThrowingTaskGroup(of: (Int, Bool).self) { group in
            for (index, rotation) in rotations.enumerated() {
                group.addTask { (index, try await store.rotate(rotation)) }
            }
            return try await group.reduce(into: [Int]()) { if $1.1 { $0.append($1.0) } }
        }
        #expect(done.count == 1)
        for (index, successor) in successors.enumerated() {
            let isThere = try await store.session(successor.tokenHash, at: Records.now) != nil
            #expect(isThere == done.contains(index))
        }
        withExtendedLifetime(holding) {}
    }

    @Test("A token is recognised as spent by its family, however many followed it", arguments: StoreKind.all)
    func families(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let sessions = try (0..<300).map { _ in try Records.session() }
        let bystanders = try (0..<2).map { _ in try Records.session() }
        let (family, other) = (Records.hash(), Records.hash())
        _ = try await store.signIn(Records.signIn(session: sessions[0]))
        _ = try await store.signIn(Records.signIn(session: bystanders[0]))
        #expect(
            try await store.rotate(
                Records.rotation(of: bystanders[0].refreshTokenHash, family: other, to: bystanders[1])))
        for (old, new) in zip(sessions, sessions.dropFirst()) {
            #expect(try await store.rotate(Records.rotation(of: old.refreshTokenHash, family: family, to: new)))
        }
        let states = try await states(of: sessions, family, in: store)
        #expect(states == Array(repeating: "spent", count: 298) + ["just spent", "live"])
        #expect(try await self.states(of: bystanders, other, in: store) == ["just spent", "live"])
        // No token is accepted with an unknown family.
        #expect(try await self.states(of: [sessions[0]], Records.hash(), in: store) == ["unknown"])
        withExtendedLifetime(holding) {}
    }

    @Test("Tokens that earlier versions stored as spent stay spent", arguments: StoreKind.all)
    func spentBeforeFamilies(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let sessions = try (0..<4).map { _ in try Records.session() }
        let family = Records.hash()
        _ = try await store.signIn(Records.signIn(session: sessions[0]))
        // Each has a row of its own, as in earlier versions.
        for (old, new) in zip(sessions.prefix(2), sessions.dropFirst()) {
            #expect(try await store.rotate(Records.rotation(of: old.refreshTokenHash, to: new)))
        }
        #expect(
            try await store.rotate(Records.rotation(of: sessions[2].refreshTokenHash, family: family, to: sessions[3])))
        #expect(try await states(of: sessions, family, in: store) == ["spent", "spent", "just spent", "live"])
        #expect(try await states(of: Array(sessions.prefix(2)), Records.hash(), in: store) == ["spent", "spent"])
        withExtendedLifetime(holding) {}
    }

    private func states(
        of sessions: [NewSession], _ family: TokenHash, in store: any Store
    ) async throws -> [String] {
        var states: [String] = []
        for session in sessions {
            switch try await store.refreshToken(session.refreshTokenHash, family: family, at: Records.now) {
            case .live: states.append("live")
            case .justSpent: states.append("just spent")
            case .spent: states.append("spent")
            case .unknown: states.append("unknown")
            }
        }
        return states
    }
}
