import Administration
import Primitives
import SignIn
import Storage
import StorageModel
import TestSupport
import Testing

@Suite("Any store: users of another system are imported")
struct UserImportTests {
    private let now = Records.now

    private func imported(_ subject: String, _ members: String = "", line: Int = 1) throws -> ImportedUser {
        let text = #"{"issuer":"\#(Records.issuer)","subject":"\#(subject)"\#(members)}"#
        return try ImportedUser(Array(text.utf8), line: line, at: now)
    }

    private func run(
        _ users: [ImportedUser], in store: SQLStore, vouching issuers: Set<String> = [Records.issuer],
        applies: Bool = true
    ) async throws -> ImportedBatch {
        try await store.importUsers(
            users, vouching: issuers, at: now, by: .operating("jane"), reason: "4711", applies: applies)
    }

    private func user(_ identity: Identity, in store: SQLStore) async throws -> User? {
        try await store.reads.submit { db in try UsersTable.user(identity, in: db) }
    }

    @Test("An imported user signs in with what the line had, and keeps it", arguments: StoreKind.engines)
    func signsIn(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let line = try imported(
            "jane",
            """
            ,"email":"jane@example.com","email_verified":true,"phone_number":"+12025550123",\
            "phone_number_verified":true,"name":"Jane","username":"jane7","created_at":1500000000
            """)
        let batch = try await run([line], in: store)
        #expect(batch.added == 1)
        #expect(batch.verified == 1)
        let identity = Records.identity("jane")
        let stored = try #require(try await user(identity, in: store))
        #expect(stored.createdAt == Timestamp(secondsSinceEpoch: 1_500_000_000))
        #expect(stored.profile == line.profile)
        #expect(stored.assertions?.email == Verification(at: now, by: Records.issuer))
        #expect(stored.assertions?.phoneNumber == nil, "numbers change hands")
        let claims: Profile = [.name: "Jane Doe", .email: "jane@example.com", .phoneNumber: "+12025550123"]
        var record = try Records.signIn(identity, profile: claims)
        record.verified = [.phoneNumber: true]
        let signedIn = try #require(try await store.signIn(record))
        #expect(!signedIn.isNew)
        #expect(signedIn.user.id == stored.id)
        #expect(signedIn.user.profile[.name] == "Jane", "it may be the user's own")
        #expect(signedIn.user.assertions?.email?.time == now)
        #expect(signedIn.user.assertions?.phoneNumber?.issuer == Records.issuer)
        let events = try await store.auditEvents(AuditQuery(kind: AuditEvent.Kind("users.imported"), limit: 10))
        #expect(events.map(\.event.details.json) == [#"{"users":1,"reason":"4711"}"#])
        #expect(events.first?.event.actor == .operating("jane"))
        try await store.close()
        withExtendedLifetime(holding) {}
    }

    /// A rule of what an import stores.
    private struct Rule: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let members: String
        var issuers: Set<String> = [Records.issuer]
        let isVerified: Bool
    }

    private static let rules = [
        Rule(
            testDescription: "the word of a configured issuer counts",
            members: #","email":"a@example.com","email_verified":true"#, isVerified: true),
        Rule(
            testDescription: "that of another issuer does not",
            members: #","email":"a@example.com","email_verified":true"#, issuers: ["https://other.example"],
            isVerified: false),
        Rule(
            testDescription: "an address that was not verified is not",
            members: #","email":"a@example.com","email_verified":false"#, isVerified: false),
        Rule(testDescription: "nothing said is not verified", members: #","email":"a@example.com""#, isVerified: false),
        Rule(testDescription: "no address", members: #","email_verified":true"#, isVerified: false),
    ]

    @Test("An e-mail address is verified by the word of a configured issuer alone", arguments: StoreKind.engines)
    func verifies(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        for (index, rule) in Self.rules.enumerated() {
            let line = try imported("subject-\(index)", rule.members)
            let batch = try await run([line], in: store, vouching: rule.issuers)
            #expect(batch.verified == (rule.isVerified ? 1 : 0), "\(rule.testDescription)")
            let stored = try await user(line.identity, in: store)
            #expect((stored?.assertions?.email != nil) == rule.isVerified, "\(rule.testDescription)")
        }
        try await store.close()
        withExtendedLifetime(holding) {}
    }

    @Test(
        "Identities that are there are skipped, those moved away refused; a dry run writes nothing",
        arguments: StoreKind.engines)
    func again(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let (former, present) = (Records.identity("former"), Records.identity("present"))
        let made = try #require(try await store.signIn(try Records.signIn(former)))
        let port = PortedIdentity(identity: former, issuedAt: now, token: Records.hash())
        let moving = SignInRecord(
            identity: present, profile: nil, session: try Records.session(), newcomers: Records.newcomers(),
            portedFrom: [port])
        #expect(try await store.signIn(moving)?.user.id == made.user.id)
        let lines = try [
            imported("former", line: 3), imported("present", line: 4), imported("new", line: 5),
            imported("new", line: 6),
        ]
        let tried = try await run(lines, in: store, applies: false)
        #expect(tried.added == 2, "a dry run sees no line of the file")
        #expect(try await user(lines[2].identity, in: store) == nil)
        for (added, there) in [(1, 2), (0, 3)] {
            let batch = try await run(lines, in: store)
            #expect(batch.added == added)
            #expect(batch.present == there)
            #expect(batch.moved == [3])
        }
        let events = try await store.auditEvents(AuditQuery(kind: AuditEvent.Kind("users.imported"), limit: 10))
        #expect(events.count == 1, "none for a batch that added nobody")
        try await store.close()
        withExtendedLifetime(holding) {}
    }

    @Test(
        "All users are exported once in the order of their numbers, and the lines are importable",
        arguments: StoreKind.engines)
    func exports(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let email = #","email":"a@example.com","email_verified":true,"created_at":1500000000"#
        _ = try await run([try imported("b"), try imported("a", email), try imported("c")], in: store)
        // A user without an identity ends no export.
        try await store.writes.submit { db in try IdentitiesTable.delete(Records.identity("b"), in: db) }
        let port = PortedIdentity(identity: Records.identity("c"), issuedAt: now, token: Records.hash())
        let moving = SignInRecord(
            identity: Records.identity("d"), profile: nil, session: try Records.session(),
            newcomers: Records.newcomers(), portedFrom: [port])
        _ = try #require(try await store.signIn(moving))
        var (lines, last): ([String], UserID) = ([], UserID(0))
        while true {
            let page = try await store.exportUsers(after: last, limit: 1)
            guard let end = page.last else { break }
            last = end.user.id
            lines += page.compactMap(\.json)
        }
        let subjects = try lines.enumerated().map { index, line in
            try ImportedUser(Array(line.utf8), line: index + 1, at: now).identity.subject
        }
        #expect(subjects == ["a", "d"])
        #expect(
            lines.first == """
                {"issuer":"\(Records.issuer)","subject":"a","email":"a@example.com","email_verified":true,\
                "created_at":"2017-07-14T02:40:00Z"}
                """)
        try await store.close()
        withExtendedLifetime(holding) {}
    }
}
