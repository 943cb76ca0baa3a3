import Primitives
import SignIn
import Storage
import StorageModel
import Testing

@testable import Administration
@testable import PhoneVerification

@Suite("Any store: verifications of phone numbers that wait for a confirmation")
struct PendingPhoneVerificationConformanceTests {
    private static let number = "+14155550101"
    private static let issuer = "https://op.example"

    /// A user with a session, and a verification of it.
    private struct Setting {
        let store: SQLStore
        let holding: any Sendable
        let user: UserID
        let session: String
        let pending: PhoneVerification
        let confirmation = Records.hash()

        init(_ kind: StoreKind, phoneNumber: String? = PendingPhoneVerificationConformanceTests.number) async throws {
            let (store, holding) = try kind.open()
            (self.store, self.holding) = (store, holding)
            let session = try Records.session(lifetime: 200_000, refreshLifetime: 200_000)
            user = try #require(try await store.signIn(Records.signIn(session: session))).user.id
            self.session = session.id
            pending = PhoneVerification(
                id: Records.hash(), user: user, session: session.id, phoneNumber: phoneNumber,
                operatorName: "northwind", time: Records.now.advanced(bySeconds: 600))
        }

        func begin() async throws { #expect(try await store.beginPhoneVerification(pending)) }

        /// Stores what the browser brought, good for 120 seconds.
        func add(_ status: PhoneVerification.Status = .verified, at now: Timestamp = Records.now) async throws -> Bool {
            let outcome = pending.ended(
                status, phoneNumber: PendingPhoneVerificationConformanceTests.number, simSwapped: false, at: now)
            return try await store.addPhoneVerificationFinding(
                outcome, by: PendingPhoneVerificationConformanceTests.issuer, confirmation: confirmation,
                until: now.advanced(bySeconds: 120), at: now)
        }

        func confirm(
            _ confirmation: TokenHash? = nil, in session: String? = nil, at now: Timestamp = Records.now
        ) async throws -> Result<PhoneVerification, SignInError> {
            try await store.confirmPhoneVerification(
                pending.id, of: user, in: session ?? self.session, with: confirmation ?? self.confirmation, at: now,
                requestID: "r"
            ).map { confirmed in
                #expect(confirmed.formerHolders == [])
                return confirmed.outcome
            }
        }

        func state(at now: Timestamp = Records.now, in session: String? = nil) async throws -> PhoneVerification? {
            try await store.phoneVerification(
                pending.id, in: session ?? self.session, at: now)
        }

        var number: String? {
            get async throws { try await store.account(of: user)?.user.profile[.phoneNumber] }
        }

        func endSession() async throws {
            _ = try await store.revokeSession(id: session, of: user, in: nil, recording: nil)
        }
    }

    @Test(
        "What a browser brought takes effect by the confirmation, once, and only a confirmed number is the user's",
        arguments: StoreKind.engines, [PhoneVerification.Status.verified, .mismatch, .failed])
    func confirmed(kind: StoreKind, status: PhoneVerification.Status) async throws {
        let setting = try await Setting(kind)
        try await setting.begin()
        let other = PhoneVerification(
            id: Records.hash(), user: setting.user, session: setting.session, phoneNumber: Self.number,
            operatorName: "northwind", time: setting.pending.time)
        #expect(try await setting.store.beginPhoneVerification(other))
        #expect(try await setting.state() == setting.pending)
        #expect(try await setting.add(status))
        #expect(try await setting.add(status) == false, "a browser comes back once")
        #expect(try await setting.store.pendingPhoneVerification(setting.pending.id, at: Records.now) == nil)
        #expect(try await setting.state()?.status == .pending)
        #expect(try await setting.number == nil)
        let outcome = setting.pending.ended(status, phoneNumber: Self.number, simSwapped: false, at: Records.now)
        #expect(try await setting.confirm() == .success(outcome))
        #expect(try await setting.state() == outcome)
        #expect(try await setting.confirm() == .failure(.verificationEnded))
        #expect(try await setting.number == (status == .verified ? Self.number : nil))
        let events = try await setting.store.auditEvents(AuditQuery(kind: .phoneNumberVerified))
        #expect(events.map(\.event.user) == (status == .verified ? [setting.user] : []))
        #expect(try await setting.store.pendingPhoneVerification(other.id, at: Records.now) == other)
    }

    @Test("Another session can neither confirm nor read it", arguments: StoreKind.engines)
    func otherSession(kind: StoreKind) async throws {
        let setting = try await Setting(kind)
        try await setting.begin()
        #expect(try await setting.add())
        for _ in 0..<4 { #expect(try await setting.confirm(in: "another") == .failure(.noSuchVerification)) }
        #expect(try await setting.confirm(Records.hash(), in: "another") == .failure(.noSuchVerification))
        #expect(try await setting.state(in: "another") == nil)
        guard case .success = try await setting.confirm() else { return #expect(Bool(false), "not confirmed") }
    }

    @Test("The third wrong confirmation ends it", arguments: StoreKind.engines)
    func wrong(kind: StoreKind) async throws {
        let setting = try await Setting(kind, phoneNumber: nil)
        try await setting.begin()
        #expect(try await setting.confirm() == .failure(.confirmationWrong), "the browser is not back")
        #expect(try await setting.add())
        let pending = PhoneVerification(
            id: setting.pending.id, user: setting.user, session: setting.session, phoneNumber: nil,
            operatorName: "northwind", time: Records.now.advanced(bySeconds: 120))
        #expect(try await setting.state() == pending, "the number is not shown")
        for _ in 0..<2 { #expect(try await setting.confirm(Records.hash()) == .failure(.confirmationWrong)) }
        #expect(try await setting.confirm() == .failure(.verificationEnded))
        #expect(try await setting.state() == setting.pending.failed("invalid_grant", at: Records.now))
        #expect(try await setting.number == nil)
    }

    @Test("It is read as failed for a day when it is too late, and is removed then", arguments: StoreKind.engines)
    func late(kind: StoreKind) async throws {
        let setting = try await Setting(kind)
        try await setting.begin()
        let end = setting.pending.time
        #expect(try await setting.state(at: end) == setting.pending.failed("expired_token", at: end))
        #expect(try await setting.add(at: end) == false)
        #expect(try await setting.store.pendingPhoneVerification(setting.pending.id, at: end) == nil)
        #expect(try await setting.add(at: end.advanced(bySeconds: -1)))
        let last = end.advanced(bySeconds: 119)
        #expect(try await setting.confirm(at: last) == .failure(.verificationEnded))
        let gone = last.advanced(bySeconds: PhoneVerification.retention)
        #expect(try await setting.state(at: gone.advanced(bySeconds: -1)) != nil)
        #expect(try await setting.state(at: gone) == nil)
        #expect(try await setting.store.purgeExpired(at: gone.advanced(bySeconds: -1), limit: 9) == 0)
        #expect(try await setting.store.purgeExpired(at: gone, limit: 9) == 1)
        #expect(try await setting.number == nil)
    }

    @Test("It dies with its session, at every step", arguments: StoreKind.engines, [0, 1, 2])
    func ended(kind: StoreKind, step: Int) async throws {
        let setting = try await Setting(kind)
        if step == 0 {
            try await setting.endSession()
            #expect(try await setting.store.beginPhoneVerification(setting.pending) == false)
            return #expect(try await setting.state() == nil)
        }
        try await setting.begin()
        if step == 2 { #expect(try await setting.add()) }
        try await setting.endSession()
        if step == 1 {
            #expect(try await setting.store.pendingPhoneVerification(setting.pending.id, at: Records.now) == nil)
            #expect(try await setting.add() == false)
        }
        #expect(try await setting.confirm() != .failure(.verificationEnded))
        guard case .success = try await setting.confirm() else {
            return #expect(try await setting.number == nil)
        }
        Issue.record("a session that has ended confirms")
    }
}
