import Logging
import OpenIDConnect
package import Primitives
package import SignIn
import StorageModel

/// Creates a user for an identity that a provider vouched for, and signs the user in.
extension RegistrationFeature {
    /// How long the offer of a registration is valid, in seconds.
    private static let offerLifetime: Int64 = 600

    package var isRequired: Bool { rules.mode == .required }

    /// Stores the identity under a new handle, and the provider's tokens until the user registers.
    package func offer(
        to user: VerifiedSignIn, of provider: String, for clientID: String, _ correlationID: CorrelationID,
        codeChallenge: String?, by completion: SignInCompletion
    ) async throws(SignInError) -> RegistrationOffer {
        let environment = completion.environment
        let handle = Secret(environment.random.token())
        let expiresAt = environment.clock.now().advanced(bySeconds: Self.offerLifetime)
        var pending = PendingRegistration(
            handle: PendingRegistration.handle(handle, codeChallenge), identity: user.identity, clientID: clientID,
            profile: user.userInfo?.attributes ?? Profile(), expiresAt: expiresAt)
        pending.verified = user.userInfo?.verified ?? VerifiedFlags()
        let claims = user.userInfo?.claims ?? ConsentedClaims()
        pending.claims = completion.claimsVault.stored(claims, of: pending.handle)
        pending.providerSession = user.providerSession
        let (added, now) = (pending, environment.clock.now())
        let formerHolders = try await mappingStoreErrors(
            await store.addPendingRegistration(
                added, proof: user.provenPhoneNumber.map { ($0, now, correlationID.text) }))
        for holder in formerHolders { completion.sessions.cache.remove(holder) }
        if let waiting = WaitingTokens.bytes(of: user, from: provider) {
            try await completion.oneTimeStore.keep(
                waiting, for: .waitingTokens, under: handle, seconds: Self.offerLifetime)
        }
        return RegistrationOffer(
            handle: handle, codeChallenge: codeChallenge, profile: pending.profile, claims: claims,
            missing: rules.missing(in: pending.profile), expiresIn: Self.offerLifetime, correlationID: correlationID)
    }

    package func register(
        _ form: RegistrationForm, by completion: SignInCompletion
    ) async throws(SignInError) -> SignedIn {
        let environment = completion.environment
        let correlationID = form.correlationID ?? .random(from: environment.random)
        do throws(SignInError) {
            let signedIn = try await register(form, completion, correlationID)
            let outcome = signedIn.isRepeated ? "signed_in" : "signed_up"
            environment.logger.info("registration", metadata: metadata(outcome, correlationID))
            return signedIn
        } catch {
            // A page needs no API key, and any text can stand for a handle.
            environment.refusals.log(
                error.fault.logLevel, "registration", of: "registration \(error.code.rawValue)",
                to: environment.logger
            ) {
                metadata(error.codeText, correlationID)
            }
            throw error.with(correlationID)
        }
    }

    /// A registration that its user has not completed; nil if the handle is unknown, used or expired, or has another
    /// challenge.
    /// - Parameter codeChallenge: As ``RegistrationForm/codeChallenge``.
    /// - Throws: `temporarily_unavailable`.
    func pending(
        _ handle: Secret, _ codeChallenge: String?, by completion: SignInCompletion
    ) async throws(SignInError) -> PendingRegistration? {
        let now = completion.environment.clock.now()
        for hash in PendingRegistration.handles(handle, codeChallenge) {
            let found = try await mappingStoreErrors(await store.pendingRegistration(hash, at: now))
            if let found { return found }
        }
        return nil
    }

    private func register(
        _ form: RegistrationForm, _ completion: SignInCompletion, _ correlationID: CorrelationID
    ) async throws(SignInError) -> SignedIn {
        let (sessions, claimsVault) = (completion.sessions, completion.claimsVault)
        // A registration of another client stays as it is, and is reported unknown.
        guard let pending = try await pending(form.handle, form.codeChallenge, by: completion),
            form.clients?.contains(pending.clientID) ?? true
        else { return try await again(form, completion, correlationID) }
        let profile = try form.profile(completing: pending.profile, rules)
        let issued = sessions.issue(for: pending.clientID, on: form.device)
        let waiting = completion.vault.waiting(under: form.handle, for: pending.clientID, with: issued.tokens)
        let now = completion.environment.clock.now()
        let ticket = sessions.cache.ticket(at: now)
        let claims = claimsVault.stored(
            ClientClaims(
                claimsVault.claims(in: pending.claims, of: pending.handle), for: pending.clientID,
                from: pending.identity.issuer), of: issued.publicID)
        let answer = try answer(issued.tokens, to: form, of: pending, completion)
        let result = try await mappingStoreErrors(
            await store.register(
                handle: pending.handle, profile: profile, session: issued.record, publicID: issued.publicID,
                tokens: waiting, claims: claims, refusesVerifiedEmail: form.refusesVerifiedEmail,
                answer: answer, at: now))
        guard let user = try result?.get() else { return try await again(form, completion, correlationID) }
        sessions.remember(issued, of: user, ticket)
        return SignedIn(tokens: issued.tokens, userID: user.id, isNew: true, correlationID: correlationID)
    }

    private func metadata(_ outcome: String, _ correlationID: CorrelationID) -> Logger.Metadata {
        ["correlation_id": "\(correlationID)", "outcome": "\(outcome)"]
    }

    // MARK: The same registration sent again

    /// How long the same registration may be sent again, in seconds.
    private static let retryWindow: Int64 = 60

    /// What the same request gets if it is sent again; nil if anyone who has read a URL could send it.
    private func answer(
        _ tokens: SessionTokens, to form: RegistrationForm, of pending: PendingRegistration,
        _ completion: SignInCompletion
    ) throws(SignInError) -> OneTimeRecord? {
        guard form.cookie != nil || form.codeChallenge != nil || !pending.isHandleInURL(form.handle),
            let key = form.retryKey
        else { return nil }
        return try completion.oneTimeStore.sealed(
            tokens.json, for: .registered, under: key, seconds: Self.retryWindow)
    }

    /// - Throws: `invalid_token` for a registration that was not sent before.
    private func again(
        _ form: RegistrationForm, _ completion: SignInCompletion, _ correlationID: CorrelationID
    ) async throws(SignInError) -> SignedIn {
        guard let signedIn = try await answered(form, completion, correlationID) else {
            throw .unknownHandle(sentAs: form.handleName)
        }
        return signedIn
    }

    /// The session of a registration that was sent before, while it has the tokens that it had then.
    func answered(
        _ form: RegistrationForm, _ completion: SignInCompletion, _ correlationID: CorrelationID? = nil
    ) async throws(SignInError) -> SignedIn? {
        guard let key = form.retryKey,
            let tokens = try await completion.oneTimeStore.read(.registered, under: key).flatMap(SessionTokens.init),
            let found = try await completion.sessions.authenticate(refreshToken: tokens.refreshToken, orBound: true)
        else { return nil }
        return SignedIn(
            tokens: tokens, userID: found.user.id, isNew: true,
            correlationID: correlationID ?? .random(from: completion.environment.random), isRepeated: true)
    }
}

extension RegistrationForm {
    /// Names the request by all that decides what it gets; nil if it has no retry.
    fileprivate var retryKey: Secret? {
        if let cookie { return cookie }
        guard let caller else { return nil }
        let values = UserAttribute.allCases.map { attribute in
            attributes[attribute].map { "\($0.utf8.count) \($0)" } ?? ""
        }
        let parts = [Base64URL.encode(caller.hash.bytes), handle.exposed, codeChallenge ?? ""] + values
        return Secret(parts.joined(separator: "\n"))
    }
}

extension SessionTokens {
    fileprivate var json: [UInt8] {
        var json = JSONObjectWriter()
        json.add("token", token.exposed)
        json.add("refresh_token", refreshToken.exposed)
        json.add("expires", expiresIn)
        json.add("refresh_expires", refreshExpiresIn)
        return json.finish()
    }

    fileprivate init?(_ bytes: [UInt8]) {
        guard let json = (try? JSONValue(parsing: bytes))?.object, let token = json["token"]?.string,
            let refreshToken = json["refresh_token"]?.string, let expiresIn = json["expires"]?.integer,
            let refreshExpiresIn = json["refresh_expires"]?.integer
        else { return nil }
        self.init(
            token: Secret(token), refreshToken: Secret(refreshToken), expiresIn: expiresIn,
            refreshExpiresIn: refreshExpiresIn)
    }
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

extension PendingRegistration {
    /// The key of a stored registration: a hash of its handle, and of the challenge if there is one, so that a wrong or
    /// an unexpected verifier finds nothing.
    static func handle(_ handle: Secret, _ codeChallenge: String?) -> TokenHash {
        TokenHash(sha256Of: codeChallenge.map { handle.exposed + " " + $0 } ?? handle.exposed)
    }

    /// The keys that a registration may be stored under. A redirect without a challenge has an empty one.
    static func handles(_ handle: Secret, _ codeChallenge: String?) -> [TokenHash] {
        [Self.handle(handle, codeChallenge)] + (codeChallenge == nil ? [Self.handle(handle, "")] : [])
    }

    /// Whether it is the registration of a redirect without a challenge, whose handle others may read in a URL.
    func isHandleInURL(_ handle: Secret) -> Bool { self.handle == Self.handle(handle, "") }
}

extension SignInError {
    /// - Parameter name: The name of the field that the client sent.
    static func unknownHandle(sentAs name: String) -> SignInError {
        SignInError(
            .invalidToken, .invalidRequest,
            "\(name) is unknown, was used, or has expired, or code_verifier does not match the code_challenge of the "
                + "sign-in. Sign in again to get a new state_key.")
    }

    static let userAlreadyExists = SignInError(
        .userAlreadyExists, .invalidRequest, "This user is already registered. Sign in instead.")

    static let emailAlreadyExists = SignInError(
        .userAlreadyExists, .invalidRequest,
        "This e-mail address belongs to another account. Sign in to that account instead.")
}

extension EncryptedOneTimeStore.Purpose {
    /// The provider's tokens that wait until a user has registered; the handle is the registration's.
    static let waitingTokens = Self("waiting tokens")

    /// The tokens that a registration gave.
    fileprivate static let registered = Self("registered")
}

extension TokenVault {
    /// Stores the tokens that wait for a registration.
    /// - Parameter session: The tokens of the user's new session.
    func waiting(under handle: Secret, for clientID: String, with session: SessionTokens) -> WaitingProviderTokens {
        let (handle, open) = EncryptedOneTimeStore.opening(.waitingTokens, under: handle)
        return WaitingProviderTokens(handle: handle, purpose: EncryptedOneTimeStore.Purpose.waitingTokens.text) {
            content in
            guard let waiting = open(content).flatMap(WaitingTokens.read) else { return nil }
            return (
                tokens: waiting.tokens.map { storing($0, of: waiting.provider, for: clientID) },
                idToken: waiting.idToken.flatMap { SealedIDToken($0, openedBy: session) }
            )
        }
    }
}

/// A provider's tokens whose user has not registered yet, as JSON for the store: those to store, the ID token for
/// logout, or both.
enum WaitingTokens {
    /// Nil if the sign-in has nothing to keep.
    static func bytes(of verified: VerifiedSignIn, from provider: String) -> [UInt8]? {
        guard verified.tokens != nil || verified.idToken != nil else { return nil }
        var json = JSONObjectWriter(capacity: 512)
        json.add("provider", provider)
        verified.tokens?.write(to: &json)
        json.add("id_token_issuer", ifPresent: verified.idToken?.issuer)
        json.add("id_token", ifPresent: verified.idToken?.token.exposed)
        return json.finish()
    }

    static func read(_ bytes: [UInt8]) -> (provider: String, tokens: ProviderTokens?, idToken: IDTokenHint?)? {
        guard let json = (try? JSONValue(parsing: bytes))?.object, let provider = json["provider"]?.string else {
            return nil
        }
        var idToken: IDTokenHint?
        if let issuer = json["id_token_issuer"]?.string, let token = json["id_token"]?.string {
            idToken = IDTokenHint(issuer: issuer, token: Secret(token))
        }
        let tokens = ProviderTokens(json)
        return tokens == nil && idToken == nil ? nil : (provider, tokens, idToken)
    }
}

/// Tokens that wait in a ``OneTimeRecord`` until their user has registered.
struct WaitingProviderTokens: Sendable {
    let handle: TokenHash
    let purpose: String
    /// Decrypts the record's content: the tokens to store for the user, and the ID token of the user's session, as far
    /// as they are kept. Nil if the content is invalid.
    let open: @Sendable ([UInt8]) -> (tokens: NewProviderTokens?, idToken: SealedIDToken?)?
}
