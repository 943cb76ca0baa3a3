import Primitives
import Storage
import StorageModel
import Testing

@testable import Administration
@testable import OpenIDConnect
@testable import ProviderLogout

/// A user who has just signed in with an idempotency record, and has another session of another identity.
private struct Stage: Sendable {
    let store: SQLStore
    let user: User
    let first = Records.identity()
    let second = Identity(issuer: "https://second.example", subject: "7")
    let session: NewSession
    let other: NewSession
    let record = Records.idempotency()
    /// The session of the sign-in that may be retried.
    let given: GivenSession
    let sessionID = "sid-7"
    private let holding: any Sendable

    init(_ kind: StoreKind) async throws {
        (store, holding) = try kind.open()
        session = try Records.session()
        other = try Records.session(lifetime: 10, refreshLifetime: 10)
        let signedIn = try #require(
            await store.signIn(Records.signIn(first, session: session, idempotency: record)))
        user = signedIn.user
        given = try #require(signedIn.given)
        let link = IdentityLink(
            second, to: user.id, holding: session.tokenHash, at: Records.now, limit: 9, requestID: nil)
        _ = try await store.link(link)
        var record = try Records.signIn(second, session: other)
        record.providerSession = ProviderSessionHash(issuer: second.issuer, id: sessionID)
        #expect(try await store.signIn(record)?.user.id == user.id)
    }

    var event: AuditEvent { AuditEvent(at: Records.now, AuditEvent.Kind("test.made"), user: user.id, by: .user) }

    func endSessions(ofSubject subject: String? = nil, sessionID: String? = nil) async throws -> [UserID: Int]? {
        try await store.endSessions(
            LogoutToken(
                issuer: second.issuer, subject: subject, sessionID: sessionID, id: RandomSource.system.token(),
                refusedFrom: Records.now.advanced(bySeconds: 60)), at: Records.now, requestID: nil)
    }

    func removeIdentity(_ issuer: String) async throws {
        let identity = try await store.identities(of: user.id).first { $0.issuer == issuer }
        let removal = try await store.removeIdentity(
            id: try #require(identity?.id), of: user.id, keeping: session.id
        ) { [event] _ in event }
        #expect(removal == .removed)
    }

    /// The result of the retry.
    func again() async throws -> SessionAddition {
        let further = try Records.session()
        let addition = try await store.addSession(further, besides: given)
        let isThere = try await store.session(further.tokenHash, at: Records.now) != nil
        #expect(isThere == (addition.user == user))
        return addition
    }
}

extension SessionAddition {
    /// The user who got a further session.
    fileprivate var user: User? { if case .added(let user, _) = self { user } else { nil } }
}

private func expect(_ isSo: Bool, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(isSo, sourceLocation: sourceLocation)
}

/// An event between a sign-in and its retry.
private struct Event: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let happen: @Sendable (Stage) async throws -> Void

    init(_ description: String, _ happen: @escaping @Sendable (Stage) async throws -> Void) {
        testDescription = description
        self.happen = happen
    }

    /// Every way a session ends before it expires.
    static let endings: [Event] = [
        Event("another session is ended by its token") { stage in
            expect(try await stage.store.revokeSession(stage.other.tokenHash))
        },
        Event("another session is ended by its last token") { stage in
            let rotation = try Records.rotation(of: stage.other.refreshTokenHash, to: Records.session())
            expect(try await stage.store.rotate(rotation))
            expect(try await stage.store.revokeSession(stage.other.tokenHash))
        },
        Event("another session is ended by its id, as also by a refresh token that was shown twice") { stage in
            expect(
                try await stage.store.revokeSession(
                    id: stage.other.id, of: stage.user.id, in: nil, recording: stage.event) == .revoked)
        },
        Event("the session itself is ended by its token") { stage in
            expect(try await stage.store.revokeSession(stage.session.tokenHash))
        },
        Event("all others are ended") { stage in
            let count = try await stage.store.revokeSessions(
                of: stage.user.id, except: stage.session.id, recording: stage.event)
            expect(count == 1)
        },
        Event("all others are ended, and there is none") { stage in
            _ = try await stage.store.purgeExpired(at: Records.now.advanced(bySeconds: 10), limit: 100)
            let count = try await stage.store.revokeSessions(
                of: stage.user.id, except: stage.session.id, recording: stage.event)
            expect(count == 0)
        },
        Event("another identity is taken away") { try await $0.removeIdentity($0.second.issuer) },
        Event("its identity is taken away by itself") { try await $0.removeIdentity($0.first.issuer) },
        Event("the provider ends what another identity signed in") { stage in
            expect(try await stage.endSessions(ofSubject: stage.second.subject) == [stage.user.id: 1])
        },
        Event("the provider ends a session of its own") { stage in
            expect(try await stage.endSessions(sessionID: stage.sessionID) == [stage.user.id: 1])
        },
        Event("an operator gives the user another identity") { stage in
            let former = try await stage.store.relink(
                stage.user.id, to: Records.identity(), replacing: stage.first.fingerprint, at: Records.now,
                by: .operating("pat"), reason: nil)
            expect(former == .success(stage.first))
        },
        Event("an operator undoes a move") { stage in
            let ported = PortedIdentity(
                identity: stage.first, issuedAt: Records.now.advanced(bySeconds: -60), token: Records.hash())
            _ = try await stage.store.signIn(
                SignInRecord(
                    identity: Records.identity(), profile: nil, session: try Records.session(),
                    newcomers: .mustRegister, portedFrom: [ported]))
            expect(try await stage.again().user == stage.user)
            let move = try #require(try await stage.store.account(of: stage.user.id)?.moves.first)
            let undone = try await stage.store.undoMove(
                move.number, of: stage.user.id, at: Records.now, by: .operating("pat"), reason: nil)
            expect((try? undone.get()) != nil)
        },
    ]

    /// Every way a user is erased.
    static let erasures: [Event] = [
        Event("the user is erased") { stage in
            expect(try await stage.store.deleteUser(stage.user.id))
        },
        Event("the user is put into another") { stage in
            let other = try #require(await stage.store.signIn(Records.signIn())).user
            expect(
                try await stage.store.merge(
                    stage.user.id, into: other.id, at: Records.now, by: .operating("pat"), reason: nil))
        },
    ]

    static let others: [Event] = [
        Event("nothing") { _ in },
        Event("another session expires") { stage in
            let end = Records.now.advanced(bySeconds: 10)
            expect(try await stage.store.purgeExpired(at: end, limit: 100) > 0)
            expect(try await stage.store.sessions(of: stage.user.id, at: Records.now, limit: 9).count == 1)
        },
        Event("the session is refreshed") { stage in
            let rotation = try Records.rotation(of: stage.session.refreshTokenHash, to: Records.session())
            expect(try await stage.store.rotate(rotation))
        },
        Event("another user signs out, and unknown sessions are revoked") { stage in
            let session = try Records.session()
            _ = try await stage.store.signIn(Records.signIn(session: session))
            expect(try await stage.store.revokeSession(session.tokenHash))
            expect(try await !stage.store.revokeSession(session.tokenHash))
            expect(
                try await stage.store.revokeSession(
                    id: "x", of: stage.user.id, in: nil, recording: stage.event) == .unknownSession)
        },
        Event("another account is merged into this one") { stage in
            let other = try #require(await stage.store.signIn(Records.signIn())).user
            expect(
                try await stage.store.merge(
                    other.id, into: stage.user.id, at: Records.now, by: .operating("pat"), reason: nil))
        },
        Event("the row is removed that others find it by") { stage in
            _ = try await stage.store.purgeExpired(at: Records.now.advanced(bySeconds: 61), limit: 100)
        },
    ]
}

@Suite("Any store: the sign-ins of the last minute")
struct RecentSignInConformanceTests {
    @Test(
        "A recent sign-in is found by its key in every store on the database, until it ends",
        arguments: StoreKind.shared)
    func found(kind: StoreKind) async throws {
        let (open, holding) = try kind.make()
        let stores = try (0..<2).map { _ in try open() }
        let (record, session) = (Records.idempotency(), try Records.session())
        let signedIn = try #require(await stores[0].signIn(Records.signIn(session: session, idempotency: record)))
        let given = try #require(signedIn.given)
        #expect(given.user == signedIn.user.id)
        #expect(given.id == session.id)
        let last = record.endsAt.advanced(bySeconds: -1)
        for store in stores {
            for moment in [Records.now, last] {
                let found = try await store.recentSignIn(record.key, at: moment)
                #expect(found?.session == given)
                #expect(found?.endsAt == record.endsAt)
            }
            #expect(try await store.recentSignIn(record.key, at: record.endsAt) == nil)
            #expect(try await store.recentSignIn(Records.idempotency().key, at: Records.now) == nil)
        }
        let further = try Records.session()
        #expect(try await stores[1].addSession(further, besides: given) == .added(signedIn.user, isNewUser: true))
        #expect(try await stores[0].session(further.tokenHash, at: Records.now)?.user == signedIn.user)
        for store in stores { try await store.close() }
        withExtendedLifetime(holding) {}
    }

    @Test("A sign-in that gave no session is not found", arguments: StoreKind.shared)
    func gaveNothing(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let records = (0..<2).map { _ in Records.idempotency() }
        #expect(try await store.signIn(Records.signIn(newcomers: .mustRegister, idempotency: records[0])) == nil)
        let session = try Records.session()
        #expect(try await store.signIn(Records.signIn(session: session))?.given == nil)
        await #expect(throws: StorageError.self) {
            try await store.signIn(Records.signIn(session: session, idempotency: records[1]))
        }
        for record in records {
            #expect(try await store.recentSignIn(record.key, at: Records.now) == nil)
        }
        withExtendedLifetime(holding) {}
    }

    @Test("A sign-in that was done twice is found with its later result", arguments: StoreKind.shared)
    func twice(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let (identity, record) = (Records.identity(), Records.idempotency())
        _ = try await store.signIn(Records.signIn(identity, idempotency: record))
        let later = IdempotencyRecord(key: record.key, endsAt: record.endsAt.advanced(bySeconds: 5))
        let given = try #require(await store.signIn(Records.signIn(identity, idempotency: later))?.given)
        let found = try await store.recentSignIn(record.key, at: record.endsAt)
        #expect(found?.session == given)
        #expect(found?.endsAt == later.endsAt)
        withExtendedLifetime(holding) {}
    }

    @Test(
        "A repeated sign-in gives no session if a session was ended in between",
        arguments: StoreKind.shared)
    func twiceWithAnEnding(kind: StoreKind) async throws {
        let stage = try await Stage(kind)
        #expect(try await stage.store.revokeSession(stage.other.tokenHash))
        let again = try Records.session()
        #expect(
            try await stage.store.signIn(Records.signIn(stage.first, session: again, idempotency: stage.record)) == nil)
        #expect(try await stage.store.session(again.tokenHash, at: Records.now) == nil)
        #expect(try await stage.again() == .earlierEnded)
        #expect(try await stage.store.statuses(of: [stage.first]) == [.live(stage.user.id)])
    }

    @Test(
        "A sign-in that began before its user was stored gives no session if one of the user's was ended since",
        arguments: StoreKind.engines + StoreKind.shared, [true, false])
    func cameBefore(kind: StoreKind, isEnded: Bool) async throws {
        let (store, holding) = try kind.open()
        let (identity, first, again) = (Records.identity(), try Records.session(), try Records.session())
        _ = try await store.signIn(Records.signIn(identity, session: first))
        if isEnded { #expect(try await store.revokeSession(first.tokenHash)) }
        let plain = Records.idempotency()
        let record = IdempotencyRecord(key: plain.key, endsAt: plain.endsAt, endings: 0)
        let signedIn = try await store.signIn(Records.signIn(identity, session: again, idempotency: record))
        #expect((signedIn == nil) == isEnded)
        #expect((try await store.session(again.tokenHash, at: Records.now) == nil) == isEnded)
        if store.isShared {
            #expect((try await store.recentSignIn(record.key, at: Records.now) == nil) == isEnded)
        } else {
            #expect(try await store.recentSignIns(at: Records.now, limit: 9).isEmpty == isEnded)
        }
        withExtendedLifetime(holding) {}
    }

    @Test("The rows are removed when they have ended, and not earlier", arguments: StoreKind.shared)
    func purge(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let records = (0..<3).map { _ in Records.idempotency() }
        for record in records { _ = try await store.signIn(Records.signIn(idempotency: record)) }
        let end = records[0].endsAt
        #expect(try await store.purgeExpired(at: end.advanced(bySeconds: -1), limit: 10) == 0)
        #expect(try await store.recentSignIn(records[0].key, at: Records.now) != nil)
        #expect(try await store.purgeExpired(at: end, limit: 2) == 2)
        #expect(try await store.purgeExpired(at: end, limit: 2) == 1)
        for record in records {
            #expect(try await store.recentSignIn(record.key, at: Records.now) == nil)
        }
        withExtendedLifetime(holding) {}
    }

    @Test(
        "An earlier sign-in gives no session after one of the user's was ended in any way; a later one does",
        arguments: StoreKind.engines, Event.endings)
    private func ended(kind: StoreKind, ending: Event) async throws {
        let stage = try await Stage(kind)
        try await ending.happen(stage)
        #expect(try await stage.again() == .earlierEnded)
        let identity = try #require(
            try await stage.store.account(of: stage.user.id)?.identities.first { $0.movedBy == nil }?.identity)
        let later = try #require(
            await stage.store.signIn(Records.signIn(identity, idempotency: Records.idempotency()))?.given)
        #expect(
            try await stage.store.addSession(Records.session(), besides: later)
                == .added(stage.user, isNewUser: false))
    }

    @Test(
        "A retry of the sign-in that created the user says so, and a retry of no other one",
        arguments: StoreKind.engines)
    func isNewUser(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let identity = Records.identity()
        // Another user, whose session is the first of all, and is ended between the rounds.
        let other = try Records.session()
        _ = try await store.signIn(Records.signIn(session: other))
        var given: [GivenSession] = []
        // The second one is in the same second as the first.
        for moment in [Records.now, Records.now, Records.now.advanced(bySeconds: 5)] {
            let record = try Records.signIn(
                identity, session: Records.session(at: moment), idempotency: Records.idempotency())
            given.append(try #require(await store.signIn(record)?.given))
        }
        for _ in 0..<2 {
            for (index, session) in given.enumerated() {
                guard case .added(_, let isNewUser) = try await store.addSession(Records.session(), besides: session)
                else {
                    Issue.record("no session")
                    continue
                }
                #expect(isNewUser == (index == 0), "\(index)")
            }
            _ = try await store.revokeSession(other.tokenHash)
        }
        withExtendedLifetime(holding) {}
    }

    @Test("An earlier sign-in gives no session after its user was erased", arguments: StoreKind.engines, Event.erasures)
    private func erased(kind: StoreKind, ending: Event) async throws {
        let stage = try await Stage(kind)
        try await ending.happen(stage)
        #expect(try await stage.again() == .unknownUser)
    }

    @Test("An earlier sign-in gives a session after any other event", arguments: StoreKind.engines, Event.others)
    private func notEnded(kind: StoreKind, event: Event) async throws {
        let stage = try await Stage(kind)
        try await event.happen(stage)
        #expect(try await stage.again().user == stage.user)
    }

    @Test("A process that restarts reads the sign-ins of the last minute, the oldest first")
    func restart() async throws {
        let (open, holding) = try StoreKind.unshared.make()
        var store = try open()
        var expected: [RecentSignIn] = []
        for index in 0..<4 {
            let record = IdempotencyRecord(
                key: Records.idempotency().key, endsAt: Records.now.advanced(bySeconds: 61 + Int64(index)))
            let signedIn = try await store.signIn(Records.signIn(idempotency: record))
            expected.append(
                RecentSignIn(key: record.key, session: try #require(signedIn?.given), endsAt: record.endsAt))
        }
        // No retry of it is possible.
        _ = try await store.signIn(Records.signIn())
        try await store.close()
        store = try open()
        #expect(try await store.recentSignIns(at: Records.now, limit: 9) == expected)
        #expect(try await store.recentSignIns(at: Records.now, limit: 3) == expected.suffix(2))
        #expect(try await store.recentSignIns(at: expected[1].endsAt, limit: 9) == expected.suffix(2))
        #expect(try await store.recentSignIns(at: expected[3].endsAt, limit: 9) == [])
        // The sign-in of an ended session is kept elsewhere, for as long.
        let given = expected[3].session
        _ = try await store.revokeSession(id: given.id, of: given.user, in: nil, recording: nil)
        for (seconds, ended) in [(Int64(-1), [expected[3]]), (0, [])] {
            let moment = expected[3].endsAt.advanced(bySeconds: seconds)
            #expect(try await store.recentSignIns(at: moment, limit: 9) == ended, "\(seconds)")
        }
        try await store.close()
        withExtendedLifetime(holding) {}
    }

    @Test(
        "A process that restarts reads a sign-in whose session was ended in any way, so that its code is not posted",
        arguments: Event.endings + Event.erasures)
    private func restartAfter(ending: Event) async throws {
        let stage = try await Stage(StoreKind.unshared)
        try await ending.happen(stage)
        let read = try await stage.store.recentSignIns(at: Records.now, limit: 9)
        #expect(read.count { $0.key == stage.record.key } == 1)
        #expect(
            read.contains(RecentSignIn(key: stage.record.key, session: stage.given, endsAt: stage.record.endsAt)))
        _ = try await stage.store.purgeExpired(at: stage.record.endsAt, limit: 100)
        #expect(try await stage.store.recentSignIns(at: stage.record.endsAt, limit: 9) == [])
    }

    @Test("A record that has ended is not kept with its session's end")
    func oldEnding() async throws {
        let (store, holding) = try StoreKind.unshared.open()
        let (record, session) = (Records.idempotency(), try Records.session())
        _ = try await store.signIn(Records.signIn(session: session, idempotency: record))
        // A later sign-in shows what time it is.
        let later = try Records.session(at: record.endsAt)
        _ = try await store.signIn(Records.signIn(session: later))
        #expect(try await store.revokeSession(session.tokenHash))
        #expect(try await store.recentSignIns(at: Records.now, limit: 9) == [])
        withExtendedLifetime(holding) {}
    }
}
