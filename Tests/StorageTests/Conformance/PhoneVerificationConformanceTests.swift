import Primitives
import Storage
import StorageModel
import Testing

@testable import Administration
@testable import PhoneVerification

@Suite("Any store: verifications of phone numbers")
struct PhoneVerificationConformanceTests {
    private static let number = "+14155550101"

    private func verification(
        _ user: UserID, _ session: String, _ status: PhoneVerification.Status, id: TokenHash = Records.hash()
    ) -> PhoneVerification {
        PhoneVerification(
            id: id, user: user, session: session, phoneNumber: Self.number, operatorName: "northwind", status: status,
            simSwapped: status == .failed ? true : nil, error: status == .failed ? "sim_swapped" : nil,
            time: Records.now)
    }

    @Test(
        "An outcome is read by its session, for a day, and only a confirmed number is the user's",
        arguments: StoreKind.engines, [PhoneVerification.Status.verified, .mismatch, .failed])
    func outcome(kind: StoreKind, status: PhoneVerification.Status) async throws {
        let (store, holding) = try kind.open()
        let session = try Records.session(lifetime: 200_000, refreshLifetime: 200_000)
        let user = try #require(try await store.signIn(Records.signIn(session: session))).user.id
        let verification = verification(user, session.id, status)
        func read(_ id: TokenHash, _ session: String, _ now: Timestamp) async throws -> PhoneVerification? {
            try await store.phoneVerification(id, in: session, at: now)
        }
        #expect(try await store.addPhoneVerification(verification, by: "https://op.example", requestID: "r") == [])
        let last = Records.now.advanced(bySeconds: PhoneVerification.retention - 1)
        #expect(try await read(verification.id, session.id, last) == verification)
        #expect(try await read(verification.id, "another", last) == nil)
        #expect(try await read(Records.hash(), session.id, last) == nil)
        let end = last.advanced(bySeconds: 1)
        #expect(try await read(verification.id, session.id, end) == nil)
        let found = try #require(try await store.account(of: user)).user
        let isVerified = status == .verified
        #expect(found.profile[.phoneNumber] == (isVerified ? Self.number : nil))
        let expected = isVerified ? Verification(at: Records.now, by: "https://op.example") : nil
        #expect(found.assertions?.phoneNumber == expected)
        #expect(
            try await store.auditEvents(AuditQuery(kind: .phoneNumberVerified)).map(\.event.user)
                == (isVerified ? [user] : []))
        #expect(try await store.purgeExpired(at: end, limit: 9) == 1)
        withExtendedLifetime(holding) {}
    }

    @Test("A session that has ended meanwhile stores nothing", arguments: StoreKind.engines)
    func ended(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let user = try #require(try await store.signIn(Records.signIn())).user.id
        let verification = verification(user, "another", .verified)
        #expect(try await store.addPhoneVerification(verification, by: "https://op.example", requestID: nil) == nil)
        #expect(try await store.account(of: user)?.user.profile[.phoneNumber] == nil)
        #expect(
            try await store.phoneVerification(verification.id, in: "another", at: Records.now) == nil)
        withExtendedLifetime(holding) {}
    }

    @Test("A use counts for all of its keys, or for none", arguments: StoreKind.engines)
    func count(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let allowance = SharedAllowance(count: 2, seconds: 60)
        func uses(_ holders: [String]) -> [AllowanceUse] { holders.map { AllowanceUse(of: $0, allowance) } }
        func count(_ holders: [String]) async throws -> Int64? {
            try await store.count(uses(holders), at: Records.now)
        }
        func wait(_ holders: [String]) async throws -> Int64? {
            try await store.wait(for: uses(holders), at: Records.now)
        }
        for _ in 0..<2 {
            #expect(try await wait(["user", "number"]) == nil)
            #expect(try await count(["user", "number"]) == nil)
        }
        #expect(try await count(["other", "number"]) == 30)
        #expect(try await wait(["other", "number"]) == 30)
        for _ in 0..<2 { #expect(try await count(["other"]) == nil) }
        #expect(try await count(["other"]) == 30)
        // Each has an allowance of its own.
        let half = [AllowanceUse(of: "half", allowance.half), AllowanceUse(of: "whole", allowance)]
        #expect(try await store.count(half, at: Records.now) == nil)
        #expect(try await store.count(half, at: Records.now) == 60)
        #expect(try await count(["whole"]) == nil)
        withExtendedLifetime(holding) {}
    }
}
