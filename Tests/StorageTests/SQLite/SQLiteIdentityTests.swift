import Primitives
import Storage
import StorageModel
import TestSupport
import Testing

@Suite("SQLite: the identities of a user")
struct SQLiteIdentityTests {
    private let directory: TemporaryDirectory
    private let store: SQLStore

    init() throws {
        directory = try TemporaryDirectory()
        store = try SQLStore(configuration: SQLiteConfiguration(path: directory.file("store.db")))
    }

    /// A user with two identities.
    private func twofold() async throws -> (user: UserID, identities: [Identity]) {
        let identities = [Records.identity(), Records.identity()]
        let user = try #require(await store.signIn(Records.signIn(identities[0]))).user.id
        try add(identities[1], to: user.number)
        return (user, identities)
    }

    private static func event(_ identity: Identity, _ user: UserID) -> AuditEvent {
        AuditEvent(
            at: Records.now, AuditEvent.Kind("identity.gone"), user: user, by: .user,
            details: AuditDetails { $0.add("identity", identity.fingerprint) })
    }

    private func add(_ identity: Identity, to user: Int64) throws {
        try DatabaseProbe(path: directory.file("store.db")).change(
            "INSERT INTO identities (issuer, subject, user_id, created_at) VALUES (?, ?, ?, ?)",
            [
                .text(identity.issuer), .text(identity.subject), .integer(user),
                .integer(Records.now.secondsSinceEpoch + 1),
            ])
    }

    @Test("One of two identities is removed with an audit event; the last one cannot be removed")
    func remove() async throws {
        let (user, identities) = try await twofold()
        let listed = try await store.identities(of: user)
        #expect(listed.map(\.createdAt.secondsSinceEpoch) == [0, 1].map { Records.now.secondsSinceEpoch + $0 })
        #expect(Set(listed.map(\.id)).count == 2)
        let stranger = UserID(user.number + 1)
        #expect(
            try await store.removeIdentity(id: listed[0].id, of: stranger, keeping: nil) { Self.event($0, user) }
                == .unknown)
        #expect(
            try await store.removeIdentity(id: listed[0].id, of: user, keeping: nil) { Self.event($0, user) }
                == .removed)
        #expect(
            try await store.removeIdentity(id: listed[0].id, of: user, keeping: nil) { Self.event($0, user) }
                == .unknown)
        #expect(
            try await store.removeIdentity(id: listed[1].id, of: user, keeping: nil) { Self.event($0, user) } == .isLast
        )
        #expect(try await store.identities(of: user) == [listed[1]])
        #expect(try await store.auditEvents(AuditQuery()).map(\.event) == [Self.event(identities[0], user)])
        #expect(try await store.signIn(Records.signIn(identities[1]))?.user.id == user)
        #expect(try await store.signIn(Records.signIn(identities[0]))?.isNew == true)
    }

    @Test("Removing an identity that the account moved to ends the former identity's sessions, too")
    func sessionsBeforeTheMove() async throws {
        let (former, present) = (Records.identity(), Records.identity())
        let (first, second, third) = (try Records.session(), try Records.session(), try Records.session())
        let user = try #require(
            await store.signIn(
                SignInRecord(
                    identity: former, profile: nil, session: first, newcomers: .welcome(publicID: "p-1")))
        ).user.id
        let ported = PortedIdentity(identity: former, issuedAt: Records.now, token: Records.hash())
        _ = try await store.signIn(
            SignInRecord(
                identity: present, profile: nil, session: second, newcomers: .mustRegister, portedFrom: [ported]))
        let other = Records.identity()
        try add(other, to: user.number)
        _ = try await store.signIn(
            SignInRecord(identity: other, profile: nil, session: third, newcomers: .mustRegister))
        let id = try #require(await store.identities(of: user).first { $0.issuer == present.issuer }).id
        #expect(
            try await store.removeIdentity(id: id, of: user, keeping: third.id) { Self.event($0, user) } == .removed)
        #expect(try await store.session(first.tokenHash, at: Records.now) == nil)
        #expect(try await store.session(second.tokenHash, at: Records.now) == nil)
        #expect(try await store.session(third.tokenHash, at: Records.now) != nil)
    }

    @Test("An identity that the account was moved away from is neither listed, removed nor counted")
    func movedAway() async throws {
        let (former, present) = (Records.identity(), Records.identity())
        let user = try #require(await store.signIn(Records.signIn(former))).user.id
        let formerID = try #require(await store.identities(of: user).first).id
        let session = try Records.session()
        let ported = PortedIdentity(identity: former, issuedAt: Records.now, token: Records.hash())
        let moved = try await store.signIn(
            SignInRecord(
                identity: present, profile: nil, session: session, newcomers: .mustRegister, portedFrom: [ported]))
        #expect(moved?.user.id == user)
        let listed = try await store.identities(of: user)
        #expect(listed.count == 1 && listed.first?.id != formerID)
        #expect(
            try await store.removeIdentity(id: formerID, of: user, keeping: nil) { Self.event($0, user) } == .unknown)
        let last = try #require(listed.first).id
        #expect(try await store.removeIdentity(id: last, of: user, keeping: nil) { Self.event($0, user) } == .isLast)
    }

    @Test("Two concurrent removals leave one identity")
    func removeBoth() async throws {
        let (user, _) = try await twofold()
        let ids = try await store.identities(of: user).map(\.id)
        let store = store
        let removals = try await withThrowingTaskGroup(of: IdentityRemoval.self) { group in
            for id in ids {
                group.addTask {
                    try await store.removeIdentity(id: id, of: user, keeping: nil) { Self.event($0, user) }
                }
            }
            return try await group.reduce(into: Set<IdentityRemoval>()) { $0.insert($1) }
        }
        #expect(removals == [.removed, .isLast])
        #expect(try await store.identities(of: user).count == 1)
    }
}
