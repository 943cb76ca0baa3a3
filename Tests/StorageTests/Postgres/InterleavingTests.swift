import Primitives
import StorageModel
import TestSupport
import Testing

@testable import Administration
@testable import PhoneVerification
@testable import Registration
@testable import Storage

@Suite("PostgreSQL: concurrent calls in every order of their statements")
struct InterleavingTests {
    /// Calls that must break nothing, and a lock or a condition without which they break something.
    struct Scenario: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var count = 2
        let mutation: Interleaving.Mutation?
        let prepare: @Sendable (SQLStore) async throws -> Interleaving.Round

        init(
            _ description: String, count: Int = 2, without mutation: Interleaving.Mutation?,
            prepare: @escaping @Sendable (SQLStore) async throws -> Interleaving.Round
        ) {
            testDescription = description
            self.count = count
            self.mutation = mutation
            self.prepare = prepare
        }
    }

    @Test("Nothing is broken in any order", arguments: scenarios)
    func holds(scenario: Scenario) async throws {
        let interleaving = try Interleaving(scenario.count)
        let result = try await interleaving.run(scenario.prepare)
        #expect(result.fault == nil)
        // Otherwise the statements did not wait for their turns.
        #expect(result.orders > 1)
        try await interleaving.close()
    }

    @Test("Without its lock or condition, something is broken", arguments: scenarios.filter { $0.mutation != nil })
    func finds(scenario: Scenario) async throws {
        let interleaving = try Interleaving(scenario.count, mutating: scenario.mutation)
        #expect(try await interleaving.run(scenario.prepare).fault != nil)
        try await interleaving.close()
    }

    // MARK: Scenarios

    private static let rowLock: Interleaving.Mutation = (" FOR NO KEY UPDATE", "")
    private static let holderLock: Interleaving.Mutation = (" FOR NO KEY UPDATE OF users, identities", "")
    private static let userLock: Interleaving.Mutation = (
        "WHERE users.id = wanted.id FOR NO KEY UPDATE", "WHERE users.id = wanted.id"
    )
    private static let ruleLock: Interleaving.Mutation = (
        "pg_advisory_xact_lock(key # 'users'::regclass::oid::bigint)", "key"
    )

    static let scenarios = [
        signInAndSignOut, signInAndErasure, signInAndRelinking, signInAndMerge, signInAloneAndMerge,
        signInsOfNewcomer, repeatAndSignOut, repeatAndProviderLogout, rotations,
        rotationAndSignOut, rotationAndPurge, oneTimeRecord, nonce, registrations, edits, lastIdentity, provenNumber,
        exchangedNumbers, confirmationAndErasure, apiKeys,
    ]

    private static func event(_ user: UserID? = nil) -> AuditEvent {
        AuditEvent(at: Records.now, AuditEvent.Kind("test.event"), user: user, by: .latchkey)
    }

    private static func user(_ identity: Identity, in store: SQLStore, session: NewSession? = nil) async throws -> User
    {
        try #require(try await store.signIn(Records.signIn(identity, session: session))).user
    }

    /// Says that a session lives, if it does.
    private static func survivor(_ session: NewSession) -> @Sendable (SQLStore) async throws -> String? {
        { store in
            try await store.session(session.tokenHash, at: Records.now) == nil ? nil : "a session outlives its end"
        }
    }

    private static let signInAndSignOut = Scenario(
        "a sign-in that began before a sign-out of all devices", without: holderLock
    ) { store in
        let identity = Records.identity()
        let user = try await user(identity, in: store).id
        let session = try Records.session()
        let record = IdempotencyRecord(
            key: RandomSource.system.bytes(16), endsAt: Records.now.advanced(bySeconds: 60), endings: 0)
        return Interleaving.Round(
            calls: [
                { _ = try await $0.signIn(Records.signIn(identity, session: session, idempotency: record)) },
                { _ = try await $0.revokeSessions(of: user, except: nil, recording: event(user)) },
            ], fault: survivor(session))
    }

    private static let signInAndErasure = Scenario(
        "a sign-in and the erasure of its user", without: holderLock
    ) { store in
        let identity = Records.identity()
        let user = try await user(identity, in: store).id
        let session = try Records.session()
        return Interleaving.Round(
            calls: [
                { _ = try await $0.signIn(Records.signIn(identity, session: session)) },
                { _ = try await $0.deleteUser(user) },
            ]
        ) { store in
            let isOrphan = try await store.reads.submit {
                try $0.exists("SELECT 1 FROM sessions WHERE user_id NOT IN (SELECT id FROM users)")
            }
            guard !isOrphan else { return "a session has no user" }
            let owner = try await store.session(session.tokenHash, at: Records.now)?.user.id
            let expected = owner.map { IdentityStatus.live($0) } ?? .unknown
            return try await store.statuses(of: [identity]) == [expected] && owner != user
                ? nil : "the session is of \(String(describing: owner))"
        }
    }

    private static let signInAndRelinking = Scenario(
        "a sign-in and the replacement of its identity", without: holderLock
    ) { store in
        let identity = Records.identity()
        let user = try await user(identity, in: store).id
        let session = try Records.session()
        return Interleaving.Round(
            calls: [
                {
                    _ = try await $0.signIn(Records.signIn(identity, session: session, newcomers: .mustRegister))
                },
                {
                    _ = try await $0.relink(
                        user, to: Records.identity(), replacing: nil, at: Records.now, by: .operating("pat"),
                        reason: nil)
                },
            ], fault: survivor(session))
    }

    private static let signInAndMerge = Scenario(
        "a sign-in and a merge of its user into another one",
        without: ("SELECT place, found.user_id", "SELECT place, locked.id")
    ) { try await roundOfMerge(in: $0) { _ in } }

    private static let signInAloneAndMerge = Scenario(
        "a sign-in that shares no statement, and a merge of its user into another one", without: nil
    ) { try await roundOfMerge(in: $0) { $0.tokenUse = OneTimeUse(Records.oneTimeRecord()) } }

    private static func roundOfMerge(
        in store: SQLStore, changing change: (inout SignInRecord) -> Void
    ) async throws -> Interleaving.Round {
        let identity = Records.identity()
        let (other, user) = (
            try await user(identity, in: store).id, try await user(Records.identity(), in: store).id
        )
        var record = try Records.signIn(identity, newcomers: .mustRegister)
        change(&record)
        let isSignedIn = Shared(false)
        return Interleaving.Round(
            calls: [
                { [record] store in
                    let result = try await store.signIn(record)
                    isSignedIn.withLock { $0 = result != nil }
                },
                { _ = try await $0.merge(other, into: user, at: Records.now, by: .operating("pat"), reason: nil) },
            ]
        ) { [record] store in
            guard isSignedIn.withLock({ $0 }) else { return "a known identity was refused" }
            // The merge ends the sessions of the user who is merged away.
            let owner = try await store.session(record.session.tokenHash, at: Records.now)?.user.id
            return owner == nil || owner == user ? nil : "the session is of \(String(describing: owner))"
        }
    }

    private static let signInsOfNewcomer = Scenario("one sign-in on two instances, of a new user", without: nil) { _ in
        let identity = Records.identity()
        let record = Records.idempotency()
        let signedIn = Shared<[SignedInUser?]>([])
        let call: @Sendable (SQLStore) async throws -> Void = { store in
            let result = try await store.signIn(Records.signIn(identity, idempotency: record))
            signedIn.withLock { $0.append(result) }
        }
        return Interleaving.Round(calls: [call, call]) { store in
            let results = signedIn.withLock { $0 }.compactMap(\.self)
            guard results.count == 2, results.count(where: \.isNew) == 1, Set(results.map(\.user.id)).count == 1 else {
                return "\(results)"
            }
            let given = try await store.recentSignIn(record.key, at: Records.now)?.session
            return results.contains { $0.given == given } ? nil : "the record names no session"
        }
    }

    private static let repeatAndSignOut = Scenario(
        "the repeat of a sign-in and a sign-out of all devices", without: userLock
    ) { store in
        let record = try Records.signIn(idempotency: Records.idempotency())
        let first = try #require(try await store.signIn(record))
        let given = try #require(first.given)
        let session = try Records.session()
        return Interleaving.Round(
            calls: [
                { _ = try await $0.addSession(session, besides: given) },
                { _ = try await $0.revokeSessions(of: given.user, except: nil, recording: event(given.user)) },
            ], fault: survivor(session))
    }

    private static let repeatAndProviderLogout = Scenario(
        "a sign-in with its repeat, and the logout of the provider's session, which another user has, too",
        without: ("WHERE provider_session_hash = ? AND user_id = ?", "WHERE provider_session_hash = ? AND ? > 0")
    ) { store in
        let providerSession = ProviderSessionHash(issuer: Records.issuer, id: RandomSource.system.token())
        var others = try Records.signIn()
        others.providerSession = providerSession
        _ = try await store.signIn(others)
        var record = try Records.signIn(idempotency: Records.idempotency())
        record.providerSession = providerSession
        let copy = try Records.session()
        return Interleaving.Round(
            calls: [
                { [record] store in
                    guard let given = try await store.signIn(record)?.given else { return }
                    _ = try await store.addSession(copy, besides: given)
                },
                { store in
                    _ = try await store.writes.submit {
                        try SessionsTable.end("provider_session_hash = ?", providerSession, in: $0)
                    }
                },
            ]
        ) { [record] store in
            // Otherwise the user has signed in after the logout.
            guard try await store.session(record.session.tokenHash, at: Records.now) == nil else { return nil }
            return try await survivor(copy)(store)
        }
    }

    private static let rotations = Scenario(
        "a refresh that is sent again to another instance before it is answered", without: rowLock
    ) { store in
        let session = try Records.session()
        let user = try await user(Records.identity(), in: store, session: session).id
        let successors = try (0..<2).map { _ in try Records.session() }
        let rotated = Shared<[NewSession]>([])
        let calls = successors.map { successor -> @Sendable (SQLStore) async throws -> Void in
            { store in
                let token = RefreshTokenHashes(token: session.refreshTokenHash, family: session.refreshTokenHash)
                guard case .live = try await store.refreshToken(token, at: Records.now) else { return }
                if try await store.rotate(Records.rotation(of: session.refreshTokenHash, to: successor)) {
                    rotated.withLock { $0.append(successor) }
                }
            }
        }
        return Interleaving.Round(calls: calls) { store in
            let rotated = rotated.withLock { $0 }
            guard rotated.count == 1 else { return "\(rotated.count) of two succeeded" }
            // The token before lives until the end of the grace.
            for token in [session.tokenHash, rotated[0].tokenHash] {
                guard try await store.session(token, at: Records.now)?.user.id == user else { return "a token is lost" }
            }
            return nil
        }
    }

    private static let rotationAndSignOut = Scenario("a refresh and a sign-out of all devices", without: nil) { store in
        let session = try Records.session()
        let user = try await user(Records.identity(), in: store, session: session).id
        let successor = try Records.session()
        return Interleaving.Round(
            calls: [
                { _ = try await $0.rotate(Records.rotation(of: session.refreshTokenHash, to: successor)) },
                { _ = try await $0.revokeSessions(of: user, except: nil, recording: event(user)) },
            ], fault: survivor(successor))
    }

    private static let rotationAndPurge = Scenario(
        "a refresh in the last second, and the removal of what has expired",
        without: ("LIMIT ?2) AND refresh_expires_at <= ?1 AND expires_at <= ?1", "LIMIT ?2)")
    ) { store in
        let session = try Records.session(lifetime: 60, refreshLifetime: 60)
        _ = try await user(Records.identity(), in: store, session: session)
        let successor = try Records.session()
        let isRotated = Shared(false)
        return Interleaving.Round(
            calls: [
                { store in
                    let rotation = try Records.rotation(of: session.refreshTokenHash, to: successor)
                    let result = try await store.rotate(rotation)
                    isRotated.withLock { $0 = result }
                },
                { store in
                    let end = Records.now.advanced(bySeconds: 60)
                    _ = try await store.writes.submit { try Expired.sessions.remove(at: end, limit: 100, in: $0) }
                },
            ]
        ) { store in
            let isLive = try await store.session(successor.tokenHash, at: Records.now) != nil
            return isRotated.withLock { $0 } == isLive ? nil : "a refreshed session is lost"
        }
    }

    private static let oneTimeRecord = Scenario("three uses of a one-time record", count: 3, without: nil) { store in
        let record = Records.oneTimeRecord()
        _ = try await store.addOneTimeRecord(record, insteadOf: [])
        let taken = Shared(0)
        let call: @Sendable (SQLStore) async throws -> Void = { store in
            if try await store.takeOneTimeRecord(record.handle, purpose: "test", at: Records.now) != nil {
                taken.withLock { $0 += 1 }
            }
        }
        return Interleaving.Round(calls: [call, call, call]) { _ in
            taken.withLock { $0 == 1 ? nil : "it was taken \($0) times" }
        }
    }

    private static let nonce = Scenario("two sign-ins with one nonce", without: nil) { store in
        let record = Records.nonce()
        _ = try await store.addOneTimeRecord(record, insteadOf: [])
        let (signedIn, mark) = (Shared(0), Records.oneTimeRecord())
        func call(_ nonce: OneTimeUse.Nonce) -> @Sendable (SQLStore) async throws -> Void {
            { store in
                var signIn = try Records.signIn()
                signIn.tokenUse = OneTimeUse(mark, nonce: nonce)
                if try await store.signIn(signIn) != nil { signedIn.withLock { $0 += 1 } }
            }
        }
        let calls = [call(.issued(record.handle, purpose: record.purpose)), call(.any([record.handle]))]
        return Interleaving.Round(calls: calls) { _ in
            signedIn.withLock { $0 == 1 ? nil : "it signed in \($0) times" }
        }
    }

    private static let registrations = Scenario("two registrations with one handle", without: rowLock) { store in
        let pending = try Records.pending()
        try await store.addPendingRegistration(pending)
        let results = Shared<[String]>([])
        let call: @Sendable (SQLStore) async throws -> Void = { store in
            let result = try await store.register(
                handle: pending.handle, profile: Profile(), session: Records.session(),
                publicID: RandomSource.system.token(), at: Records.now)
            let name =
                switch result {
                case .success?: "registered"
                case .failure?: "refused"
                case nil: "unknown"
                }
            results.withLock { $0.append(name) }
        }
        return Interleaving.Round(calls: [call, call]) { _ in
            results.withLock { $0.sorted() == ["registered", "unknown"] ? nil : "\($0)" }
        }
    }

    private static let edits = Scenario("two edits of one profile", without: rowLock) { store in
        let session = try Records.session()
        let identity = Records.identity()
        let user = try await user(identity, in: store, session: session).id
        let calls = [UserAttribute.name, .email].map { attribute -> @Sendable (SQLStore) async throws -> Void in
            var change = ProfileChange()
            change[attribute] = .set("new")
            return { [change] store in
                _ = try await store.editProfile(of: user, in: session.id, change, recording: event(user))
            }
        }
        return Interleaving.Round(calls: calls) { store in
            let profile = try await store.session(session.tokenHash, at: Records.now)?.user.profile
            return profile?[.name] == "new" && profile?[.email] == "new" ? nil : "an edit is lost"
        }
    }

    private static let lastIdentity = Scenario("the removals of a user's two identities", without: userLock) { store in
        let session = try Records.session()
        let user = try await user(Records.identity(), in: store, session: session).id
        let link = IdentityLink(
            Records.identity(), to: user, holding: session.tokenHash, at: Records.now, limit: 9, requestID: nil)
        _ = try await store.link(link)
        let identities = try await store.identities(of: user)
        let calls = identities.map { identity -> @Sendable (SQLStore) async throws -> Void in
            { store in
                _ = try await store.removeIdentity(id: identity.id, of: user, keeping: nil) { _ in event(user) }
            }
        }
        return Interleaving.Round(calls: calls) { store in
            let count = try await store.identities(of: user).count
            return count == 1 ? nil : "\(count) identities are left"
        }
    }

    private static let provenNumber = Scenario("two users whose network proves one number", without: ruleLock) { _ in
        let number = Records.phoneNumber()
        let identities = [Records.identity(), Records.identity()]
        let calls = identities.map { identity -> @Sendable (SQLStore) async throws -> Void in
            { store in
                var record = try Records.signIn(identity, profile: [.phoneNumber: number])
                record.verified = [.phoneNumber: true]
                record.provenPhoneNumber = number
                _ = try await store.signIn(record)
            }
        }
        return Interleaving.Round(calls: calls) { store in
            let count = try await store.writes.submit { db in
                try db.number(
                    "SELECT count(*) FROM users WHERE phone_number = ? AND phone_number_verified_at IS NOT NULL", number
                )
            }
            return count == 1 ? nil : "\(count) users have it"
        }
    }

    private static let exchangedNumbers = Scenario(
        "two users whose networks prove each other's number", without: userLock
    ) { store in
        let numbers = (0..<2).map { _ in Records.phoneNumber() }
        let identities = [Records.identity(), Records.identity()]
        func record(_ identity: Identity, proving number: String) throws -> SignInRecord {
            var record = try Records.signIn(identity, profile: [.phoneNumber: number])
            record.verified = [.phoneNumber: true]
            record.provenPhoneNumber = number
            return record
        }
        for (identity, number) in zip(identities, numbers) {
            _ = try await store.signIn(record(identity, proving: number))
        }
        let records = try zip(identities, numbers.reversed()).map(record)
        return Interleaving.Round(calls: records.map { record in { _ = try await $0.signIn(record) } }) { _ in nil }
    }

    private static let confirmationAndErasure = Scenario(
        "the confirmation of a phone verification and the erasure of its user", without: userLock
    ) { store in
        let (session, confirmation) = (try Records.session(), Records.hash())
        let user = try await user(Records.identity(), in: store, session: session).id
        let end = Records.now.advanced(bySeconds: 120)
        let pending = PhoneVerification(
            id: Records.hash(), user: user, session: session.id,
            phoneNumber: Records.phoneNumber(), operatorName: "northwind", time: end)
        _ = try await store.beginPhoneVerification(pending)
        _ = try await store.addPhoneVerificationFinding(
            pending.ended(.verified, phoneNumber: pending.phoneNumber, simSwapped: nil, at: Records.now),
            by: Records.issuer, confirmation: confirmation, until: end, at: Records.now)
        return Interleaving.Round(
            calls: [
                { store in
                    _ = try await store.confirmPhoneVerification(
                        pending.id, of: user, in: session.id, with: confirmation, at: Records.now, requestID: nil)
                },
                { _ = try await $0.deleteUser(user) },
            ]
        ) { store in try await store.account(of: user) == nil ? nil : "the user is left" }
    }

    private static let apiKeys = Scenario("two API keys where there is room for one", without: ruleLock) { store in
        let count = try await store.apiKeys(limit: 10_000).count
        let call: @Sendable (SQLStore) async throws -> Void = { store in
            let key = StoredAPIKey(
                name: RandomSource.system.token(), hash: Records.hash(), clients: nil, origins: nil,
                createdAt: Records.now)
            _ = try await store.addAPIKey(key, limit: count + 1, recording: event())
        }
        return Interleaving.Round(calls: [call, call]) { store in
            let keys = try await store.apiKeys(limit: 10_000).count
            return keys == count + 1 ? nil : "\(keys - count) keys were added"
        }
    }
}
