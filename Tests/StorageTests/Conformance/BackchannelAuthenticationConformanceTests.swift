import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel
import TestSupport
import Testing

@testable import Backchannel

@Suite("Any store: backchannel authentications")
struct BackchannelAuthenticationConformanceTests {
    private let now = Records.now

    private func record(
        caller: UInt8 = 1, loginHint: String = RandomSource.system.token(), network: String = "310410",
        lifetime: Int64 = 300, change: (inout BackchannelAuthenticationRecord.Terms) -> Void = { _ in }
    ) throws -> BackchannelAuthenticationRecord {
        var terms = BackchannelAuthenticationRecord.Terms(
            provider: "zenkey", clientID: try #require(ClientID("ccid-app")), demand: AuthenticationDemand(),
            carrier: .init(
                loginHint: .subject(Secret("310410-user-\(loginHint)")), network: try #require(MCCMNC(network)),
                redirectURI: "app:/back"),
            correlationID: try #require(CorrelationID("corr-1")))
        terms.demand.scopes = ["openid", "email"]
        terms.demand.context = "Pay $10"
        change(&terms)
        return BackchannelAuthenticationRecord(
            handle: Records.hash(), caller: try #require(TokenHash([UInt8](repeating: caller, count: 32))),
            terms: terms, notification: Records.hash(),
            expiresAt: now.advanced(bySeconds: lifetime), removedAt: now.advanced(bySeconds: lifetime + 600))
    }

    private func add(
        _ record: BackchannelAuthenticationRecord,
        promptCaller: UInt8? = nil, allowance: SharedAllowance? = nil,
        limits: BackchannelSettings = BackchannelSettings(), at time: Timestamp? = nil,
        to store: SQLStore
    ) async throws -> PromptRefusal? {
        try await store.addBackchannelAuthentication(
            record, for: prompt(of: record, promptCaller, allowance), limits: limits, at: time ?? now)
    }

    /// - Parameter promptCaller: By default the record's.
    private func prompt(
        of record: BackchannelAuthenticationRecord, _ promptCaller: UInt8? = nil, _ allowance: SharedAllowance? = nil
    ) throws -> BackchannelPrompt {
        BackchannelPrompt(
            user: TokenHash(sha256Of: record.terms.carrier?.loginHint.text.exposed ?? ""),
            quota: PromptQuota(
                caller: try promptCaller.map { try #require(TokenHash([UInt8](repeating: $0, count: 32))) }
                    ?? record.caller,
                perUser: allowance))
    }

    @Test("A record is found unchanged by its handle and by its notification token", arguments: StoreKind.all)
    func find(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        var record = try record { terms in
            terms.demand.acrValues = ["a3", "a1"]
            terms.demand.prompt = [.login]
            terms.carrier?.options = "dark"
        }
        record.carrierRequest = Records.hash()
        record.failure = .carrier("access_denied")
        record.user = BackchannelAuthenticationRecord.VouchedUser(
            identity: Records.identity(), profile: [.name: "Jane Doe", .email: "jane@example.com"],
            verified: [.email: true, .phoneNumber: false], claims: "claims", isPartial: true,
            portedFrom: (0..<2).map { number in
                PortedIdentity(
                    identity: Identity(issuer: "https://\(number).example", subject: #"a"b\ \#(number)"#),
                    issuedAt: now.advanced(bySeconds: -Int64(number)), token: Records.hash())
            })
        var polling = TokenPolling(mode: .ping, interval: 7, nextAt: now.advanced(bySeconds: 8))
        polling.sealedRequest = [0, 1, 255]
        polling.busyUntil = now.advanced(bySeconds: 9)
        polling.isNotified = true
        record.polling = polling
        #expect(try await add(record, to: store) == nil)
        #expect(try await store.backchannelAuthentication(handle: record.handle, at: now) == record)
        #expect(try await store.backchannelAuthentication(notification: record.notification, at: now) == record)
        #expect(try await store.backchannelAuthentication(handle: record.notification, at: now) == nil)
        #expect(try await store.backchannelAuthentication(notification: record.handle, at: now) == nil)
        let last = record.removedAt.advanced(bySeconds: -1)
        #expect(try await store.backchannelAuthentication(handle: record.handle, at: last) != nil)
        #expect(try await store.backchannelAuthentication(handle: record.handle, at: record.removedAt) == nil)
        #expect(
            try await store.backchannelAuthentication(notification: record.notification, at: record.removedAt) == nil)
        withExtendedLifetime(holding) {}
    }

    @Test("How tokens are fetched is stored with each change, for each mode", arguments: StoreKind.all)
    func polling(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        for mode in BackchannelTokenDeliveryMode.allCases {
            var record = try record()
            record.polling = TokenPolling(mode: mode, interval: 5, nextAt: now)
            _ = try await add(record, to: store)
            #expect(try await store.backchannelAuthentication(handle: record.handle, at: now) == record)
            record.polling?.sealedRequest = [1, 2]
            record.polling?.interval = 10
            record.polling?.busyUntil = now
            record.polling?.isNotified = true
            #expect(try await store.replaceBackchannelAuthentication(record))
            let stored = try await store.backchannelAuthentication(handle: record.handle, at: now)
            #expect(stored?.polling == record.polling)
        }
        let ofProvider = try record { $0.carrier = nil }
        _ = try await add(ofProvider, to: store)
        #expect(try await store.backchannelAuthentication(handle: ofProvider.handle, at: now) == ofProvider)
        let pushed = try record()
        _ = try await add(pushed, to: store)
        #expect(try await store.backchannelAuthentication(handle: pushed.handle, at: now)?.polling == nil)
        withExtendedLifetime(holding) {}
    }

    @Test("Of changes to the same revision only the first is stored", arguments: StoreKind.all)
    func replace(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let (record, other) = (try record(), try self.record())
        _ = try await add(record, to: store)
        _ = try await add(other, to: store)
        let wins = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<20 {
                var changed = record
                changed.phase = .cancelled
                changed.notification = Records.hash()
                let replacement = changed
                group.addTask { try await store.replaceBackchannelAuthentication(replacement) }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(wins == 1)
        let stored = try #require(try await store.backchannelAuthentication(handle: record.handle, at: now))
        #expect(stored.phase == .cancelled)
        #expect(stored.revision == 1)
        #expect(try await store.backchannelAuthentication(notification: record.notification, at: now) == nil)
        #expect(try await store.replaceBackchannelAuthentication(stored))
        #expect(try await store.backchannelAuthentication(handle: other.handle, at: now) == other)
        withExtendedLifetime(holding) {}
    }

    @Test("The completion and the session are stored in one commit", arguments: StoreKind.all)
    func end(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        var (record, bystander) = (try record(), try self.record())
        (record.phase, bystander.phase) = (.approved, .approved)
        _ = try await add(record, to: store)
        _ = try await add(bystander, to: store)
        (record.phase, bystander.phase) = (.done, .done)
        let identity = Records.identity()
        var session = try Records.session()
        session.isAudited = true
        guard
            case .signedIn(let signedIn) = try await store.endBackchannelAuthentication(
                record, with: Records.signIn(identity, session: session), givingBackTo: nil)
        else {
            Issue.record("not signed in")
            return
        }
        #expect(signedIn.isNew)
        #expect(try await store.session(session.tokenHash, at: now)?.user == signedIn.user)
        #expect(try await store.backchannelAuthentication(handle: record.handle, at: now)?.phase == .done)
        let event = try #require(try await store.auditEvents(AuditQuery()).first?.event)
        #expect(event.kind == .sessionCreated && event.user == signedIn.user.id)
        #expect(event.details.json.hasSuffix(#""new_user":true}"#))

        let other = try Records.session()
        #expect(
            try await store.endBackchannelAuthentication(
                record, with: Records.signIn(identity, session: other), givingBackTo: nil) == .changed)
        #expect(try await store.session(other.tokenHash, at: now) == nil)
        record.revision = 1
        let stranger = try Records.signIn(session: other, newcomers: .mustRegister)
        #expect(try await store.endBackchannelAuthentication(record, with: stranger, givingBackTo: nil) == .unknownUser)
        #expect(try await store.session(other.tokenHash, at: now) == nil)
        #expect(try await store.backchannelAuthentication(handle: record.handle, at: now)?.revision == 2)
        let ending = try await store.endBackchannelAuthentication(
            bystander, with: Records.signIn(), givingBackTo: nil)
        guard case .signedIn(let newcomer) = ending else {
            Issue.record("the other is not signed in")
            return
        }
        #expect(newcomer.isNew && newcomer.user.id != signedIn.user.id)
        withExtendedLifetime(holding) {}
    }

    @Test(
        "The completion can be repeated as long as its session lives and no session of the user was ended",
        arguments: StoreKind.all, [true, false])
    func endAgain(kind: StoreKind, isItsOwn: Bool) async throws {
        let (store, holding) = try kind.open()
        var record = try record()
        record.phase = .done
        let identity = Records.identity()
        record.user = BackchannelAuthenticationRecord.VouchedUser(identity: identity)
        _ = try await add(record, to: store)
        let (elsewhere, first) = (try Records.session(), try Records.session())
        _ = try await store.signIn(Records.signIn(identity, session: elsewhere))
        for var session in [first, try Records.session()] {
            session.isAudited = true
            let ending = try await store.endBackchannelAuthentication(
                record, with: Records.signIn(identity, session: session), givingBackTo: nil)
            guard case .signedIn = ending else {
                Issue.record("not signed in")
                return
            }
            record.revision += 1
        }
        #expect(try await store.revokeSession(isItsOwn ? first.tokenHash : elsewhere.tokenHash))
        var late = try Records.session()
        late.isAudited = true
        #expect(
            try await store.endBackchannelAuthentication(
                record, with: Records.signIn(identity, session: late), givingBackTo: nil) == .sessionEnded)
        #expect(try await store.auditEvents(AuditQuery(kind: .sessionCreated)).count == 2)
        #expect(try await store.session(late.tokenHash, at: now) == nil)
        withExtendedLifetime(holding) {}
    }

    @Test("Each caller has its own limit", arguments: StoreKind.all)
    func perCaller(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        var limits = BackchannelSettings()
        limits.perCaller = 2
        #expect(try await add(record(), limits: limits, to: store) == nil)
        #expect(try await add(record(), limits: limits, to: store) == nil)
        let refused = try record()
        #expect(try await add(refused, limits: limits, to: store) == .tooManyOfCaller)
        #expect(try await store.backchannelAuthentication(handle: refused.handle, at: now) == nil)
        #expect(try await add(record(caller: 2), limits: limits, to: store) == nil)
        let later = now.advanced(bySeconds: 900)
        #expect(try await add(record(lifetime: 2000), limits: limits, at: later, to: store) == nil)
        withExtendedLifetime(holding) {}
    }

    @Test("A user has at most the allowed number of pending requests, at whichever network", arguments: StoreKind.all)
    func perUser(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        var limits = BackchannelSettings()
        limits.pendingPerUser = 1
        let hint = "+12025550123"
        var first = try record(loginHint: hint)
        #expect(try await add(first, limits: limits, to: store) == nil)
        let second = try record(caller: 2, loginHint: hint)
        #expect(try await add(second, limits: limits, to: store) == .tooManyPendingForUser)
        #expect(
            try await add(record(loginHint: hint, network: "310010"), limits: limits, to: store)
                == .tooManyPendingForUser)
        #expect(try await add(record(), limits: limits, to: store) == nil)
        first.phase = .cancelled
        #expect(try await store.replaceBackchannelAuthentication(first))
        #expect(try await add(second, limits: limits, to: store) == nil)
        let third = try record(loginHint: hint, lifetime: 900)
        #expect(try await add(third, limits: limits, to: store) == .tooManyPendingForUser)
        #expect(try await add(third, limits: limits, at: now.advanced(bySeconds: 300), to: store) == nil)
        withExtendedLifetime(holding) {}
    }

    @Test("A carrier has at most the allowed number of pending records, of all callers", arguments: StoreKind.all)
    func perCarrier(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        var limits = BackchannelSettings()
        limits.pendingPerCarrier = 2
        var first = try record(caller: 1)
        #expect(try await add(first, limits: limits, to: store) == nil)
        #expect(try await add(record(caller: 2), limits: limits, to: store) == nil)
        let third = try record(caller: 3)
        #expect(try await add(third, limits: limits, to: store) == .tooManyPendingAtProvider)
        #expect(try await store.backchannelAuthentication(handle: third.handle, at: now) == nil)
        #expect(try await add(record(network: "310010"), limits: limits, to: store) == nil)
        #expect(try await add(record { $0.provider = "other" }, limits: limits, to: store) == nil)
        first.phase = .approved
        #expect(try await store.replaceBackchannelAuthentication(first))
        #expect(try await add(third, limits: limits, to: store) == nil)
        let fourth = try record(caller: 4, lifetime: 900)
        #expect(try await add(fourth, limits: limits, to: store) == .tooManyPendingAtProvider)
        #expect(try await add(fourth, limits: limits, at: now.advanced(bySeconds: 300), to: store) == nil)
        withExtendedLifetime(holding) {}
    }

    @Test("A caller has at most its part of a carrier's pending records, also with retries", arguments: StoreKind.all)
    func perCallerAtCarrier(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        var limits = BackchannelSettings()
        limits.pendingPerCaller = 2
        var first = try record()
        #expect(try await add(first, promptCaller: 7, limits: limits, to: store) == nil)
        let second = try record()
        #expect(try await add(second, promptCaller: 7, limits: limits, to: store) == nil)
        let third = try record()
        #expect(try await add(third, promptCaller: 7, limits: limits, to: store) == .tooManyPendingOfCaller)
        #expect(try await store.backchannelAuthentication(handle: third.handle, at: now) == nil)
        #expect(try await add(record(), promptCaller: 8, limits: limits, to: store) == nil)
        #expect(try await add(record(network: "310010"), promptCaller: 7, limits: limits, to: store) == nil)
        // A record does not stand in its own way, but others do.
        let own = try prompt(of: second, 7)
        #expect(try await store.admitBackchannelRequest(of: second, for: own, limits: limits, at: now) == nil)
        first.phase = .failed
        #expect(try await store.replaceBackchannelAuthentication(first))
        #expect(try await add(third, promptCaller: 7, limits: limits, to: store) == nil)
        #expect(
            try await store.admitBackchannelRequest(of: first, for: prompt(of: first, 7), limits: limits, at: now)
                == .tooManyPendingOfCaller)
        withExtendedLifetime(holding) {}
    }

    @Test("Prompts count over time, those of cancelled and removed records too", arguments: StoreKind.all)
    func overTime(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let allowance = SharedAllowance(count: 3, seconds: 3_000)
        let hint = "+12025550123"
        for caller in 1...3 {
            var asked = try record(caller: UInt8(caller), loginHint: hint, lifetime: 10)
            #expect(try await add(asked, allowance: allowance, to: store) == nil)
            asked.phase = .cancelled
            #expect(try await store.replaceBackchannelAuthentication(asked))
        }
        let later = now.advanced(bySeconds: 700)
        #expect(try await store.purgeExpired(at: later, limit: 10) == 3)
        let fourth = try record(caller: 4, loginHint: hint, lifetime: 2_000)
        #expect(
            try await add(fourth, allowance: allowance, at: later, to: store) == .promptedTooOften(secondsToWait: 300))
        #expect(
            try await store.admitBackchannelRequest(
                of: fourth, for: prompt(of: fourth, nil, allowance), limits: BackchannelSettings(),
                at: later) == .promptedTooOften(secondsToWait: 300))
        #expect(try await store.backchannelAuthentication(handle: fourth.handle, at: later) == nil)
        #expect(try await add(record(lifetime: 2_000), allowance: allowance, at: later, to: store) == nil)
        let free = now.advanced(bySeconds: 1_000)
        #expect(try await add(fourth, allowance: allowance, at: free, to: store) == nil)
        // The counts go when they count no more: of two users, and of five callers for a user; and the two records.
        #expect(try await store.purgeExpired(at: now.advanced(bySeconds: 7_000), limit: 10) == 9)
        withExtendedLifetime(holding) {}
    }

    @Test(
        "One caller has half of the prompts of a user, rounded up, and one refused to it counts for nobody",
        arguments: StoreKind.engines)
    func halfOfCaller(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let allowance = SharedAllowance(count: 5, seconds: 3_000)
        var limits = BackchannelSettings()
        limits.pendingPerUser = 100
        func add(_ caller: UInt8) async throws -> PromptRefusal? {
            try await self.add(
                record(caller: caller, loginHint: "1", lifetime: 1), allowance: allowance, limits: limits,
                to: store)
        }
        for _ in 0..<3 { #expect(try await add(1) == nil) }
        for _ in 0..<3 { #expect(try await add(1) == .promptedTooOften(secondsToWait: 1_000)) }
        for _ in 0..<2 { #expect(try await add(2) == nil) }
        for caller in 2...4 { #expect(try await add(UInt8(caller)) == .promptedTooOften(secondsToWait: 600)) }
        withExtendedLifetime(holding) {}
    }

    @Test("A prompt that is taken back counts neither for the user nor for the caller", arguments: StoreKind.engines)
    func takenBack(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let allowance = SharedAllowance(count: 2, seconds: 3_000)
        var limits = BackchannelSettings()
        limits.pendingPerUser = 100
        for number in 0..<5 {
            let refused = try record(caller: 1, loginHint: "1", lifetime: 1)
            #expect(try await add(refused, allowance: allowance, limits: limits, to: store) == nil, "\(number)")
            try await store.takeBack(prompt(of: refused, nil, allowance))
        }
        for caller in [UInt8(1), 2] {
            let shown = try record(caller: caller, loginHint: "1", lifetime: 1)
            #expect(try await add(shown, allowance: allowance, limits: limits, to: store) == nil)
        }
        let late = try record(caller: 3, loginHint: "1", lifetime: 1)
        #expect(
            try await add(late, allowance: allowance, limits: limits, to: store)
                == .promptedTooOften(secondsToWait: 1_500))
        // Without an allowance, or of a user who was never prompted, nothing changes.
        try await store.takeBack(prompt(of: late))
        try await store.takeBack(prompt(of: record(), nil, allowance))
        #expect(
            try await add(late, allowance: allowance, limits: limits, to: store)
                == .promptedTooOften(secondsToWait: 1_500))
        withExtendedLifetime(holding) {}
    }

    @Test(
        "The prompts of one caller count for all users together, and no longer once their users approve",
        arguments: StoreKind.all)
    func totalOfCaller(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let allowance = SharedAllowance(count: 2, seconds: 3_000)
        func prompt(_ record: BackchannelAuthenticationRecord) -> BackchannelPrompt {
            BackchannelPrompt(
                user: TokenHash(sha256Of: record.terms.carrier?.loginHint.text.exposed ?? ""),
                quota: PromptQuota(caller: record.caller, perCaller: allowance))
        }
        func add(_ record: BackchannelAuthenticationRecord) async throws -> PromptRefusal? {
            try await store.addBackchannelAuthentication(
                record, for: prompt(record), limits: BackchannelSettings(), at: now)
        }
        var approved = try record(caller: 1, loginHint: "jane")
        #expect(try await add(approved) == nil)
        let other = try record(caller: 1, loginHint: "jane+1")
        #expect(try await add(other) == nil)
        let third = try record(caller: 1, loginHint: "jane+2")
        #expect(try await add(third) == .tooManyPromptsOfCaller(secondsToWait: 1_500))
        #expect(try await add(record(caller: 2, loginHint: "jane+2")) == nil)

        // A request that did not reach the user counts no longer.
        try await store.takeBack(prompt(other))
        #expect(try await add(third) == nil)
        let fourth = try record(caller: 1, loginHint: "jane+3")
        #expect(try await add(fourth) == .tooManyPromptsOfCaller(secondsToWait: 1_500))

        // Nor does one whose user approved it, and only if the end is stored.
        approved.phase = .done
        let identity = Records.identity()
        for expected in [nil, PromptRefusal.tooManyPromptsOfCaller(secondsToWait: 1_500)] {
            let signIn = try Records.signIn(identity, session: Records.session())
            _ = try await store.endBackchannelAuthentication(approved, with: signIn, givingBackTo: allowance)
            #expect(try await add(record(caller: 1, loginHint: "jane+3")) == expected)
        }
        withExtendedLifetime(holding) {}
    }

    @Test("One caller has half of the requests that may be pending for a user", arguments: StoreKind.engines)
    func pendingOfCaller(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        func add(_ caller: UInt8) async throws -> PromptRefusal? {
            try await self.add(record(caller: caller, loginHint: "1"), to: store)
        }
        for _ in 0..<2 { #expect(try await add(1) == nil) }
        #expect(try await add(1) == .tooManyPendingForUser)
        #expect(try await add(2) == nil)
        #expect(try await add(2) == .tooManyPendingForUser)
        withExtendedLifetime(holding) {}
    }

    @Test("Of many requests at once no more are counted than allowed", arguments: StoreKind.all)
    func atOnce(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let allowance = SharedAllowance(count: 4, seconds: 3_000)
        let added = try await withThrowingTaskGroup(of: Bool.self) { group in
            for caller in UInt8(1)...12 {
                group.addTask {
                    try await add(
                        record(caller: caller, loginHint: "1", lifetime: 1), allowance: allowance,
                        limits: {
                            var limits = BackchannelSettings()
                            limits.pendingPerUser = 100
                            return limits
                        }(), to: store) == nil
                }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(added == 4)
        withExtendedLifetime(holding) {}
    }

    @Test("Ended records are removed, and no others", arguments: StoreKind.all)
    func purge(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let (old, young) = (try record(lifetime: 10), try record(lifetime: 1000))
        _ = try await add(old, to: store)
        _ = try await add(young, to: store)
        #expect(try await store.purgeExpired(at: old.removedAt.advanced(bySeconds: -1), limit: 10) == 0)
        #expect(try await store.purgeExpired(at: old.removedAt, limit: 10) == 1)
        #expect(try await store.backchannelAuthentication(handle: young.handle, at: now) != nil)
        withExtendedLifetime(holding) {}
    }

    @Test("A record survives a restart")
    func reopened() async throws {
        let directory = try TemporaryDirectory()
        let configuration = SQLiteConfiguration(path: directory.file("store.db"))
        let record = try record()
        let store = try SQLStore(configuration: configuration)
        _ = try await add(record, to: store)
        try await store.close()
        let again = try SQLStore(configuration: configuration)
        #expect(try await again.backchannelAuthentication(handle: record.handle, at: now) == record)
        try await again.close()
    }
}
