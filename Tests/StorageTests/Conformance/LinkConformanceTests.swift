import Primitives
import Storage
import StorageModel
import TestSupport
import Testing

@Suite("Any store: linking identities")
struct LinkConformanceTests {
    private func link(
        _ identity: Identity, to user: User, holding session: NewSession, after seconds: Int64 = 0, limit: Int = 3
    ) -> IdentityLink {
        IdentityLink(
            identity, to: user.id, holding: session.tokenHash, at: Records.now.advanced(bySeconds: seconds),
            limit: limit, requestID: "r-1")
    }

    private func user(in store: any Store) async throws -> (user: User, session: NewSession) {
        let session = try Records.session()
        return (try #require(await store.signIn(Records.signIn(session: session))).user, session)
    }

    @Test("An unknown identity is linked to the user once, with an audit event", arguments: StoreKind.all)
    func linked(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let (user, session) = try await user(in: store)
        let identity = Records.identity()
        guard case .linked(let linked) = try await store.link(link(identity, to: user, holding: session)) else {
            Issue.record("not linked")
            return
        }
        #expect(linked.issuer == identity.issuer)
        #expect(linked.createdAt == Records.now)
        #expect(try await store.link(link(identity, to: user, holding: session)) == .wasLinked(linked))
        #expect(try await store.identities(of: user.id).count == 2)
        #expect(try await store.signIn(Records.signIn(identity))?.user.id == user.id)
        let events = try await store.auditEvents(AuditQuery())
        #expect(events.map(\.event.kind) == [.identityLinked])
        #expect(events.first?.event.user == user.id)
        #expect(events.first?.event.requestID == "r-1")
        #expect(events.first?.event.details.json.contains(identity.subject) == false)
        withExtendedLifetime(holding) {}
    }

    @Test("An unknown or expired session, or another user's, links nothing", arguments: StoreKind.all)
    func sessions(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let (user, session) = try await user(in: store)
        let (other, otherSession) = try await self.user(in: store)
        let identity = Records.identity()
        for link in [
            link(identity, to: user, holding: try Records.session()), link(identity, to: user, holding: otherSession),
            link(identity, to: other, holding: session), link(identity, to: user, holding: session, after: 3_600),
        ] {
            #expect(try await store.link(link) == .unknownSession)
        }
        _ = try await store.revokeSession(session.tokenHash)
        #expect(try await store.link(link(identity, to: user, holding: session)) == .unknownSession)
        #expect(try await store.statuses(of: [identity]) == [.unknown])
        withExtendedLifetime(holding) {}
    }

    @Test("Another user's identity, and one that an account was moved from, cannot be linked", arguments: StoreKind.all)
    func taken(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let (user, session) = try await user(in: store)
        let (former, present) = (Records.identity(), Records.identity())
        _ = try await store.signIn(Records.signIn(former))
        #expect(try await store.link(link(former, to: user, holding: session)) == .isTaken)
        let ported = PortedIdentity(identity: former, issuedAt: Records.now, token: Records.hash())
        _ = try await store.signIn(
            SignInRecord(
                identity: present, profile: nil, session: try Records.session(), newcomers: .mustRegister,
                portedFrom: [ported]))
        for identity in [former, present] {
            #expect(try await store.link(link(identity, to: user, holding: session)) == .isTaken)
        }
        #expect(try await store.identities(of: user.id).count == 1)
        let kinds = try await store.auditEvents(AuditQuery()).map(\.event.kind)
        #expect(kinds.filter { $0 == .identityLinkRefused }.count == 3)
        withExtendedLifetime(holding) {}
    }

    @Test("Identities that share an issuer or a subject are linked and removed one by one", arguments: StoreKind.all)
    func alike(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let identities = [("https://a.example", "7"), ("https://b.example", "7"), ("https://a.example", "8")].map {
            Identity(issuer: $0.0, subject: $0.1)
        }
        let session = try Records.session()
        let user = try #require(await store.signIn(Records.signIn(identities[0], session: session))).user
        #expect(try await store.statuses(of: identities) == [.live(user.id), .unknown, .unknown])
        for identity in identities { _ = try await store.link(link(identity, to: user, holding: session)) }
        #expect(try await store.statuses(of: identities) == Array(repeating: .live(user.id), count: 3))
        var found: [LinkedIdentity] = []
        for identity in identities {
            guard case .wasLinked(let linked) = try await store.link(link(identity, to: user, holding: session)) else {
                Issue.record("not linked")
                return
            }
            found.append(linked)
        }
        #expect(found.map(\.issuer) == identities.map(\.issuer))
        #expect(Set(found.map(\.id)).count == 3)
        let removal = try await store.removeIdentity(id: found[0].id, of: user.id, keeping: nil) { identity in
            AuditEvent(
                at: Records.now, AuditEvent.Kind("identity.gone"), user: user.id, by: .user,
                details: AuditDetails { $0.add("identity", identity.fingerprint) })
        }
        #expect(removal == .removed)
        #expect(try await store.statuses(of: identities) == [.unknown, .live(user.id), .live(user.id)])
        withExtendedLifetime(holding) {}
    }

    @Test("A user cannot have more identities than the limit", arguments: StoreKind.all)
    func limit(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let (user, session) = try await user(in: store)
        for _ in 0..<2 { _ = try await store.link(link(Records.identity(), to: user, holding: session)) }
        #expect(try await store.link(link(Records.identity(), to: user, holding: session)) == .tooMany)
        #expect(try await store.identities(of: user.id).count == 3)
        withExtendedLifetime(holding) {}
    }

    @Test("Of two users who link an identity at once, one gets it", arguments: StoreKind.all)
    func race(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        for _ in 0..<8 {
            let identity = Records.identity()
            var links: [IdentityLink] = []
            for _ in 0..<4 {
                let (user, session) = try await user(in: store)
                links.append(link(identity, to: user, holding: session))
            }
            let results = try await withThrowingTaskGroup(of: IdentityLinking.self) { group in
                for link in links { group.addTask { try await store.link(link) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(results.filter { $0 != .isTaken }.count == 1)
        }
        withExtendedLifetime(holding) {}
    }
}
