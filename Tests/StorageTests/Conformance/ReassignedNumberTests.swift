import Primitives
import Storage
import StorageModel
import Testing

@testable import Administration
@testable import Registration

/// A phone number that a mobile network gives to somebody else.
@Suite("Any store: reassigned phone numbers")
struct ReassignedNumberTests {
    private static let number = "+14155550101"

    /// How the network's word about an identity arrives.
    enum Arrival: Sendable, CaseIterable { case signIn, registration, link }

    /// A user with the number, verified or not.
    private func owner(
        _ identity: Identity = Records.identity(), isVerified: Bool = true, number: String = number, in store: SQLStore
    ) async throws -> User {
        var record = try Records.signIn(identity, profile: [.phoneNumber: number])
        record.verified = [.phoneNumber: isVerified]
        return try #require(try await store.signIn(record)).user
    }

    private func isVerified(_ user: UserID, in store: SQLStore) async throws -> Bool {
        try await store.account(of: user)?.user.assertions?.phoneNumber != nil
    }

    /// - Returns: The former holders, where the store tells them.
    private func prove(_ identity: Identity, by arrival: Arrival, in store: SQLStore) async throws -> [UserID]? {
        switch arrival {
        case .signIn:
            var record = try Records.signIn(identity, profile: [.phoneNumber: Self.number])
            record.verified = [.phoneNumber: true]
            record.provenPhoneNumber = Self.number
            return try #require(try await store.signIn(record)).formerHolders
        case .registration:
            let pending = try Records.pending(identity, profile: [.phoneNumber: Self.number])
            return try await store.addPendingRegistration(pending, proof: (Self.number, Records.now, "corr-1"))
        case .link:
            let session = try Records.session()
            let user = try #require(try await store.signIn(Records.signIn(session: session))).user.id
            var link = IdentityLink(
                identity, to: user, holding: session.tokenHash, at: Records.now, limit: 9, requestID: "corr-1")
            link.provenPhoneNumber = Self.number
            guard case .linked = try await store.link(link) else {
                Issue.record("not linked")
                return nil
            }
            let linked = try await store.account(of: user)?.user
            #expect(linked?.profile[.phoneNumber] == Self.number)
            #expect(linked?.assertions?.phoneNumber?.issuer == identity.issuer)
            return nil
        }
    }

    @Test(
        "The former owner keeps the number and the account, and the number is no longer verified",
        arguments: StoreKind.engines, Arrival.allCases)
    func reassigned(kind: StoreKind, arrival: Arrival) async throws {
        let (store, holding) = try kind.open()
        let former = try await owner(in: store)
        let other = try await owner(number: "+14155550102", in: store)
        let unverified = try await owner(isVerified: false, in: store)
        let holders = try await prove(Records.identity(), by: arrival, in: store)
        #expect(holders ?? [former.id] == [former.id])
        #expect(try await isVerified(former.id, in: store) == false)
        #expect(try await store.account(of: former.id)?.user.profile[.phoneNumber] == Self.number)
        #expect(try await isVerified(other.id, in: store))
        let events = try await store.auditEvents(AuditQuery(kind: .phoneNumberReassigned))
        #expect(events.map(\.event.user) == [former.id])
        #expect(events.first?.event.details.json.contains("4155550101") == false)
        #expect(try await store.account(of: unverified.id)?.user.profile[.phoneNumber] == Self.number)
        withExtendedLifetime(holding) {}
    }

    @Test(
        "A number that another provider has written with separators is the same number", arguments: StoreKind.engines,
        ["+1 (415) 555-0101", "+1.415.555.0101", "+1-415-555-0101"])
    func withSeparators(kind: StoreKind, number: String) async throws {
        let (store, holding) = try kind.open()
        let former = try await owner(number: number, in: store)
        #expect(try await prove(Records.identity(), by: .signIn, in: store) == [former.id])
        #expect(try await isVerified(former.id, in: store) == false)
        #expect(try await store.account(of: former.id)?.user.profile[.phoneNumber] == number)
        withExtendedLifetime(holding) {}
    }

    @Test(
        "A registration that waits loses it as well, unless it is of the same identity",
        arguments: StoreKind.engines, Arrival.allCases)
    func waiting(kind: StoreKind, arrival: Arrival) async throws {
        let (store, holding) = try kind.open()
        let identity = Records.identity()
        var (former, own) = (
            try Records.pending(Records.identity(), profile: [.phoneNumber: Self.number]),
            try Records.pending(identity, profile: [.phoneNumber: Self.number])
        )
        (former.verified, own.verified) = ([.phoneNumber: true], [.phoneNumber: true])
        _ = try await store.addPendingRegistration(former)
        _ = try await store.addPendingRegistration(own)
        _ = try await prove(identity, by: arrival, in: store)
        let left = try await store.pendingRegistration(former.handle, at: Records.now)
        #expect(left?.profile[.phoneNumber] == Self.number)
        #expect(left?.verified[.phoneNumber] == nil)
        let kept = try await store.pendingRegistration(own.handle, at: Records.now)
        #expect(kept?.verified[.phoneNumber] == true)
        withExtendedLifetime(holding) {}
    }

    @Test("The number's own user keeps it verified, since the first time", arguments: StoreKind.engines)
    func again(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let identity = Records.identity()
        _ = try await prove(identity, by: .signIn, in: store)
        let user = try await owner(identity, in: store).id
        #expect(try await prove(identity, by: .signIn, in: store) == [])
        #expect(try await isVerified(user, in: store))
        #expect(try await store.auditEvents(AuditQuery(kind: .phoneNumberReassigned)).isEmpty)
        withExtendedLifetime(holding) {}
    }

    @Test("A provider that is no mobile network takes no number away", arguments: StoreKind.engines)
    func otherProviders(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let former = try await owner(in: store)
        _ = try await owner(in: store)
        #expect(try await isVerified(former.id, in: store))
        withExtendedLifetime(holding) {}
    }

    @Test("A sign-in that is refused takes no number away", arguments: StoreKind.engines)
    func refused(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let former = try await owner(in: store)
        var record = SignInRecord(
            identity: Records.identity(), profile: [.phoneNumber: Self.number], session: try Records.session(),
            newcomers: .mustRegister)
        record.provenPhoneNumber = Self.number
        #expect(try await store.signIn(record) == nil)
        #expect(try await isVerified(former.id, in: store))
        withExtendedLifetime(holding) {}
    }
}
