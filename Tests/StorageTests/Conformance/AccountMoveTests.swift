import Primitives
import SignIn
import StorageModel
import Testing

@testable import Administration
@testable import Registration
@testable import Storage

/// Users of carriers A, B and C who move between them.
private struct AccountMoveStage: Sendable {
    let store: SQLStore
    let atA = Identity(issuer: "https://a.example", subject: "subject-at-a")
    let atB = Identity(issuer: "https://b.example", subject: "subject-at-b")
    let atC = Identity(issuer: "https://c.example", subject: "subject-at-c")

    private let holding: any Sendable

    init(_ kind: StoreKind) throws {
        (store, holding) = try kind.open()
    }

    func moment(_ seconds: Int64) -> Timestamp { Records.now.advanced(bySeconds: seconds) }

    /// A port token for the former identity, issued `seconds` after the start.
    func ported(_ identity: Identity, at seconds: Int64 = -60, token: TokenHash? = nil) throws -> PortedIdentity {
        PortedIdentity(identity: identity, issuedAt: moment(seconds), token: token ?? Records.hash())
    }

    func signIn(
        _ identity: Identity, from ported: [PortedIdentity] = [], at seconds: Int64 = 0, profile: Profile? = nil,
        newcomers: SignInRecord.Newcomers = Records.newcomers(), token: TokenHash? = nil
    ) async throws -> SignedInUser? {
        let session = NewSession(
            id: RandomSource.system.token(bytes: 16), tokenHash: token ?? Records.hash(),
            refreshTokenHash: Records.hash(), clientID: "ccid-app", createdAt: moment(seconds),
            expiresAt: moment(seconds + 3_600), refreshExpiresAt: moment(seconds + 86_400))
        return try await store.signIn(
            SignInRecord(
                identity: identity, profile: profile, session: session, newcomers: newcomers, portedFrom: ported,
                requestID: "request-1"))
    }

    /// The move that was undone, or why none was.
    func undo(
        _ number: Int64, _ user: UserID, at seconds: Int64, applies: Bool = true
    ) async throws -> (undone: UndoableMove?, refusal: String) {
        let result = try await store.undoMove(
            number, of: user, at: moment(seconds), by: .operating("pat"), reason: "wrong person", applies: applies)
        switch result {
        case .success(let undone): return (undone, "")
        case .failure(let error): return (nil, "\(error)")
        }
    }
}

@Suite("Moving an account from one identity to another")
struct AccountMoveTests {
    @Test(
        "The user keeps account and sessions, and then signs in with the new identity",
        arguments: StoreKind.engines)
    func moves(kind: StoreKind) async throws {
        let stage = try AccountMoveStage(kind)
        let token = Records.hash()
        let profile: Profile = [.name: "Jane Doe"]
        let user = try #require(try await stage.signIn(stage.atA, profile: profile, token: token)).user
        let moved = try #require(
            try await stage.signIn(
                stage.atB, from: [stage.ported(stage.atA)], profile: [.name: "J. D.", .email: "j@example.com"]))
        #expect(moved.user.id == user.id)
        #expect(moved.user.publicID == user.publicID)
        #expect(moved.user.profile == [.name: "J. D.", .email: "j@example.com"], "the new carrier's values")
        #expect(!moved.isNew && moved.wasMoved)
        #expect(try await stage.store.session(token, at: Records.now)?.user.id == user.id)
        let again = try await stage.signIn(stage.atB, from: [stage.ported(stage.atA)])
        #expect(again?.user.id == user.id)
        #expect(again?.wasMoved == false)
        #expect(
            try await stage.store.statuses(of: [stage.atA, stage.atB, stage.atC]) == [
                .moved(user.id), .live(user.id), .unknown,
            ])
    }

    @Test("A move and its undoing leave identities that share the issuer or the subject", arguments: StoreKind.engines)
    func alike(kind: StoreKind) async throws {
        let stage = try AccountMoveStage(kind)
        let alike = [stage.atA, stage.atB].flatMap {
            [
                Identity(issuer: $0.issuer, subject: stage.atC.subject),
                Identity(issuer: stage.atC.issuer, subject: $0.subject),
            ]
        }
        let user = try #require(try await stage.signIn(stage.atA)).user.id
        var others: [IdentityStatus] = []
        for identity in alike { others.append(.live(try #require(try await stage.signIn(identity)).user.id)) }
        _ = try await stage.signIn(stage.atB, from: [stage.ported(stage.atA)])
        #expect(try await stage.store.statuses(of: [stage.atA, stage.atB]) == [.moved(user), .live(user)])
        #expect(try await stage.store.statuses(of: alike) == others)
        #expect(try await stage.undo(1, user, at: 1).undone != nil)
        #expect(try await stage.store.statuses(of: [stage.atA, stage.atB]) == [.live(user), .unknown])
        #expect(try await stage.store.statuses(of: alike) == others)
    }

    @Test("Where registration is required, a moved user need not register", arguments: StoreKind.engines)
    func movesWithoutRegistration(kind: StoreKind) async throws {
        let stage = try AccountMoveStage(kind)
        let user = try await stage.signIn(stage.atA)?.user.id
        #expect(
            try await stage.signIn(stage.atB, from: [stage.ported(stage.atA)], newcomers: .mustRegister)?.user.id
                == user)
    }

    @Test("The former identity neither signs in nor registers", arguments: StoreKind.engines)
    func formerIdentity(kind: StoreKind) async throws {
        let stage = try AccountMoveStage(kind)
        let user = try #require(try await stage.signIn(stage.atA)).user.id
        let pending = try Records.pending(stage.atA)
        try await stage.store.addPendingRegistration(pending)
        _ = try await stage.signIn(stage.atB, from: [stage.ported(stage.atA)])
        let token = Records.hash()
        #expect(try await stage.signIn(stage.atA, token: token) == nil)
        #expect(try await stage.signIn(stage.atA, newcomers: .mustRegister) == nil)
        #expect(try await stage.store.session(token, at: Records.now) == nil)
        let registered = try await stage.store.register(
            handle: pending.handle, profile: Profile(), session: Records.session(), publicID: "p", at: Records.now)
        #expect(registered == .failure(.userAlreadyExists))
        let refusals = try await stage.store.auditEvents(AuditQuery(kind: .movedIdentityRefused)).map(\.event)
        #expect(refusals.map(\.user) == [user, user])
    }

    @Test(
        "The account of the first known identity is moved; an unknown identity moves no account",
        arguments: StoreKind.engines)
    func firstOnRecord(kind: StoreKind) async throws {
        let stage = try AccountMoveStage(kind)
        let one = try #require(try await stage.signIn(stage.atA)).user.id
        let other = try await stage.signIn(stage.atC)?.user.id
        let unknown = Identity(issuer: "https://a.example", subject: "nobody")
        let moved = try await stage.signIn(
            stage.atB, from: [stage.ported(unknown), stage.ported(stage.atC), stage.ported(stage.atA)])
        #expect(moved?.user.id == other)
        #expect(try await stage.store.statuses(of: [stage.atA]) == [.live(one)])
        let newcomer = try await stage.signIn(Records.identity(), from: [stage.ported(unknown)])
        #expect(newcomer?.isNew == true)
        #expect(
            try await stage.signIn(Records.identity(), from: [stage.ported(unknown)], newcomers: .mustRegister) == nil)
    }

    @Test("An identity with its own account keeps it, whatever port tokens say", arguments: StoreKind.engines)
    func hasAccount(kind: StoreKind) async throws {
        let stage = try AccountMoveStage(kind)
        let one = try #require(try await stage.signIn(stage.atA)).user.id
        let other = try #require(try await stage.signIn(stage.atB)).user.id
        let again = try await stage.signIn(stage.atB, from: [stage.ported(stage.atA)])
        #expect(again?.user.id == other)
        #expect(try await stage.store.statuses(of: [stage.atA, stage.atB]) == [.live(one), .live(other)])
    }

    @Test("A move has an audit event, without subjects", arguments: StoreKind.engines)
    func audited(kind: StoreKind) async throws {
        let stage = try AccountMoveStage(kind)
        let user = try await stage.signIn(stage.atA)?.user.id
        _ = try await stage.signIn(stage.atB, from: [stage.ported(stage.atA)], at: 7)
        let events = try await stage.store.auditEvents(AuditQuery(kind: .identityMoved)).map(\.event)
        let event = try #require(events.first)
        #expect(events.count == 1)
        #expect(event.user == user)
        #expect(event.time == stage.moment(7))
        #expect(event.actor == .user)
        #expect(event.requestID == "request-1")
        for part in [stage.atA.issuer, stage.atB.issuer, stage.atA.fingerprint, stage.atB.fingerprint, "\"move\":1"] {
            #expect(event.details.json.contains(part), "\(part)")
        }
        #expect(!event.details.json.contains("subject-at"))
    }

    @Test(
        "Of concurrent moves of one account, with one port token or several, one succeeds",
        arguments: StoreKind.engines, [true, false])
    func concurrentClaims(kind: StoreKind, sharesToken: Bool) async throws {
        let stage = try AccountMoveStage(kind)
        let user = try await stage.signIn(stage.atA)?.user.id
        let shared = Records.hash()
        let claims = try (0..<50).map { number in
            (
                Identity(issuer: "https://b.example", subject: "claimant-\(number)"),
                try stage.ported(stage.atA, token: sharesToken ? shared : nil)
            )
        }
        let results = try await withThrowingTaskGroup(of: SignedInUser?.self) { group in
            for (identity, port) in claims {
                group.addTask { try await stage.signIn(identity, from: [port]) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.filter { $0?.user.id == user }.count == 1)
        #expect(results.filter { $0?.wasMoved == true }.count == 1)
        #expect(results.filter { $0?.isNew == true }.count == 49)
        #expect(try await stage.store.auditEvents(AuditQuery(kind: .identityMoved)).count == 1)
    }

    @Test(
        "Of one user's concurrent sign-ins one moves the account, and all sign in to it",
        arguments: StoreKind.engines)
    func concurrentSignIns(kind: StoreKind) async throws {
        let stage = try AccountMoveStage(kind)
        let user = try await stage.signIn(stage.atA)?.user.id
        let results = try await withThrowingTaskGroup(of: SignedInUser?.self) { group in
            for _ in 0..<50 {
                let port = try stage.ported(stage.atA)
                group.addTask { try await stage.signIn(stage.atB, from: [port]) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.allSatisfy { $0?.user.id == user })
        #expect(results.filter { $0?.wasMoved == true }.count == 1)
    }

    @Test(
        "A user who returns to the former carrier gets the account back; old port tokens do not move it again",
        arguments: StoreKind.engines)
    func comesBack(kind: StoreKind) async throws {
        let stage = try AccountMoveStage(kind)
        let user = try #require(try await stage.signIn(stage.atA)).user.id
        let first = try stage.ported(stage.atA, at: 10)
        #expect(try await stage.signIn(stage.atB, from: [first], at: 20)?.user.id == user)
        #expect(try await stage.signIn(stage.atA, from: [stage.ported(stage.atB, at: 30)], at: 40)?.user.id == user)
        #expect(try await stage.store.statuses(of: [stage.atA, stage.atB]) == [.live(user), .moved(user)])
        // The same port token, and another issued at the time of the return.
        #expect(try await stage.signIn(stage.atB, from: [first], at: 50) == nil)
        #expect(try await stage.signIn(stage.atB, from: [stage.ported(stage.atA, at: 40)], at: 50) == nil)
        #expect(try await stage.signIn(stage.atB, from: [stage.ported(stage.atA, at: 41)], at: 50)?.user.id == user)
    }

    @Test("A port token moves an account once, even if its issuer's clock is fast", arguments: StoreKind.engines)
    func spentToken(kind: StoreKind) async throws {
        let stage = try AccountMoveStage(kind)
        let user = try #require(try await stage.signIn(stage.atA)).user.id
        let ahead = try stage.ported(stage.atA, at: 60)
        #expect(try await stage.signIn(stage.atB, from: [ahead], at: 10)?.user.id == user)
        #expect(try await stage.undo(1, user, at: 20).undone != nil)
        #expect(try await stage.signIn(stage.atB, from: [ahead], at: 70)?.isNew == true)
        #expect(try await stage.store.statuses(of: [stage.atA]) == [.live(user)])
    }

    @Test(
        "An identity that an account was moved from does not get another user's account", arguments: StoreKind.engines)
    func aliasOfAnother(kind: StoreKind) async throws {
        let stage = try AccountMoveStage(kind)
        let one = try #require(try await stage.signIn(stage.atA)).user.id
        let other = try #require(try await stage.signIn(stage.atC)).user.id
        _ = try await stage.signIn(stage.atB, from: [stage.ported(stage.atA)])
        #expect(try await stage.signIn(stage.atA, from: [stage.ported(stage.atC)]) == nil)
        #expect(
            try await stage.store.statuses(of: [stage.atA, stage.atB, stage.atC]) == [
                .moved(one), .live(one), .live(other),
            ])
    }

    @Test(
        "Undoing a move gives the account back, ends the sessions, and frees the other identity",
        arguments: StoreKind.engines)
    func undoes(kind: StoreKind) async throws {
        let stage = try AccountMoveStage(kind)
        let tokens = [Records.hash(), Records.hash()]
        let user = try #require(try await stage.signIn(stage.atA, token: tokens[0])).user.id
        _ = try await stage.signIn(stage.atB, from: [stage.ported(stage.atA)], token: tokens[1])
        let expected = UndoableMove(
            move: IdentityMove(number: 1, user: user, movedAt: stage.moment(0), undoneAt: nil), former: stage.atA,
            present: stage.atB)
        #expect(try await stage.undo(1, user, at: 90, applies: false).undone == expected)
        #expect(try await stage.undo(1, user, at: 100).undone == expected)
        for token in tokens { #expect(try await stage.store.session(token, at: stage.moment(101)) == nil) }
        #expect(try await stage.store.statuses(of: [stage.atA, stage.atB]) == [.live(user), .unknown])
        #expect(try await stage.signIn(stage.atA, at: 110)?.user.id == user)
        let other = try #require(try await stage.signIn(stage.atB, from: [stage.ported(stage.atA, at: 100)], at: 110))
        #expect(other.isNew)
        #expect(other.user.id != user)
        let event = try #require(try await stage.store.auditEvents(AuditQuery(kind: .identityMoveUndone)).first?.event)
        #expect(event.actor == .operating("pat"))
        #expect(event.user == user)
        for part in ["\"sessions_ended\":2", "wrong person", stage.atA.fingerprint, stage.atB.fingerprint] {
            #expect(event.details.json.contains(part), "\(part)")
        }
        #expect(!event.details.json.contains("subject-at"))
    }

    @Test("A move that cannot be undone stays, with the reason", arguments: StoreKind.engines)
    func notUndoable(kind: StoreKind) async throws {
        let stage = try AccountMoveStage(kind)
        let user = try #require(try await stage.signIn(stage.atA)).user.id
        let other = try #require(try await stage.signIn(Records.identity())).user.id
        #expect(try await stage.undo(1, user, at: 1).refusal.contains("has no move 1"))
        _ = try await stage.signIn(stage.atB, from: [stage.ported(stage.atA)])
        #expect(try await stage.undo(1, other, at: 1).refusal.contains("has no move 1"))
        _ = try await stage.signIn(stage.atC, from: [stage.ported(stage.atB)])
        #expect(try await stage.undo(1, user, at: 1).refusal.contains("a later move follows it"))
        #expect(
            try await stage.store.statuses(of: [stage.atA, stage.atB, stage.atC]) == [
                .moved(user), .moved(user), .live(user),
            ])
        for number in [2, 1] as [Int64] {
            #expect(try await stage.undo(number, user, at: 4 - number).undone != nil, "one after the other")
        }
        #expect(try await stage.undo(1, user, at: 4).refusal.contains("undone already"))
        #expect(
            try await stage.store.statuses(of: [stage.atA, stage.atB, stage.atC]) == [.live(user), .unknown, .unknown])
    }

    @Test(
        "Undoing a move back restores the former identity's moved status", arguments: StoreKind.engines
    )
    func undoMoveBack(kind: StoreKind) async throws {
        let stage = try AccountMoveStage(kind)
        let user = try #require(try await stage.signIn(stage.atA)).user.id
        _ = try await stage.signIn(stage.atB, from: [stage.ported(stage.atA, at: 10)], at: 20)
        _ = try await stage.signIn(stage.atA, from: [stage.ported(stage.atB, at: 30)], at: 40)
        #expect(try await stage.undo(2, user, at: 50).undone?.former == stage.atB)
        #expect(try await stage.store.statuses(of: [stage.atA, stage.atB]) == [.moved(user), .live(user)])
        #expect(try await stage.undo(1, user, at: 60).undone != nil)
        #expect(try await stage.store.statuses(of: [stage.atA, stage.atB]) == [.live(user), .unknown])
    }

    @Test("Erasing a user frees the former identities, too", arguments: StoreKind.engines)
    func erased(kind: StoreKind) async throws {
        let stage = try AccountMoveStage(kind)
        let user = try #require(try await stage.signIn(stage.atA)).user.id
        let token = Records.hash()
        _ = try await stage.signIn(stage.atB, from: [stage.ported(stage.atA, token: token)])
        #expect(try await stage.store.deleteUser(user))
        #expect(try await stage.store.statuses(of: [stage.atA, stage.atB]) == [.unknown, .unknown])
        #expect(try await stage.undo(1, user, at: 90).refusal.contains("has no move 1"))
        #expect(try await stage.signIn(stage.atA)?.isNew == true)
        #expect(try await stage.signIn(stage.atC, from: [stage.ported(stage.atA, token: token)])?.wasMoved == true)
    }
}
