import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel

/// Whom a number signs in at a provider that tells no subject but the number.
///
/// Numbers are given to other people. So by default a number signs in to an account only after its user has added the
/// number as an identity, and only as long as it is the account's verified number.
struct NumberSignIns: Sendable {
    let rules: NumberSignInRules
    let store: SQLStore
    let oneTimeStore: EncryptedOneTimeStore

    /// A number that may sign in.
    struct Admitted {
        let number: MSISDN
        let identity: Identity
        fileprivate let networks: MobileNetworks
        /// The one account that the number is to be added to; nil for the holder of the identity, or a new user.
        fileprivate let found: Holders?
    }

    /// The identity that a number is, and the accounts whose number it is, verified by a mobile network.
    fileprivate struct Holders: Equatable {
        let identity: IdentityStatus
        let users: [UserID]

        init(_ number: MSISDN, _ identity: Identity, _ networks: MobileNetworks, in db: SQLSession) throws {
            self.identity = try IdentitiesTable.status(of: identity, in: db)
            let verified = try db.all(
                "SELECT id, phone_number_verified_by FROM users WHERE \(ReassignedNumber.isVerified())", number.text
            ) { row in (user: row.user(0), issuer: row.optionalText(1)) }
            users = verified.filter { networks.contain($0.issuer) }.map(\.user)
        }
    }

    /// Refuses a number that is no identity, unless the rules say otherwise; and one that is no longer the verified
    /// number of the identity's user: it may have been given to somebody else. The session of a link is the proof that
    /// the number lacks.
    func admit(_ number: MSISDN, from issuer: String, in run: SignInRun) async throws(SignInError) -> Admitted {
        let identity = Identity(ofNumber: number, from: issuer)
        let networks = MobileNetworks(run.environment.providers)
        let found = run.kind == .signIn ? try await holders(of: number, as: identity, networks) : nil
        return Admitted(number: number, identity: identity, networks: networks, found: found)
    }

    /// The user of a number, to whose account it is added if it is to be.
    /// - Parameter use: Marks the proof of the number as used, if that is not done yet.
    func user(
        of admitted: Admitted, in run: SignInRun, _ use: TokenUse? = nil
    ) async throws(SignInError) -> VerifiedSignIn {
        if let found = admitted.found {
            // First, so that a used proof adds nothing.
            if let use { try await oneTimeStore.spend(use) }
            guard try await add(admitted, to: found, run) else { throw .numberOfOtherAccount }
        }
        return VerifiedSignIn(
            admitted.identity, UserInfo(verified: admitted.number), provenPhoneNumber: admitted.number.text,
            tokenUse: admitted.found == nil ? use : nil)
    }

    private func holders(
        of number: MSISDN, as identity: Identity, _ networks: MobileNetworks
    ) async throws(SignInError) -> Holders? {
        let found = try await mappingStoreErrors(
            await store.reads.submit { db in try Holders(number, identity, networks, in: db) })
        switch (found.identity, found.users.first) {
        case (.live(let user), _) where !found.users.contains(user): throw .numberNotVerified
        // The store refuses an identity that an account was moved away from.
        case (.live, _), (.moved, _): return nil
        case (.unknown, nil):
            guard rules.registersUnknown else { throw .numberOfNoAccount }
            return nil
        case (.unknown, _?):
            guard rules.signsInKnown, found.users.count == 1 else { throw .numberOfOtherAccount }
            return found
        }
    }

    /// Adds the number as an identity to the account that has verified it.
    /// - Returns: False if that has changed meanwhile, and then nothing was stored.
    private func add(
        _ admitted: Admitted, to found: Holders, _ run: SignInRun
    ) async throws(SignInError) -> Bool {
        guard let user = found.users.first else { return false }
        let (now, requestID) = (run.environment.clock.now(), run.correlationID.text)
        let (number, identity, networks) = (admitted.number, admitted.identity, admitted.networks)
        let locks: [WriteLock] = [.user(user), .phoneNumber(number.text)]
        return try await mappingStoreErrors(
            await store.writes.submit(locking: locks) { db in
                guard try Holders(number, identity, networks, in: db) == found else { return false }
                try IdentitiesTable.insert(identity, of: user, at: now, in: db)
                try AuditTable.insert(
                    AuditEvent(
                        at: now, .identityLinked, user: user, by: .latchkey, requestID: requestID,
                        details: AuditDetails { json in
                            json.add("identity", identity.fingerprint)
                            json.add("issuer", identity.issuer)
                        }), in: db)
                return true
            })
    }
}

/// The issuers that know whose a number is. Other providers repeat what users or administrators tell them.
struct MobileNetworks: Sendable {
    private let issuers: Set<String>
    private let carriers: [TrustedHosts]

    init(_ providers: Providers) {
        issuers = Set(
            providers.all.flatMap { $0.group?.servers.values.map(\.relyingParty.configuration.discovery) ?? [] }
                .compactMap { discovery in
                    switch discovery {
                    case .ofIssuer(let issuer): issuer.text
                    case .fixed(let metadata): metadata.issuer
                    case .byNetwork: nil
                    }
                })
        carriers = providers.all.filter { $0.carriers != nil }
            .compactMap { $0.server?.relyingParty.configuration.trustedHosts }
    }

    func contain(_ issuer: String?) -> Bool {
        guard let issuer else { return false }
        guard !issuers.contains(issuer) else { return true }
        guard let host = EndpointURL(issuer, policy: .allowLoopbackHTTP)?.host else { return false }
        return carriers.contains { $0.contains(host) }
    }
}

extension Identity {
    /// The identity of a user of whom only the number is known. It may become another person's one day. No ID token can
    /// have this subject: it has a space (``IDTokenCheck/subject``).
    init(ofNumber number: MSISDN, from issuer: String) {
        self.init(issuer: issuer, subject: "number " + number.text)
    }
}

extension UserInfo {
    /// A number that was proven.
    init(verified number: MSISDN) {
        self.init()
        attributes[.phoneNumber] = number.text
        self.verified[.phoneNumber] = true
    }
}
