import Logging
package import OpenIDConnect
package import Primitives
package import StorageModel

/// Creates a user for an identity that a provider vouched for, and signs the user in.
package struct Registration: UseCase {
    let environment: Environment
    let rules: RegistrationRules
    let store: any RegistrationStore
    let sessions: Sessions
    let vault: TokenVault
    let claimsVault: ClaimsVault
    let oneTimeStore: EncryptedOneTimeStore

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
    /// The challenge in it takes the place of the verifier. It is not secret, so the cookie counts only if it was made
    /// here.
    /// - Parameters:
    ///   - text: The handle, the challenge, and what else the page needs.
    ///   - seconds: How long the cookie is valid.
    /// - Throws: `temporarily_unavailable`.
    package func makeCookie(containing text: Secret, seconds: Int64) async throws(SignInError) -> Secret {
        let cookie = Secret("\(text.exposed).\(random.token())")
        _ = try await oneTimeStore.add(
            oneTimeStore.record(Self.hash(ofCookie: cookie), for: .registeringBrowser, seconds: seconds))
        return cookie
    }

    private static func hash(ofCookie cookie: Secret) -> TokenHash {
        TokenHash(sha256Of: "cookie of a registration\n" + cookie.exposed)
    }

    /// A registration that its user has not completed; nil if the handle is unknown, used or expired, or has another
    /// challenge, or if the cookie is none of ``makeCookie(containing:seconds:)`` or has expired.
    /// - Parameters:
    ///   - codeChallenge: As ``RegistrationForm/codeChallenge``.
    ///   - cookie: What says the handle and the challenge.
    /// - Throws: `temporarily_unavailable`.
    package func open(
        _ handle: Secret, codeChallenge: String?, in cookie: Secret
    ) async throws(SignInError) -> OpenRegistration? {
        guard try await !oneTimeStore.present(among: [Self.hash(ofCookie: cookie)]).isEmpty else { return nil }
        let hash = PendingRegistration.handle(handle, codeChallenge)
        let now = clock.now()
        guard let pending = try await mappingStoreErrors(await store.pendingRegistration(hash, at: now)) else {
            return nil
        }
        return OpenRegistration(
            issuer: pending.identity.issuer, profile: pending.profile.withReachableEmail, verified: pending.verified,
            claims: claimsVault.claims(in: pending.claims, of: hash),
            required: rules.requiredAttributes.map(\.attribute))
    }

    private func register(
        _ form: RegistrationForm, _ correlationID: CorrelationID
    ) async throws(SignInError) -> SignedIn {
        let handle = PendingRegistration.handle(form.handle, form.codeChallenge)
        let now = clock.now()
        let pending = try await mappingStoreErrors(await store.pendingRegistration(handle, at: now))
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
        switch try await mappingStoreErrors(await store.register(registration)) {
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

/// The form that a user fills in to register.
package struct RegistrationForm: Sendable {
    /// The handle of ``RegistrationOffer``.
    package var handle: Secret
    /// The name under which the client sent the handle, for the text of an error.
    package var handleName = "state_key"
    /// The `code_challenge` of the redirect's start, if it had one, from a caller who has shown its verifier, or that
    /// the start was its own.
    package var codeChallenge: String?
    /// The attributes as the user filled them in, not yet checked.
    package var attributes = UserAttributes<String>()
    /// The names under which the client sent attributes, where they are not the usual ones.
    package var attributeNames = UserAttributes<String>()
    package var correlationID: CorrelationID?
    /// A name for the user's device; for the list of sessions.
    package var device: String?
    /// The clients whose registrations the caller may complete; nil for all.
    package var clients: Set<String>?
    /// Whether an e-mail address that a provider vouches for in another account is refused.
    package var refusesVerifiedEmail = false

    package init(handle: Secret) { self.handle = handle }
}

extension RegistrationForm {
    /// The user's profile: the form's values, completed with the provider's.
    /// - Throws: `invalid_request` naming every missing or malformed attribute; `email_domain_blocked`.
    func profile(completing known: Profile, _ rules: RegistrationRules) throws(SignInError) -> Profile {
        var check = AttributeCheck(names: attributeNames)
        let profile = check.checked(attributes).filled(with: known.withReachableEmail)
        for attribute in rules.missing(in: profile) where check.problems[attribute.attribute] == nil {
            check.refuse(attribute.attribute, "is missing")
        }
        guard check.texts.isEmpty else { throw .malformedAttributes(check) }
        if let email = profile[.email].flatMap(EmailAddress.init), rules.blocks(email) { throw .emailDomainBlocked }
        return profile
    }
}

/// A registration that its user has not completed: what the provider sent, and what is required.
package struct OpenRegistration: Sendable {
    /// The provider's issuer.
    package let issuer: String
    /// The provider's attributes that a registration stores unless the form has others.
    package let profile: Profile
    /// Which of them the provider verified.
    package let verified: VerifiedFlags
    /// The provider's further claims that a registration stores.
    package let claims: ConsentedClaims
    /// What a registration must have.
    package let required: [UserAttribute]
}

extension PendingRegistration {
    /// The key of a stored registration: a hash of its handle, and of the challenge if there is one, so that a wrong or
    /// an unexpected verifier finds nothing.
    static func handle(_ handle: Secret, _ codeChallenge: String?) -> TokenHash {
        TokenHash(sha256Of: codeChallenge.map { handle.exposed + " " + $0 } ?? handle.exposed)
    }
}
