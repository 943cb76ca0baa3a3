import OpenIDConnect
import Primitives
import StorageModel

/// What every sign-in ends with once a provider has vouched for the user: by code, by redirects or on the backchannel.
///
/// The use case begins the session, stores it in its own commit, and ends the sign-in with what the store says.
struct SignInCompletion: Sendable {
    /// A session that is not stored yet, with the record that stores it.
    struct Started {
        let issued: IssuedSession
        let ticket: SessionCache.Ticket
        var record: SignInRecord
    }

    let sessions: Sessions
    let migration: AccountMigration
    let registrationOffers: RegistrationOffers
    let vault: TokenVault
    let claimsVault: ClaimsVault
    let oneTimeStore: EncryptedOneTimeStore
    let clock: WallClock
    let random: RandomSource

    /// Whether a user who is unknown must register.
    var mustRegister: Bool { registrationOffers.rules.isRequired }

    /// - Parameters:
    ///   - provider: Whose tokens are stored.
    ///   - scopes: What the sign-in asked for.
    func begin(
        _ verified: VerifiedSignIn, of provider: String, for clientID: String, on device: String? = nil,
        asking scopes: [String], _ correlationID: CorrelationID
    ) -> Started {
        var issued = sessions.issue(for: clientID, on: device)
        if let idToken = verified.idToken { issued.keep(idToken) }
        let ticket = sessions.cache.ticket(at: clock.now())
        var record = SignInRecord(
            identity: verified.identity, profile: verified.userInfo?.attributes, session: issued.record,
            newcomers: mustRegister ? .mustRegister : .welcome(publicID: random.token(bytes: 16)),
            requestID: correlationID.text,
            tokens: verified.tokens.map { vault.storing($0, of: provider, for: clientID) })
        record.verified = verified.userInfo?.verified ?? VerifiedFlags()
        record.claims = verified.userInfo.map { userInfo in
            claimsVault.update(
                with: ClientClaims(userInfo.claims, for: clientID, from: verified.identity.issuer), asked: scopes)
        }
        record.provenPhoneNumber = verified.provenPhoneNumber
        record.operatorTokenUse = verified.operatorTokenUse
        record.providerSession = verified.providerSession
        return Started(issued: issued, ticket: ticket, record: record)
    }

    /// - Parameter signedIn: The user as stored with the session.
    /// - Parameter isRepeated: Whether the same sign-in ended before.
    func end(
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

    /// Offers registration to a user who is unknown, and keeps the provider's tokens until then.
    /// - Parameter codeChallenge: Of a redirect's start.
    /// Not inlined: its variables would have their place in the memory of every sign-in.
    @inline(never)
    func offer(
        _ verified: VerifiedSignIn, of provider: String, for clientID: String, _ correlationID: CorrelationID,
        codeChallenge: String? = nil
    ) async throws(SignInError) -> RegistrationOffer {
        let offer = try await registrationOffers.offer(
            to: verified, clientID: clientID, codeChallenge: codeChallenge, correlationID, sessions.cache)
        if let waiting = WaitingTokens(verified, of: provider) {
            try await oneTimeStore.keep(
                waiting.bytes, for: .waitingTokens, under: offer.handle, seconds: offer.expiresIn)
        }
        return offer
    }
}
