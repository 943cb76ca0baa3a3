import Administration
import Primitives
import StorageModel
import TestSupport
import Testing

@testable import Registration
@testable import Storage

/// What a provider tells at a sign-in, and what of it the profile takes.
@Suite("Any store: the provider's values and the user's own")
struct ProviderAssertionsConformanceTests {
    /// Something that happens to a user, an hour after what happened before.
    enum Step: Sendable {
        /// A sign-in with the first identity. With the value of the e-mail address, and whether it is verified.
        case carrier(String?, Bool?)
        /// The same with a second identity, of another issuer.
        case other(String?, Bool?)
        /// The user edits the e-mail address; nil clears it.
        case edit(String?)
        /// The first identity is removed from the user.
        case leave
        /// Forgets what versions before did not store.
        case age
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [Step]
        let email: String?
        /// When the address was verified, as the number of the step, and whether by the second issuer.
        var verified: (step: Int64, byOther: Bool)?

        init(_ rule: String, _ steps: [Step], _ email: String?, verified: Int64? = nil, byOther: Bool = false) {
            testDescription = rule
            self.steps = steps
            self.email = email
            self.verified = verified.map { ($0, byOther) }
        }
    }

    static let rows = [
        Row("the carrier's word is kept", [.carrier("a@x", true)], "a@x", verified: 0),
        Row("true is not assumed", [.carrier("a@x", nil)], "a@x"),
        Row("false is false", [.carrier("a@x", false)], "a@x"),
        Row("a value without a word stays unverified", [.carrier("a@x", nil), .carrier("a@x", nil)], "a@x"),
        Row("the first time counts", [.carrier("a@x", true), .carrier("a@x", true)], "a@x", verified: 0),
        Row("a later word is taken", [.carrier("a@x", nil), .carrier("a@x", true)], "a@x", verified: 1),
        Row(
            "silence about the word is no word", [.carrier("a@x", true), .carrier("a@x", nil)], "a@x", verified: 0),
        Row("silence changes nothing", [.carrier("a@x", true), .carrier(nil, nil)], "a@x", verified: 0),
        Row("a word can be taken back", [.carrier("a@x", true), .carrier("a@x", false)], "a@x"),
        Row("a change arrives", [.carrier("a@x", true), .carrier("b@x", true)], "b@x", verified: 1),
        Row("a change without a word is unverified", [.carrier("a@x", true), .carrier("b@x", nil)], "b@x"),
        Row("an edit ends the word", [.carrier("a@x", true), .edit("b@x")], "b@x"),
        Row("an edit that changes nothing does not", [.carrier("a@x", true), .edit("a@x")], "a@x", verified: 0),
        Row(
            "such an edit keeps the value open to the carrier",
            [.carrier("a@x", true), .edit("a@x"), .carrier("b@x", true)],
            "b@x", verified: 2),
        Row("clearing ends the word", [.carrier("a@x", true), .edit(nil)], nil),
        Row("an edited value stays", [.carrier("a@x", true), .edit("b@x"), .carrier("c@x", true)], "b@x"),
        Row(
            "a cleared value is filled", [.carrier("a@x", true), .edit(nil), .carrier("c@x", true)], "c@x",
            verified: 2),
        Row(
            "an edited value that the carrier then vouches for is verified",
            [.carrier("a@x", true), .edit("b@x"), .carrier("b@x", true)], "b@x", verified: 2),
        Row(
            "and stays the user's own, unverified once the carrier knows another one",
            [.edit("b@x"), .carrier("b@x", true), .carrier("c@x", true)], "b@x"),
        Row(
            "another value without a word also ends the word",
            [.edit("b@x"), .carrier("b@x", true), .carrier("c@x", nil)], "b@x"),
        Row(
            "another provider's value does not", [.edit("b@x"), .carrier("b@x", true), .other("c@x", true)], "b@x",
            verified: 1),
        Row(
            "a value of the user's from the start stays", [.carrier(nil, nil), .edit("b@x"), .carrier("c@x", nil)],
            "b@x"),
        Row("another provider fills", [.carrier(nil, nil), .other("b@x", true)], "b@x", verified: 1, byOther: true),
        Row("another provider replaces nothing", [.carrier("a@x", true), .other("b@x", true)], "a@x", verified: 0),
        Row("another provider takes no word back", [.carrier("a@x", true), .other("a@x", false)], "a@x", verified: 0),
        Row(
            "another provider can vouch", [.carrier("a@x", nil), .other("a@x", true)], "a@x", verified: 1, byOther: true
        ),
        Row(
            "the first provider is still followed", [.carrier("a@x", nil), .other("b@x", nil), .carrier("c@x", true)],
            "c@x", verified: 2),
        Row(
            "the remaining provider is followed", [.carrier("a@x", true), .leave, .other("b@x", true)], "b@x",
            verified: 2,
            byOther: true),
        Row(
            "an old value that differs may be the user's own", [.carrier("a@x", nil), .age, .carrier("b@x", true)],
            "a@x"),
        Row(
            "an old value that is the carrier's follows it",
            [.carrier("a@x", nil), .age, .carrier("a@x", true), .carrier("b@x", true)], "b@x", verified: 3),
    ]

    @Test("A rule of the profile's values", arguments: StoreKind.engines, rows)
    func rule(kind: StoreKind, row: Row) async throws {
        let (store, holding) = try kind.open()
        let (carrier, other) = (Records.identity(), Identity(issuer: "https://other.example", subject: "7"))
        let first = try Records.session(lifetime: 86_400)
        let user = try #require(await store.signIn(Records.signIn(carrier, session: first))).user.id
        let link = IdentityLink(other, to: user, holding: first.tokenHash, at: Records.now, limit: 9, requestID: nil)
        _ = try await store.link(link)
        // Another user of the first issuer says nothing about this one.
        _ = try await store.signIn(Records.signIn())
        for (number, step) in row.steps.enumerated() {
            try await take(step, of: user, at: Self.time(of: Int64(number)), in: first.id, carrier, other, store)
        }
        let found = try #require(await store.session(first.tokenHash, at: Records.now)).user
        #expect(found.profile[.email] == row.email)
        #expect(found.profile[.phoneNumber] == row.email.map { "+1 " + $0 })
        let expected = row.verified.map {
            Verification(at: Self.time(of: $0.step), by: $0.byOther ? other.issuer : carrier.issuer)
        }
        #expect(found.assertions?.email == expected)
        #expect(found.assertions?.phoneNumber == expected)
        withExtendedLifetime(holding) {}
    }

    private static func time(of step: Int64) -> Timestamp { Records.now.advanced(bySeconds: 3600 * (step + 1)) }

    private func take(
        _ step: Step, of user: UserID, at now: Timestamp, in session: String, _ carrier: Identity, _ other: Identity,
        _ store: SQLStore
    ) async throws {
        func signIn(_ identity: Identity, _ email: String?, _ isVerified: Bool?) async throws {
            // The phone number, too, so that both contacts follow the same rules.
            let told: Profile = [.email: email, .phoneNumber: email.map { "+1 " + $0 }]
            var record = try Records.signIn(identity, profile: told, session: Records.session(at: now))
            record.verified = [.email: isVerified, .phoneNumber: isVerified]
            #expect(try await store.signIn(record)?.user.id == user)
        }
        switch step {
        case .carrier(let email, let isVerified): try await signIn(carrier, email, isVerified)
        case .other(let email, let isVerified): try await signIn(other, email, isVerified)
        case .edit(let email):
            var change = ProfileChange()
            change[.email] = email.map(AttributeChange.set) ?? .clear
            change[.phoneNumber] = email.map { .set("+1 " + $0) } ?? .clear
            let event = AuditEvent(at: now, .init("user.edited"), user: user, by: .user)
            _ = try await store.editProfile(of: user, in: session, change, recording: event)
        case .leave: try await remove(carrier, of: user, keeping: session, store)
        case .age:
            try await store.writes.submit { db in
                try db.execute("UPDATE users SET attribute_origins = NULL, profile_issuer = NULL")
            }
        }
    }

    private func remove(_ identity: Identity, of user: UserID, keeping session: String, _ store: SQLStore) async throws
    {
        let id = try #require(await store.identities(of: user).first { $0.issuer == identity.issuer }).id
        let removed = try await store.removeIdentity(id: id, of: user, keeping: session) { _ in
            AuditEvent(at: Records.now, .init("identity.unlinked"), user: user, by: .user)
        }
        #expect(removed == .removed)
    }

    @Test("The new carrier of a moved account is followed", arguments: StoreKind.engines)
    func moved(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let former = Records.identity()
        let present = Identity(issuer: "https://b.example", subject: "7")
        _ = try await store.signIn(Records.signIn(former, profile: [.name: "Jane", .email: "a@x"]))
        var record = SignInRecord(
            identity: present, profile: [.name: "Jane Doe", .email: "b@x"], session: try Records.session(),
            newcomers: .mustRegister,
            portedFrom: [PortedIdentity(identity: former, issuedAt: Records.now, token: Records.hash())])
        record.verified[.email] = true
        let moved = try #require(await store.signIn(record))
        #expect(moved.wasMoved && moved.isChanged)
        #expect(moved.user.profile == [.name: "Jane Doe", .email: "b@x"])
        #expect(moved.user.assertions?.email == Verification(at: Records.now, by: present.issuer))
        withExtendedLifetime(holding) {}
    }

    @Test("It is followed as well if it tells its values at a later sign-in", arguments: StoreKind.engines)
    func movedInSilence(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let former = Records.identity()
        let present = Identity(issuer: "https://b.example", subject: "7")
        _ = try await store.signIn(Records.signIn(former, profile: [.name: "Jane", .email: "a@x"]))
        let record = SignInRecord(
            identity: present, profile: nil, session: try Records.session(), newcomers: .mustRegister,
            portedFrom: [PortedIdentity(identity: former, issuedAt: Records.now, token: Records.hash())])
        #expect(try await store.signIn(record)?.user.profile == [.name: "Jane", .email: "a@x"])
        let told: Profile = [.name: "Jane Doe", .email: "b@x"]
        #expect(try await store.signIn(Records.signIn(present, profile: told))?.user.profile == told)
        withExtendedLifetime(holding) {}
    }

    @Test("A known user whose profile did not change is not written", arguments: StoreKind.engines)
    func notWritten(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let identity = Records.identity()
        let told: Profile = [.name: "Jane", .email: "a@x", .phoneNumber: "+13125550123"]
        func signIn(_ told: Profile?, _ isVerified: Bool?) async throws -> SignedInUser? {
            var record = try Records.signIn(identity, profile: told, session: Records.session())
            record.verified = [.email: isVerified, .phoneNumber: isVerified]
            return try await store.signIn(record)
        }
        let first = try #require(await signIn(told, true))
        try await store.writes.submit { db in
            guard db.isPostgres else {
                return try db.execute(
                    "CREATE TRIGGER watch BEFORE UPDATE ON users BEGIN SELECT RAISE(ABORT, 'written'); END")
            }
            try db.execute(
                """
                CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS
                $$BEGIN RAISE EXCEPTION 'written' USING ERRCODE = 'restrict_violation'; END$$
                """)
            try db.execute("CREATE TRIGGER watch BEFORE UPDATE ON users FOR EACH ROW EXECUTE FUNCTION watch()")
        }
        for (told, isVerified) in [(told, true), (told, nil), (nil, nil), ([.name: "Jane"], nil)] as [(Profile?, Bool?)]
        {
            let again = try #require(await signIn(told, isVerified))
            #expect(again.user == first.user)
            #expect(!again.isChanged)
        }
        await #expect(throws: StorageError.self) { try await signIn([.name: "Joan"], nil) }
        withExtendedLifetime(holding) {}
    }

    @Test("A registration keeps the carrier's word for the values that the user left", arguments: StoreKind.engines)
    func registration(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        var pending = try Records.pending(profile: [.name: "Jane", .email: "a@x", .phoneNumber: "+13125550123"])
        pending.verified = [.email: true, .phoneNumber: true]
        pending.claims = "claims"
        try await store.addPendingRegistration(pending)
        #expect(try await store.pendingRegistration(pending.handle, at: Records.now) == pending)
        let result = try await store.register(
            handle: pending.handle, profile: [.name: "Jane", .email: "own@x", .phoneNumber: "+13125550123"],
            session: Records.session(), publicID: "p", at: Records.now)
        guard case .success(let user) = result else {
            Issue.record("not registered")
            return
        }
        #expect(user.assertions?.email == nil)
        #expect(user.assertions?.phoneNumber == Verification(at: Records.now, by: pending.identity.issuer))
        let told: Profile = [.name: "Joan", .email: "b@x", .phoneNumber: "+13125550199"]
        let later = try #require(await store.signIn(Records.signIn(pending.identity, profile: told))).user
        #expect(later.profile == [.name: "Joan", .email: "own@x", .phoneNumber: "+13125550199"])
        #expect(later.assertions == nil)
        withExtendedLifetime(holding) {}
    }

    @Test("Claims are given to a user by the use case, and re-encrypted", arguments: StoreKind.engines)
    func claims(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let (carrier, other) = (Records.identity(), Identity(issuer: "https://other.example", subject: "7"))
        let session = try Records.session()
        func signIn(_ identity: Identity, _ text: String?) async throws -> SignedInUser {
            var record = try Records.signIn(
                identity, profile: [:], session: Records.session(), newcomers: .welcome(publicID: "public-1"))
            if let text {
                record.claims = { publicID, earlier in "\(publicID)|\(earlier ?? "-")|\(text)" }
            }
            return try #require(await store.signIn(record))
        }
        let first = try await signIn(carrier, "a")
        #expect(first.user.assertions?.claims == "public-1|-|a")
        _ = try await store.signIn(Records.signIn(carrier, session: session))
        let link = IdentityLink(
            other, to: first.user.id, holding: session.tokenHash, at: Records.now, limit: 9, requestID: nil)
        _ = try await store.link(link)
        let again = try await signIn(carrier, nil)
        #expect(again.user == first.user && !again.isChanged)
        let second = try await signIn(other, "b")
        #expect(second.user.assertions?.claims == "public-1|public-1|-|a|b")
        #expect(second.isChanged)
        #expect(try await store.session(session.tokenHash, at: Records.now)?.user == second.user)
        let found = try #require(await store.claims(notUnder: "other", after: UserID(0), limit: 9).first)
        #expect(found.user == first.user.id && found.publicID == "public-1")
        #expect(found.claims == second.user.assertions?.claims)
        let key = "0123456789abcdef"
        #expect(try await store.resealClaims([(record: found, sealed: key + ":sealed")]) == 1)
        #expect(try await store.resealClaims([(record: found, sealed: "late")]) == 0, "it changed since it was read")
        #expect(try await store.encryptedRowCounts() == [key: 1])
        #expect(try await store.claims(notUnder: key, after: UserID(0), limit: 9).isEmpty)
        // Two ids of keys that Swift takes for the same, and the database does not.
        _ = try await signIn(Identity(issuer: "https://other.example", subject: "8"), "c")
        let both = try await store.claims(notUnder: "other", after: UserID(0), limit: 9)
        let ids = ["\u{212B}", "\u{C5}"].map { $0 + String(repeating: "a", count: 15) }
        let sealed = zip(both, ids).map { (record: $0, sealed: $1 + ":sealed") }
        #expect(try await store.resealClaims(sealed) == 2)
        #expect(try await store.encryptedRowCounts() == [ids[0]: 2])
        withExtendedLifetime(holding) {}
    }
}
