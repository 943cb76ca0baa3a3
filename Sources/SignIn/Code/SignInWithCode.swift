import Logging
package import OpenIDConnect
package import Primitives
package import StorageModel

/// Signs a user in with the authorization code that an app got from a provider.
///
/// ```swift
/// switch try await signIn(request) {
/// case .signedIn(let signedIn): …  // the session's tokens, for the app
/// case .mustRegister(let offer): …  // a handle, for the registration
/// }
/// ```
package struct SignInWithCode: Sendable {
    let environment: Environment
    let store: any SignInStore & OneTimeRecordStore
    let idempotency: Idempotency
    let completion: SignInCompletion

    /// Finds or creates the user that a code belongs to, and starts a session.
    ///
    /// A retry of the same request within the retry window gets a new session of the same user. The provider is not
    /// asked again, even if another instance did the first sign-in: a code is posted once.
    /// - Throws: ``SignInError`` with the code of docs/errors.md for what was wrong: with the request, with the
    ///   provider's response (naming the check that failed), or with the store.
    package func callAsFunction(_ request: SignInRequest) async throws(SignInError) -> SignInOutcome {
        try await environment.perform(request, as: .signIn) { (run) async throws(SignInError) in
            let outcome: SignInOutcome
            if let verifier = run.verifier, verifier.isForOneUse {
                let provider = try await run.discoverProvider()
                outcome = try await startSession(try await verifier.verifyUser(of: run, at: provider), run, nil)
            } else {
                switch try await idempotency.begin(run) {
                case .proceed(let turn): outcome = try await signInOnce(run, turn)
                case .replay(let earlier, let turn): outcome = try await replay(earlier, run, turn)
                }
            }
            run.log.user = outcome.user
            return (outcome, SignInReport.Outcome(outcome))
        }
    }

    /// The first run: redeems the code, then starts the session.
    private func signInOnce(_ run: SignInRun, _ turn: Idempotency.Turn) async throws(SignInError) -> SignInOutcome {
        var turn = turn
        let verified: VerifiedSignIn
        do throws(SignInError) {
            verified = try await verifyAtProvider(run, &turn)
        } catch {
            let (outcome, turn) = try await idempotency.finish(turn, error, of: run)
            return try await replay(outcome, run, turn)
        }
        do throws(SignInError) {
            return try await startSession(verified, run, turn)
        } catch {
            // The provider has vouched for the user: a retry continues from here.
            idempotency.finish(turn, .verified(verified, isUnknown: false))
            throw error
        }
    }

    /// A retry: starts another session for what the first run brought.
    /// Not inlined: its variables would have their place in the memory of every sign-in.
    @inline(never)
    private func replay(
        _ earlier: Idempotency.Outcome, _ run: SignInRun, _ turn: Idempotency.Turn
    ) async throws(SignInError) -> SignInOutcome {
        switch earlier {
        case .verified(let verified, _): return try await startSession(verified, run, turn)
        case .signedIn(let session):
            run.begin(.store)
            let (tokens, isNewUser) = try await completion.sessions.start(
                besides: session, clientID: run.client.id.text, on: run.request.device)
            return .signedIn(
                SignedIn(
                    tokens: tokens, userID: session.user, isNew: isNewUser, correlationID: run.correlationID,
                    isRepeated: true))
        }
    }

    /// Discovery, nonce, token request, ID token validation, and the user's attributes if they are asked for.
    private func verifyAtProvider(
        _ run: SignInRun, _ turn: inout Idempotency.Turn
    ) async throws(SignInError) -> VerifiedSignIn {
        let provider = try await run.discoverProvider()
        // After discovery, so that a failed discovery does not cost the nonce.
        if run.usesIssuedNonce, turn.nonceTakenAt == nil {
            run.begin(.attempt)
            try await store.takeIssuedNonce(of: run.request, at: environment.clock.now())
            turn.nonceTakenAt = environment.clock.now()
        }
        if let verifier = run.verifier { return try await verifier.verifyUser(of: run, at: provider) }
        return try await run.verifyUser(try await run.exchangeCode(at: provider), from: provider)
    }

    /// Finds or creates the user, moves the account of a user who changed carriers, and stores the session: one commit.
    private func startSession(
        _ verified: VerifiedSignIn, _ run: SignInRun, _ turn: Idempotency.Turn?
    ) async throws(SignInError) -> SignInOutcome {
        let ported = try await completion.formerIdentities(of: verified, in: run)
        run.begin(.store)
        let (started, record) = completion.begin(
            verified, of: run.request.provider.text, for: run.client.id.text, on: run.request.device,
            asking: run.scopes, run.correlationID
        ) { record in
            record.portedFrom = ported
            record.idempotency = turn?.record(at: environment.clock.now())
            record.commitDelay = AllowedCommitDelay.nanoseconds(after: run.log.times.elapsed)
        }
        let signedIn = try await mappingStoreErrors(await store.signIn(record))
        // Nil: the store has created no session. The token in place of a code was used before, or the user must
        // register, has signed out since, or was moved.
        guard let signedIn else {
            if let use = verified.tokenUse { try await completion.oneTimeStore.spend(use) }
            switch try await completion.store.status(of: verified.identity) {
            case .unknown where completion.mustRegister: break
            case .live: throw .signedOutSince
            default: throw .identityMoved
            }
            let offer = try await completion.offer(
                to: verified, of: run.request.provider.text, for: run.client.id.text, run.correlationID,
                codeChallenge: run.request.registrationChallenge)
            idempotency.finish(turn, .verified(verified, isUnknown: true))
            return .mustRegister(offer)
        }
        run.log.hasMoved = signedIn.wasMoved
        let ended = completion.end(started, by: signedIn, run.correlationID)
        // `given` is the session that the stored record gives to retries, also at other instances.
        idempotency.finish(turn, signedIn.given.map { .signedIn($0) } ?? .verified(verified, isUnknown: false))
        return .signedIn(ended)
    }
}

extension SignInWithCode {
    /// Redeems a code without signing anyone in, for a feature's use case of a signed-in user.
    /// - Parameter session: The id of the user's session. A retry in another session is another request.
    package func verify(_ run: SignInRun, ofSession session: String) async throws(SignInError) -> VerifiedSignIn {
        let outcome: Idempotency.Outcome
        switch try await idempotency.begin(run, ofSession: session) {
        case .replay(let earlier, _): outcome = earlier
        case .proceed(var turn):
            do throws(SignInError) {
                outcome = .verified(try await verifyAtProvider(run, &turn), isUnknown: false)
                idempotency.finish(turn, outcome)
            } catch {
                (outcome, _) = try await idempotency.finish(turn, error, of: run)
            }
        }
        // It never ends with a session: its idempotency key differs from a sign-in's.
        guard case .verified(let verified, _) = outcome else { throw .internalFault }
        if let use = verified.tokenUse { try await completion.oneTimeStore.spend(use) }
        return verified
    }

    package var waitingCount: Int { idempotency.waiterCount }
}

/// For how long the store may delay the commit of a sign-in for other sign-ins that share its flush to disk.
enum AllowedCommitDelay {
    private static let shortestSignIn: UInt64 = 20_000_000
    private static let longest: UInt64 = 5_000_000

    /// A twentieth of the time that the sign-in has taken, mostly for its provider, and at most 5 ms. A sign-in of less
    /// than 20 ms allows none: a wait in the store would cost more than it saves.
    /// - Parameter elapsed: Nanoseconds since the sign-in began.
    static func nanoseconds(after elapsed: UInt64) -> UInt64 {
        elapsed < shortestSignIn ? 0 : min(elapsed / 20, longest)
    }
}

/// What every sign-in ends with once a provider has vouched for the user: by code, by redirects or on the backchannel.
///
/// The use case begins the session, stores it in its own commit, and ends the sign-in with what the store says.
package struct SignInCompletion: Sendable {
    /// A session that is not stored yet.
    package struct Started {
        let issued: IssuedSession
        let ticket: SessionCache.Ticket
    }

    package let environment: Environment
    package let sessions: Sessions
    package let registrar: (any Registrar)?
    package let store: any IdentityStore
    package let vault: TokenVault
    package let claimsVault: ClaimsVault
    package let oneTimeStore: EncryptedOneTimeStore
    /// Those of the features; without one, no account moves.
    let formerIdentitySources: [FormerIdentitySource]

    /// Whether a user who is unknown must register.
    package var mustRegister: Bool { registrar?.isRequired ?? false }

    /// The identities whose account may move to that of a sign-in, with the proofs of that.
    package func formerIdentities(
        of user: VerifiedSignIn, in signIn: some UserVerification
    ) async throws(SignInError) -> [PortedIdentity] {
        guard !user.portTokens.isEmpty else { return [] }
        guard !formerIdentitySources.isEmpty else {
            signIn.note("port tokens are not used: this build of the program moves no accounts", [:], at: .debug)
            return []
        }
        signIn.begin(.migrate)
        var found: [PortedIdentity] = []
        for source in formerIdentitySources { found += try await source(user, signIn) }
        return found
    }

    /// - Parameter provider: Whose tokens are stored.
    package func begin(
        _ verified: VerifiedSignIn, of provider: String, for clientID: String, on device: String? = nil,
        asking scopes: @autoclosure () -> [String], _ correlationID: CorrelationID,
        complete: (inout SignInRecord) -> Void
    ) -> (Started, SignInRecord) {
        var issued = sessions.issue(for: clientID, on: device)
        if let idToken = verified.idToken { issued.keep(idToken) }
        let ticket = sessions.cache.ticket(at: environment.clock.now())
        var record = SignInRecord(
            identity: verified.identity, profile: verified.userInfo?.attributes, session: issued.record,
            newcomers: mustRegister ? .mustRegister : .welcome(publicID: issued.publicID),
            requestID: correlationID.text,
            tokens: verified.tokens.map { vault.storing($0, of: provider, for: clientID) })
        record.verified = verified.userInfo?.verified ?? VerifiedFlags()
        record.claims = verified.userInfo.map { userInfo in
            claimsVault.update(
                with: ClientClaims(userInfo.claims, for: clientID, from: verified.identity.issuer),
                asked: userInfo.isPartial ? [] : scopes())
        }
        record.provenPhoneNumber = verified.provenPhoneNumber
        record.tokenUse = verified.tokenUse?.use
        record.providerSession = verified.providerSession
        complete(&record)
        return (Started(issued: issued, ticket: ticket), record)
    }

    package func end(
        _ started: Started, by signedIn: SignedInUser, _ correlationID: CorrelationID, isRepeated: Bool = false
    ) -> SignedIn {
        // The user's other sessions are read again, with the changed profile.
        if signedIn.isChanged { sessions.cache.remove(signedIn.user.id) }
        for holder in signedIn.formerHolders { sessions.cache.remove(holder) }
        sessions.remember(started.issued, of: signedIn.user, started.ticket)
        return SignedIn(
            tokens: started.issued.tokens, userID: signedIn.user.id, isNew: signedIn.isNew,
            correlationID: correlationID, isRepeated: isRepeated)
    }

    /// Offers registration to a user who is unknown, as ``Registrar``.
    package func offer(
        to user: VerifiedSignIn, of provider: String, for clientID: String, _ correlationID: CorrelationID,
        codeChallenge: String? = nil
    ) async throws(SignInError) -> RegistrationOffer {
        // Callers ask ``mustRegister`` before, which is false without a registrar.
        guard let registrar else { throw .internalFault }
        return try await registrar.offer(
            to: user, of: provider, for: clientID, correlationID, codeChallenge: codeChallenge, by: self)
    }
}

/// The user that a provider vouches for, and the attributes it gives.
///
/// A class, so that the idempotency table holds it in one word.
package final class VerifiedSignIn: Sendable {
    package let identity: Identity
    /// The port tokens in the ID token, not yet verified.
    package let portTokens: [Secret]
    /// The user's attributes; nil if none were asked for.
    package let userInfo: UserInfo?
    /// The provider's tokens; nil unless they are stored.
    package let tokens: ProviderTokens?
    /// The provider's own session (`sid`), if the ID token names one.
    package let providerSession: ProviderSessionHash?
    /// The ID token, if it is kept for the logout at the provider.
    package let idToken: IDTokenHint?
    /// The phone number that the mobile network has proven to be the user's; nil if none did.
    package let provenPhoneNumber: String?
    /// Marks the token that stood in for a code as used; nil for a code. Each use case that accepts the user must
    /// store it.
    package let tokenUse: TokenUse?

    package init(
        _ identity: Identity, _ userInfo: UserInfo?, portTokens: [Secret] = [], tokens: ProviderTokens? = nil,
        providerSession: ProviderSessionHash? = nil, idToken: IDTokenHint? = nil, provenPhoneNumber: String? = nil,
        tokenUse: TokenUse? = nil
    ) {
        self.identity = identity
        self.portTokens = portTokens
        self.userInfo = userInfo
        self.tokens = tokens
        self.providerSession = providerSession
        self.idToken = idToken
        self.provenPhoneNumber = provenPhoneNumber
        self.tokenUse = tokenUse
    }

    /// - Parameter user: From a provider without ID tokens, which says whose access token it gave us.
    convenience init(_ user: ProviderUser, _ tokens: ProviderTokens?) {
        self.init(Identity(issuer: user.issuer, subject: user.subject), user.attributes, tokens: tokens)
    }

    /// - Parameter hint: The ID token in compact form, if it is kept.
    package convenience init(
        _ idToken: VerifiedIDToken, _ userInfo: UserInfo?, _ tokens: ProviderTokens?, hint: IDTokenHint? = nil
    ) {
        self.init(
            Identity(issuer: idToken.issuer, subject: idToken.subject), userInfo, portTokens: idToken.portTokens,
            tokens: tokens,
            providerSession: idToken.sessionID.map { ProviderSessionHash(issuer: idToken.issuer, id: $0) },
            idToken: hint)
    }
}

package enum SignInOutcome: Sendable {
    case signedIn(SignedIn)
    /// The provider vouches for a user who is unknown here and must register first.
    case mustRegister(RegistrationOffer)

    /// The user of a sign-in that succeeded; nil if the user must register.
    package var user: UserID? {
        if case .signedIn(let signedIn) = self { signedIn.userID } else { nil }
    }
}

package struct SignedIn: Sendable {
    package internal(set) var tokens: SessionTokens
    package let userID: UserID
    /// Whether this sign-in created the user. A repeated one says the same as the first.
    package let isNew: Bool
    package let correlationID: CorrelationID
    /// Whether the same sign-in ended before: then the user is counted already.
    package let isRepeated: Bool

    package init(
        tokens: SessionTokens, userID: UserID, isNew: Bool, correlationID: CorrelationID, isRepeated: Bool = false
    ) {
        self.tokens = tokens
        self.userID = userID
        self.isNew = isNew
        self.correlationID = correlationID
        self.isRepeated = isRepeated
    }
}

/// Proves that a user has an account under other identities. Asked in a sign-in before its transaction, which moves the
/// account to the identity that signs in.
/// - Returns: The other identities, in the order in which the store tries them.
package typealias FormerIdentitySource =
    @Sendable (
        _ user: VerifiedSignIn, _ signIn: any UserVerification
    ) async throws(SignInError) -> [PortedIdentity]

extension IdentityStore {
    /// An identity that an account was moved away from can neither sign in nor register.
    package func refuseIfMoved(_ identity: Identity) async throws(SignInError) {
        if case .moved = try await status(of: identity) { throw .identityMoved }
    }

    func status(of identity: Identity) async throws(SignInError) -> IdentityStatus {
        let statuses = try await mappingStoreErrors(await statuses(of: [identity]))
        return statuses.first ?? .unknown
    }
}
