import Logging
import OpenIDConnect
package import Primitives
import StorageModel

/// Creates a user for an identity that a carrier vouched for, and signs the user in.
package struct Registration: Sendable {
    let rules: RegistrationRules
    let store: any RegistrationStore
    let sessions: Sessions
    let vault: TokenVault
    let claimsVault: ClaimsVault
    let oneTimeStore: EncryptedOneTimeStore
    let clock: WallClock
    let random: RandomSource
    let logger: Logger
    let refusals: LogSamplers

    /// - Throws: `invalid_request` with every attribute that is missing or malformed, `email_domain_blocked`,
    ///   `user_already_exists`, `invalid_token` for a handle that is unknown, used or expired,
    ///   `temporarily_unavailable`.
    package func callAsFunction(_ form: RegistrationForm) async throws(SignInError) -> SignedIn {
        let correlationID = form.correlationID ?? .random(from: random)
        do throws(SignInError) {
            let signedIn = try await register(form, correlationID)
            logger.info("registration", metadata: metadata("signed_up", correlationID))
            return signedIn
        } catch {
            // A page needs no API key, and any text can stand for a handle.
            refusals.log(
                error.fault.logLevel, "registration", of: "registration \(error.code.rawValue)", to: logger
            ) {
                metadata(error.codeText, correlationID)
            }
            throw error.with(correlationID)
        }
    }

    /// The cookie of a browser in which a user registers: what it says, a dot, and 256 random bits in base64url.
    ///
    /// The challenge in it takes the place of the verifier. It is no secret, so the cookie counts only if it was made
    /// here.
    /// - Parameters:
    ///   - text: The handle, the challenge, and what else the page needs.
    ///   - seconds: How long the cookie is valid.
    /// - Throws: `temporarily_unavailable`.
    package func cookie(saying text: Secret, seconds: Int64) async throws(SignInError) -> Secret {
        let cookie = Secret("\(text.exposed).\(random.token())")
        _ = try await oneTimeStore.begin(
            Self.hash(ofCookie: cookie), for: .registeringBrowser, seconds: seconds, insteadOf: [])
        return cookie
    }

    private static func hash(ofCookie cookie: Secret) -> TokenHash {
        TokenHash(sha256Of: "cookie of a registration\n" + cookie.exposed)
    }

    /// A registration that its user has not completed; nil if the handle is unknown, used or expired, or has another
    /// challenge, or if the cookie is none of ``cookie(saying:seconds:)`` or has expired.
    /// - Parameters:
    ///   - codeChallenge: As ``RegistrationForm/codeChallenge``.
    ///   - cookie: What says the handle and the challenge.
    /// - Throws: `temporarily_unavailable`.
    package func open(
        _ handle: Secret, codeChallenge: String?, in cookie: Secret
    ) async throws(SignInError) -> OpenRegistration? {
        guard try await !oneTimeStore.present(among: [Self.hash(ofCookie: cookie)]).isEmpty else { return nil }
        let hash = RegistrationOffers.hash(of: handle.exposed, codeChallenge)
        let now = clock.now()
        guard let pending = try await stored(await store.pendingRegistration(hash, at: now)) else { return nil }
        return OpenRegistration(
            issuer: pending.identity.issuer, profile: pending.profile.withReachableEmail, verified: pending.verified,
            claims: claimsVault.claims(in: pending.claims, of: hash),
            required: rules.requiredAttributes.map(\.attribute))
    }

    private func register(
        _ form: RegistrationForm, _ correlationID: CorrelationID
    ) async throws(SignInError) -> SignedIn {
        let handle = RegistrationOffers.hash(of: form.handle.exposed, form.codeChallenge)
        let now = clock.now()
        let pending = try await stored(await store.pendingRegistration(handle, at: now))
        // A registration of another client stays as it is, and is reported unknown.
        guard let pending, form.clients?.contains(pending.clientID) ?? true else {
            throw .unknownHandle(sentAs: form.handleName)
        }
        let profile = try form.profile(completing: pending.profile, rules)
        let issued = sessions.issue(for: pending.clientID, on: form.device)
        let waiting = vault.waiting(under: form.handle, for: pending.clientID, with: issued.tokens)
        let ticket = sessions.cache.ticket(at: now)
        let publicID = random.token(bytes: 16)
        var registration = NewRegistration(
            handle: handle, profile: profile, session: issued.record, publicID: publicID, tokens: waiting, at: now)
        let claims = claimsVault.claims(in: pending.claims, of: handle)
        registration.claims = claimsVault.stored(
            ClientClaims(claims, for: pending.clientID, from: pending.identity.issuer), of: publicID)
        registration.refusesVerifiedEmail = form.refusesVerifiedEmail
        switch try await stored(await store.register(registration)) {
        case .unknownHandle: throw .unknownHandle(sentAs: form.handleName)
        case .userAlreadyExists: throw .userAlreadyExists
        case .emailAlreadyExists: throw .emailAlreadyExists
        case .registered(let user):
            sessions.remember(issued, of: user, ticket)
            return SignedIn(tokens: issued.tokens, userID: user.id, isNew: true, correlationID: correlationID)
        }
    }

    private func metadata(_ outcome: String, _ correlationID: CorrelationID) -> Logger.Metadata {
        ["correlation_id": "\(correlationID)", "outcome": "\(outcome)"]
    }
}
