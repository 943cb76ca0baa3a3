import Primitives
import Storage
import TestSupport
import Testing

/// Users of carriers A, B and C who move between them.
@Suite("Moving an account from one identity to another")
struct AccountMoveTests {
    private let directory: TemporaryDirectory
    private let store: SQLiteStore
    private let atA = Identity(issuer: "https://a.example", subject: "subject-at-a")
    private let atB = Identity(issuer: "https://b.example", subject: "subject-at-b")
    private let atC = Identity(issuer: "https://c.example", subject: "subject-at-c")

    init() throws {
        directory = try TemporaryDirectory()
        store = try SQLiteStore(configuration: SQLiteConfiguration(path: directory.file("store.db")))
    }

    private func moment(_ seconds: Int64) -> Timestamp { Records.now.advanced(bySeconds: seconds) }

    /// A port token by which somebody was `identity`, issued so many seconds after the beginning.
    private func ported(_ identity: Identity, at seconds: Int64 = -60, token: TokenHash? = nil) throws -> PortedIdentity
    {
        PortedIdentity(identity: identity, issuedAt: moment(seconds), token: try token ?? Records.hash())
    }

    private func signIn(
        _ identity: Identity, from ported: [PortedIdentity] = [], at seconds: Int64 = 0, profile: Profile? = nil,
        newcomers: SignInRecord.Newcomers = Records.newcomers(), token: TokenHash? = nil
    ) async throws -> SignedInUser? {
        let session = NewSession(
            id: RandomSource.system.token(bytes: 16), tokenHash: try token ?? Records.hash(),
            refreshTokenHash: try Records.hash(), clientID: "ccid-app", createdAt: moment(seconds),
            expiresAt: moment(seconds + 3_600), refreshExpiresAt: moment(seconds + 86_400))
        return try await store.signIn(
            SignInRecord(
                identity: identity, profile: profile, session: session, newcomers: newcomers, portedFrom: ported,
                requestID: "request-1"))
    }

    private func undo(
        _ number: Int64, _ user: UserID, at seconds: Int64
    ) async throws -> Result<UndoableMove, UndoObstacle> {
        try await store.undoMove(number, of: user, at: moment(seconds), by: .operating("pat"), reason: "wrong person")
    }

    @Test("The user keeps account and sessions, and signs in with the new identity from then on")
    func moves() async throws {
        let token = try Records.hash()
        let profile = Profile(name: "Jane Doe")
        let user = try #require(try await signIn(atA, profile: profile, token: token)).user
        let moved = try #require(
            try await signIn(atB, from: [ported(atA)], profile: Profile(name: "J. D.", email: "j@example.com")))
        #expect(moved.user.id == user.id)
        #expect(moved.user.publicID == user.publicID)
        #expect(moved.user.profile == Profile(name: "Jane Doe", email: "j@example.com"))
        #expect(!moved.isNew && moved.wasMoved)
        #expect(try await store.session(token, at: Records.now)?.user.id == user.id)
        let again = try await signIn(atB, from: [ported(atA)])
        #expect(again?.user.id == user.id)
        #expect(again?.wasMoved == false)
        #expect(try await store.standings(of: [atA, atB, atC]) == [.moved(user.id), .live(user.id), .unknown])
    }

    @Test("Where registration is required, a moved user need not register")
    func movesWithoutRegistration() async throws {
        let user = try await signIn(atA)?.user.id
        #expect(try await signIn(atB, from: [ported(atA)], newcomers: .mustRegister)?.user.id == user)
    }

    @Test("The former identity signs nobody in any more, and nobody can register with it")
    func formerIdentity() async throws {
        let user = try #require(try await signIn(atA)).user.id
        let pending = try Records.pending(atA)
        try await store.addPendingRegistration(pending)
        _ = try await signIn(atB, from: [ported(atA)])
        let token = try Records.hash()
        #expect(try await signIn(atA, token: token) == nil)
        #expect(try await signIn(atA, newcomers: .mustRegister) == nil)
        #expect(try await store.session(token, at: Records.now) == nil)
        let registered = try await store.register(
            handle: pending.handle, profile: Profile(), session: Records.session(), publicID: "p", at: Records.now)
        #expect(registered == .userAlreadyExists)
        let refusals = try await store.auditEvents(AuditQuery(kind: .movedIdentityRefused)).map(\.event)
        #expect(refusals.map(\.user) == [user, user])
    }

    @Test("The first identity that is on record is moved; one that is not on record moves nobody")
    func firstOnRecord() async throws {
        let one = try #require(try await signIn(atA)).user.id
        let other = try await signIn(atC)?.user.id
        let unknown = Identity(issuer: "https://a.example", subject: "nobody")
        let moved = try await signIn(atB, from: [ported(unknown), ported(atC), ported(atA)])
        #expect(moved?.user.id == other)
        #expect(try await store.standings(of: [atA]) == [.live(one)])
        let newcomer = try await signIn(Records.identity(), from: [ported(unknown)])
        #expect(newcomer?.isNew == true)
        #expect(try await signIn(Records.identity(), from: [ported(unknown)], newcomers: .mustRegister) == nil)
    }

    @Test("An identity that has an account of its own keeps it, whatever port tokens say")
    func hasAccount() async throws {
        let one = try #require(try await signIn(atA)).user.id
        let other = try #require(try await signIn(atB)).user.id
        let again = try await signIn(atB, from: [ported(atA)])
        #expect(again?.user.id == other)
        #expect(try await store.standings(of: [atA, atB]) == [.live(one), .live(other)])
    }

    @Test("A move is told to the audit record, without subjects")
    func audited() async throws {
        let user = try await signIn(atA)?.user.id
        _ = try await signIn(atB, from: [ported(atA)], at: 7)
        let events = try await store.auditEvents(AuditQuery(kind: .identityMoved)).map(\.event)
        let event = try #require(events.first)
        #expect(events.count == 1)
        #expect(event.user == user)
        #expect(event.time == moment(7))
        #expect(event.actor == .user)
        #expect(event.requestID == "request-1")
        for part in [atA.issuer, atB.issuer, atA.fingerprint, atB.fingerprint, "\"move\":1"] {
            #expect(event.details.json.contains(part), "\(part)")
        }
        #expect(!event.details.json.contains("subject-at"))
    }

    @Test(
        "Of many who move one account at once, with one port token or with several, one gets it",
        arguments: [true, false])
    func concurrentClaims(sharesToken: Bool) async throws {
        let user = try await signIn(atA)?.user.id
        let shared = try Records.hash()
        let claims = try (0..<50).map { number in
            (
                Identity(issuer: "https://b.example", subject: "claimant-\(number)"),
                try ported(atA, token: sharesToken ? shared : nil)
            )
        }
        let results = try await withThrowingTaskGroup(of: SignedInUser?.self) { group in
            for (identity, ported) in claims {
                group.addTask { try await signIn(identity, from: [ported]) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.filter { $0?.user.id == user }.count == 1)
        #expect(results.filter { $0?.wasMoved == true }.count == 1)
        #expect(results.filter { $0?.isNew == true }.count == 49)
        #expect(try await store.auditEvents(AuditQuery(kind: .identityMoved)).count == 1)
    }

    @Test("Of one user's sign-ins at once one moves the account, and all are signed in to it")
    func concurrentSignIns() async throws {
        let user = try await signIn(atA)?.user.id
        let results = try await withThrowingTaskGroup(of: SignedInUser?.self) { group in
            for _ in 0..<50 {
                let ported = try ported(atA)
                group.addTask { try await signIn(atB, from: [ported]) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.allSatisfy { $0?.user.id == user })
        #expect(results.filter { $0?.wasMoved == true }.count == 1)
    }

    @Test(
        "A user who comes back to the former carrier gets the account back; old port tokens do not take it away again")
    func comesBack() async throws {
        let user = try #require(try await signIn(atA)).user.id
        let first = try ported(atA, at: 10)
        #expect(try await signIn(atB, from: [first], at: 20)?.user.id == user)
        #expect(try await signIn(atA, from: [ported(atB, at: 30)], at: 40)?.user.id == user)
        #expect(try await store.standings(of: [atA, atB]) == [.live(user), .moved(user)])
        // The same port token, and another that is as old as the return.
        #expect(try await signIn(atB, from: [first], at: 50) == nil)
        #expect(try await signIn(atB, from: [ported(atA, at: 40)], at: 50) == nil)
        #expect(try await signIn(atB, from: [ported(atA, at: 41)], at: 50)?.user.id == user)
    }

    @Test("One port token moves once, even where it was issued by a clock that is ahead")
    func spentToken() async throws {
        let user = try #require(try await signIn(atA)).user.id
        let ahead = try ported(atA, at: 60)
        #expect(try await signIn(atB, from: [ahead], at: 10)?.user.id == user)
        guard case .success = try await undo(1, user, at: 20) else {
            Issue.record("the move was not undone")
            return
        }
        #expect(try await signIn(atB, from: [ahead], at: 70)?.isNew == true)
        #expect(try await store.standings(of: [atA]) == [.live(user)])
    }

    @Test("An identity that an account was moved from does not get another user's account")
    func aliasOfAnother() async throws {
        let one = try #require(try await signIn(atA)).user.id
        let other = try #require(try await signIn(atC)).user.id
        _ = try await signIn(atB, from: [ported(atA)])
        #expect(try await signIn(atA, from: [ported(atC)]) == nil)
        #expect(try await store.standings(of: [atA, atB, atC]) == [.moved(one), .live(one), .live(other)])
    }

    @Test("Undoing a move gives the account back, ends the sessions, and makes the other identity somebody else")
    func undoes() async throws {
        let tokens = [try Records.hash(), try Records.hash()]
        let user = try #require(try await signIn(atA, token: tokens[0])).user.id
        _ = try await signIn(atB, from: [ported(atA)], token: tokens[1])
        let expected = UndoableMove(
            move: IdentityMove(number: 1, user: user, movedAt: moment(0), undoneAt: nil), former: atA, present: atB)
        #expect(try await store.undoableMove(1, of: user) == .success(expected))
        #expect(try await undo(1, user, at: 100) == .success(expected))
        for token in tokens { #expect(try await store.session(token, at: moment(101)) == nil) }
        #expect(try await store.standings(of: [atA, atB]) == [.live(user), .unknown])
        #expect(try await signIn(atA, at: 110)?.user.id == user)
        let other = try #require(try await signIn(atB, from: [ported(atA, at: 100)], at: 110))
        #expect(other.isNew)
        #expect(other.user.id != user)
        let event = try #require(try await store.auditEvents(AuditQuery(kind: .identityMoveUndone)).first?.event)
        #expect(event.actor == .operating("pat"))
        #expect(event.user == user)
        for part in ["\"sessions_ended\":2", "wrong person", atA.fingerprint, atB.fingerprint] {
            #expect(event.details.json.contains(part), "\(part)")
        }
        #expect(!event.details.json.contains("subject-at"))
    }

    @Test("What cannot be undone is left as it is, with the reason")
    func notUndoable() async throws {
        let user = try #require(try await signIn(atA)).user.id
        let other = try #require(try await signIn(Records.identity())).user.id
        #expect(try await undo(1, user, at: 1) == .failure(.unknown))
        _ = try await signIn(atB, from: [ported(atA)])
        #expect(try await undo(1, other, at: 1) == .failure(.unknown))
        _ = try await signIn(atC, from: [ported(atB)])
        #expect(try await undo(1, user, at: 1) == .failure(.superseded))
        #expect(try await store.standings(of: [atA, atB, atC]) == [.moved(user), .moved(user), .live(user)])
        guard case .success = try await undo(2, user, at: 2), case .success = try await undo(1, user, at: 3) else {
            Issue.record("the moves were not undone one after the other")
            return
        }
        #expect(try await undo(1, user, at: 4) == .failure(.alreadyUndone))
        #expect(try await store.standings(of: [atA, atB, atC]) == [.live(user), .unknown, .unknown])
    }

    @Test("Undoing a move back makes the identity again one that the account was moved from")
    func undoMoveBack() async throws {
        let user = try #require(try await signIn(atA)).user.id
        _ = try await signIn(atB, from: [ported(atA, at: 10)], at: 20)
        _ = try await signIn(atA, from: [ported(atB, at: 30)], at: 40)
        guard case .success(let undone) = try await undo(2, user, at: 50) else {
            Issue.record("the move back was not undone")
            return
        }
        #expect(undone.former == atB)
        #expect(try await store.standings(of: [atA, atB]) == [.moved(user), .live(user)])
        guard case .success = try await undo(1, user, at: 60) else {
            Issue.record("the first move was not undone")
            return
        }
        #expect(try await store.standings(of: [atA, atB]) == [.live(user), .unknown])
    }

    @Test("With an erased user the former identities go too, and are free again")
    func erased() async throws {
        let user = try #require(try await signIn(atA)).user.id
        let token = try Records.hash()
        _ = try await signIn(atB, from: [ported(atA, token: token)])
        #expect(try await store.deleteUser(user))
        #expect(try await store.standings(of: [atA, atB]) == [.unknown, .unknown])
        #expect(try await store.undoableMove(1, of: user) == .failure(.unknown))
        #expect(try await signIn(atA)?.isNew == true)
        #expect(try await signIn(atC, from: [ported(atA, token: token)])?.wasMoved == true)
    }
}
