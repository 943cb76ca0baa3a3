import LatchkeyConfiguration
package import OpenIDConnect
package import Primitives
package import SignIn
import Storage
import StorageModel

/// Firebase Phone Number Verification, of one project: Google's library on Android gets a token for the number of the
/// SIM, and the app brings it. The token is an ID token of this server's own audience, whose subject is the number.
///
/// Numbers are given to other people. So by default a number signs in to an account only after its user has added the
/// number as an identity, and only as long as it is the account's verified number.
package struct FirebaseNumbers: ServerGroup {
    /// The provider's name in paths.
    let provider: String
    let server: AuthorizationServer
    let rules: FirebaseNumberRules
    let store: SQLStore
    let oneTimeStore: EncryptedOneTimeStore

    package var kind: ProviderKind { .firebasePNV }
    package var servers: [String: AuthorizationServer] { ["": server] }
    package var otherParties: [String: RelyingParty] { [:] }

    package func check(_ request: SignInRequest) throws(SignInError) {
        guard request.standsInForCode else { throw .tokenOfFirebaseNeeded }
        try server.client(nil)?.rules.native.check(request)
    }

    package func verifyUser(
        of run: SignInRun, at provider: ProviderMetadata
    ) async throws(SignInError) -> VerifiedSignIn {
        let (number, use) = try await proof(of: run, at: provider)
        let identity = Identity(ofNumber: number, from: provider.issuer)
        // The session of a link is the proof that the number lacks.
        let networks = MobileNetworks(run.environment.providers)
        let found = run.kind == .signIn ? try await admit(number, as: identity, networks) : nil
        try await takeNonce(of: run)
        if let found {
            // First, so that a used token adds nothing.
            try await oneTimeStore.spend(use)
            guard try await add(identity, of: number, to: found, networks, run) else { throw .numberOfOtherAccount }
        }
        return VerifiedSignIn(
            identity, UserInfo(verified: number), provenPhoneNumber: number.text, tokenUse: found == nil ? use : nil)
    }

    /// The number of a token, and what marks the token as used. Nothing is stored.
    /// - Throws: `invalid_id_token` with the check that failed; what a request for the keys throws.
    func proof(
        of run: SignInRun, at provider: ProviderMetadata
    ) async throws(SignInError) -> (number: MSISDN, use: TokenUse) {
        let (token, number) = try await mappingErrors(awaiting: await verified(run, provider)) { (error: OIDCError) in
            // Firebase is not asked, so the token can be sent again.
            altered(SignInError(error)) { $0.codeMayBeSpent = false }
        }
        return (number, oneTimeStore.use(of: token, in: run, orThrow: .tokenOfFirebaseUsed))
    }

    /// Spends the nonce, if it must be one that this server issued.
    func takeNonce(of run: SignInRun) async throws(SignInError) {
        guard run.client.rules.native.nonce == .issued else { return }
        try await store.takeIssuedNonce(of: run.request, at: run.environment.clock.now())
    }

    private func verified(
        _ run: SignInRun, _ provider: ProviderMetadata
    ) async throws(OIDCError) -> (VerifiedIDToken, MSISDN) {
        let expectation = run.expectation(nonce: run.request.nonce, accessToken: nil)
        let token = try await run.validate(run.request.code, expectation, from: provider)
        guard let number = MSISDN(token.subject) else { throw .failed(.subject) }
        return (token, number)
    }
}

/// Whom a number signs in.
extension FirebaseNumbers {
    /// The identity that a number is, and the accounts whose number it is, verified by a mobile network.
    private struct Holders: Equatable {
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
    /// number of the identity's user: it may have been given to somebody else.
    /// - Returns: The one account that the number is to be added to; nil for the holder of the identity, or a new user.
    private func admit(
        _ number: MSISDN, as identity: Identity, _ networks: MobileNetworks
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
        _ identity: Identity, of number: MSISDN, to found: Holders, _ networks: MobileNetworks, _ run: SignInRun
    ) async throws(SignInError) -> Bool {
        guard let user = found.users.first else { return false }
        let (now, requestID) = (run.environment.clock.now(), run.correlationID.text)
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

/// No browser is sent away.
extension FirebaseNumbers {
    package var taskFlow: FailedOperation.Flow { .phoneVerification }

    package func choose(
        for start: inout RedirectStart, _ correlationID: CorrelationID, in environment: Environment
    ) async throws(SignInError) -> SignInTarget { throw .tokenOfFirebaseNeeded }

    package func refusal(atAuthorization code: String) -> SignInError { .tokenOfFirebaseNeeded }
    package func refusal(ofPushedRequest error: OIDCError) -> SignInError { .tokenOfFirebaseNeeded }
    package func parameters(ofTask id: Secret) -> [(name: String, value: String)] { [] }

    package func finish(
        task id: Secret, with request: Result<SignInRequest, SignInError>, _ correlationID: CorrelationID,
        in environment: Environment
    ) async throws(SignInError) -> [(name: String, value: String)] { throw .tokenOfFirebaseNeeded }

    package func log(_ error: SignInError, ofTask correlationID: CorrelationID, in environment: Environment) {}
}

extension Provider {
    /// Nil for a provider of another kind.
    var firebaseNumbers: FirebaseNumbers? { group as? FirebaseNumbers }
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
