import Primitives
import Storage
import StorageModel
import Testing

@testable import Registration

@Suite("Any store: sign-in and sessions")
struct SignInConformanceTests {
    @Test("An unknown identity becomes a user, and signs in the same user every time after", arguments: StoreKind.all)
    func newThenKnown(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let identity = Records.identity()
        let profile: Profile = [
            .username: "jd", .name: "Jane Doe", .givenName: "Jane", .familyName: "Doe", .email: "jane@example.com",
            .phoneNumber: "+13125550123", .postalCode: "60601",
        ]
        let first = try #require(
            await store.signIn(
                Records.signIn(identity, profile: profile, newcomers: .welcome(publicID: "public-1"))))
        #expect(first.isNew)
        #expect(first.user.publicID == "public-1")
        #expect(first.user.profile == profile)
        #expect(first.user.createdAt == Records.now)
        #expect(first.user.id.number > 0 && first.user.id.number < 1 << 53)
        let second = try #require(await store.signIn(Records.signIn(identity)))
        #expect(!second.isNew)
        #expect(second.user == first.user)
        withExtendedLifetime(holding) {}
    }

    @Test("The same subject of another issuer is another user", arguments: StoreKind.all)
    func otherIssuer(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let one = try await store.signIn(Records.signIn(Identity(issuer: "https://a.example", subject: "7")))
        let other = try await store.signIn(Records.signIn(Identity(issuer: "https://b.example", subject: "7")))
        #expect(one?.user.id != nil)
        #expect(one?.user.id != other?.user.id)
        withExtendedLifetime(holding) {}
    }

    @Test(
        "A subject is compared byte for byte", arguments: StoreKind.all,
        [("abc", "ABC"), ("abc", "abc "), ("\u{E9}", "e\u{301}"), ("1", "01")])
    func subjectsThatLookAlike(kind: StoreKind, subjects: (String, String)) async throws {
        let (store, holding) = try kind.open()
        let one = try #require(await store.signIn(Records.signIn(Records.identity(subjects.0))))
        let other = try #require(await store.signIn(Records.signIn(Records.identity(subjects.1))))
        #expect(other.isNew)
        #expect(one.user.id != other.user.id)
        withExtendedLifetime(holding) {}
    }

    @Test("A later sign-in fills what the profile lacks, and brings the provider's changes", arguments: StoreKind.all)
    func fillsProfile(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let identity = Records.identity()
        _ = try await store.signIn(Records.signIn(identity, profile: [.email: "old@example.com"]))
        let told: Profile = [.name: "Jane Doe", .email: "new@example.com", .postalCode: "60601"]
        let token = Records.hash()
        let later = try await store.signIn(
            Records.signIn(identity, profile: told, session: Records.session(token: token)))
        let expected: Profile = [.name: "Jane Doe", .email: "new@example.com", .postalCode: "60601"]
        #expect(later?.user.profile == expected)
        #expect(try await store.session(token, at: Records.now)?.user.profile == expected)
        withExtendedLifetime(holding) {}
    }

    @Test(
        "Where registration is required, an unknown identity is refused and nothing is stored", arguments: StoreKind.all
    )
    func mustRegister(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let identity = Records.identity()
        let token = Records.hash()
        let refused = try await store.signIn(
            Records.signIn(identity, session: Records.session(token: token), newcomers: .mustRegister))
        #expect(refused == nil)
        #expect(try await store.session(token, at: Records.now) == nil)
        _ = try await store.signIn(Records.signIn(identity))
        let known = try await store.signIn(Records.signIn(identity, newcomers: .mustRegister))
        #expect(known?.isNew == false)
        withExtendedLifetime(holding) {}
    }

    @Test(
        "An operator token signs in once; a sign-in that is refused does not use it, and stores nothing",
        arguments: StoreKind.all)
    func operatorToken(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let use = OneTimeRecord(
            handle: Records.hash(), purpose: "answered code", content: [],
            expiresAt: Records.now.advanced(bySeconds: 600))
        func signIn(_ identity: Identity, _ newcomers: SignInRecord.Newcomers) async throws -> (Bool, TokenHash) {
            let token = Records.hash()
            var record = try Records.signIn(
                identity, session: Records.session(token: token), newcomers: newcomers)
            record.tokenUse = OneTimeUse(use)
            return (try await store.signIn(record) != nil, token)
        }
        let (identity, other) = (Records.identity("one"), Records.identity("other"))
        #expect(try await !signIn(identity, .mustRegister).0)
        #expect(try await store.oneTimeRecords(among: [use.handle], at: Records.now) == [])
        let (isSignedIn, token) = try await signIn(identity, .welcome(publicID: "public-1"))
        #expect(isSignedIn)
        #expect(try await store.session(token, at: Records.now) != nil)
        #expect(try await store.oneTimeRecords(among: [use.handle], at: Records.now) == [use.handle])
        for (again, newcomers) in [(identity, .mustRegister), (other, .welcome(publicID: "public-2"))]
            as [(Identity, SignInRecord.Newcomers)]
        {
            let (isSignedIn, token) = try await signIn(again, newcomers)
            #expect(!isSignedIn)
            #expect(try await store.session(token, at: Records.now) == nil)
        }
        #expect(try await store.statuses(of: [other]) == [.unknown])
        #expect(try await store.oneTimeRecords(among: [use.handle], at: Records.now) == [use.handle])
        withExtendedLifetime(holding) {}
    }

    @Test(
        "A nonce signs in once, for its purpose and before its end; a sign-in that is refused does not use it",
        arguments: StoreKind.all)
    func nonce(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let (nonce, late, former) = (Records.nonce(), Records.nonce(lifetime: 0), Self.formerNonce())
        let later = Records.nonce(lifetime: -1)
        for record in [nonce, late, later, former] { #expect(try await store.addOneTimeRecord(record, insteadOf: [])) }
        let purpose = nonce.purpose
        let rows: [(handle: TokenHash, purpose: String, newcomers: SignInRecord.Newcomers, isSignedIn: Bool)] = [
            (Records.hash(), purpose, Records.newcomers(), false), (late.handle, purpose, Records.newcomers(), false),
            (later.handle, purpose, Records.newcomers(), false),
            (nonce.handle, "another", Records.newcomers(), false), (nonce.handle, purpose, .mustRegister, false),
            (nonce.handle, purpose, Records.newcomers(), true), (nonce.handle, purpose, Records.newcomers(), false),
            (former.handle, "another", Records.newcomers(), false), (former.handle, purpose, .mustRegister, false),
            (former.handle, purpose, Records.newcomers(), true), (former.handle, purpose, Records.newcomers(), false),
        ]
        for (index, row) in rows.enumerated() {
            let identity = Records.identity()
            var record = try Records.signIn(identity, newcomers: row.newcomers)
            record.tokenUse = OneTimeUse(
                Records.oneTimeRecord(), nonce: .issued(row.handle, purpose: row.purpose))
            let signedIn = try await store.signIn(record)
            #expect((signedIn != nil) == row.isSignedIn, "\(index)")
            let isUnknown = try await store.statuses(of: [identity]) == [.unknown]
            #expect(isUnknown == !row.isSignedIn, "\(index)")
        }
        withExtendedLifetime(holding) {}
    }

    /// As versions up to 38 issued it.
    private static func formerNonce() -> OneTimeRecord {
        let nonce = Records.nonce()
        return OneTimeRecord(
            handle: nonce.handle, purpose: nonce.purpose, content: [], expiresAt: Records.now.advanced(bySeconds: 600))
    }

    struct Uses: Sendable, CustomTestStringConvertible {
        enum Way: Sendable { case issued, any }

        let testDescription: String
        /// The way, the number of the token, and what the use must come to.
        let uses: [(way: Way, token: Int, outcome: OneTimeUse.Outcome)]
        var isFormer = false
    }

    private static let uses: [Uses] = [
        Uses(
            testDescription: "twice where the nonce must have been issued",
            uses: [(.issued, 0, .used), (.issued, 0, .tokenUsedBefore)]),
        Uses(
            testDescription: "twice where it need not",
            uses: [(.any, 0, .used), (.any, 0, .tokenUsedBefore)]),
        Uses(
            testDescription: "where it must have been issued, and then where it need not",
            uses: [(.issued, 0, .used), (.any, 0, .tokenUsedBefore)]),
        Uses(
            testDescription: "where it need not have been issued, and then where it must",
            uses: [(.any, 0, .used), (.issued, 0, .tokenUsedBefore)]),
        Uses(
            testDescription: "two tokens with one nonce where it must have been issued",
            uses: [(.issued, 0, .used), (.issued, 1, .nonceNotIssued)]),
        Uses(
            testDescription: "another token with the nonce where it need not have been issued",
            uses: [(.issued, 0, .used), (.any, 1, .nonceNotIssued)]),
    ]

    @Test(
        "A token is used once, whichever way comes first; also with a nonce that a version before issued",
        arguments: StoreKind.engines,
        // A version before kept nothing of a used nonce, so that another token was accepted where none need be issued.
        uses
            + uses.dropLast().map { row in
                Uses(testDescription: "\(row.testDescription), of a version before", uses: row.uses, isFormer: true)
            })
    func tokenUses(kind: StoreKind, row: Uses) async throws {
        for isSignIn in [true, false] {
            let (store, holding) = try kind.open()
            let nonce = row.isFormer ? Self.formerNonce() : Records.nonce()
            #expect(try await store.addOneTimeRecord(nonce, insteadOf: []))
            let tokens = (0..<2).map { _ in Records.oneTimeRecord() }
            for (way, token, outcome) in row.uses {
                let nonces: OneTimeUse.Nonce =
                    switch way {
                    case .issued: .issued(nonce.handle, purpose: nonce.purpose)
                    case .any: .any([Records.hash(), nonce.handle])
                    }
                let use = OneTimeUse(tokens[token], nonce: nonces)
                if isSignIn {
                    // One that is refused for another reason changes nothing.
                    var refused = try Records.signIn(Records.identity(), newcomers: .mustRegister)
                    refused.tokenUse = use
                    #expect(try await store.signIn(refused) == nil)
                    var record = try Records.signIn(Records.identity(), newcomers: Records.newcomers())
                    record.tokenUse = use
                    #expect((try await store.signIn(record) != nil) == (outcome == .used))
                } else {
                    let found = try await store.spend(use, at: Records.now)
                    // Of a former nonce, the token that used it is not known.
                    #expect(found == outcome || row.isFormer && found != .used && outcome != .used)
                }
            }
            withExtendedLifetime(holding) {}
        }
    }

    @Test("A session is found by its token's hash, unchanged, until it expires", arguments: StoreKind.all)
    func sessionLookup(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let session = try Records.session()
        let signedIn = try #require(await store.signIn(Records.signIn(session: session)))
        let expected = Session(
            id: session.id, userID: signedIn.user.id, clientID: session.clientID, createdAt: session.createdAt,
            expiresAt: session.expiresAt)
        let lastMoment = session.expiresAt.advanced(bySeconds: -1)
        #expect(
            try await store.session(session.tokenHash, at: lastMoment)
                == SessionAndUser(session: expected, user: signedIn.user))
        #expect(try await store.session(session.tokenHash, at: session.expiresAt) == nil)
        #expect(try await store.session(session.refreshTokenHash, at: Records.now) == nil)
        #expect(try await store.session(Records.hash(), at: Records.now) == nil)
        withExtendedLifetime(holding) {}
    }

    @Test("A revoked session ends at once, and no other does", arguments: StoreKind.all)
    func revoke(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let identity = Records.identity()
        let (one, other) = (try Records.session(), try Records.session())
        _ = try await store.signIn(Records.signIn(identity, session: one))
        _ = try await store.signIn(Records.signIn(identity, session: other))
        #expect(try await store.revokeSession(one.tokenHash))
        #expect(try await store.session(one.tokenHash, at: Records.now) == nil)
        #expect(try await store.session(other.tokenHash, at: Records.now) != nil)
        #expect(try await !store.revokeSession(one.tokenHash))
        withExtendedLifetime(holding) {}
    }

    @Test(
        "An erased user is gone with identities and sessions; the number is never reused", arguments: StoreKind.all
    )
    func deleteUser(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let identity = Records.identity()
        let session = try Records.session()
        let bystander = try Records.session()
        _ = try await store.signIn(Records.signIn(session: bystander))
        let erased = try #require(await store.signIn(Records.signIn(identity, session: session))).user
        let pending = try Records.pending(identity)
        try await store.addPendingRegistration(pending)
        #expect(try await store.deleteUser(erased.id))
        #expect(try await store.session(session.tokenHash, at: Records.now) == nil)
        #expect(try await store.pendingRegistration(pending.handle, at: Records.now) == nil)
        #expect(try await store.session(bystander.tokenHash, at: Records.now) != nil)
        #expect(try await !store.deleteUser(erased.id))
        let again = try #require(await store.signIn(Records.signIn(identity)))
        #expect(again.isNew)
        #expect(again.user.id.number > erased.id.number)
        withExtendedLifetime(holding) {}
    }

    @Test(
        "A hundred concurrent sign-ins of one new identity make one user and a hundred sessions",
        arguments: StoreKind.all)
    func concurrentNewcomer(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let identity = Records.identity()
        let sessions = try (0..<100).map { _ in try Records.session() }
        let signedIn = try await withThrowingTaskGroup(of: SignedInUser?.self) { group in
            for session in sessions {
                let record = try Records.signIn(identity, session: session)
                group.addTask { try await store.signIn(record) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(signedIn.compactMap(\.?.user.id)).count == 1)
        #expect(signedIn.filter { $0?.isNew == true }.count == 1)
        for session in sessions {
            #expect(try await store.session(session.tokenHash, at: Records.now) != nil)
        }
        withExtendedLifetime(holding) {}
    }

    @Test("A token's hash is unique: a second session with it is refused as a whole", arguments: StoreKind.all)
    func repeatedHash(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let session = try Records.session()
        let owner = try #require(await store.signIn(Records.signIn(session: session))).user
        let intruder = Records.identity()
        await #expect(throws: StorageError.self) {
            try await store.signIn(Records.signIn(intruder, session: session))
        }
        #expect(try await store.session(session.tokenHash, at: Records.now)?.user == owner)
        #expect(try await store.signIn(Records.signIn(intruder, newcomers: .mustRegister)) == nil)
        withExtendedLifetime(holding) {}
    }
}
