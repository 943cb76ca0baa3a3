import Logging
public import OpenIDConnect
public import Primitives
public import StorageModel

/// Adds a way to sign in to the user who is signed in: an identity for which a provider gave a fresh code.
///
/// Nothing but the user's own wish links identities, and no e-mail address ever does.
public struct LinkIdentity: Sendable {
    /// How many identities a user has at most.
    public static let limit = 32

    /// An identity that is the user's now.
    public struct Linked: Sendable {
        public let identity: LinkedIdentity
        /// False if it was the user's before.
        public let isNew: Bool
        public let correlationID: CorrelationID
    }

    let signIn: SignInWithCode
    let store: any IdentityStore
    let clock: WallClock
    let random: RandomSource
    let logger: Logger

    /// The very same request sent again within the retry window links nothing more, and has the same answer.
    /// - Throws: `insufficient_user_authentication` if the session's sign-in is too old; what a sign-in with this code
    ///   throws; `user_already_exists` if the identity is another user's, and then nothing has changed; `invalid_token`
    ///   if the session has ended meanwhile; `temporarily_unavailable`.
    public func callAsFunction(
        _ request: SignInRequest, token: Secret, holder: SessionAndUser
    ) async throws(SignInError) -> Linked {
        let correlationID = request.correlationID ?? .random(from: random)
        var log = SignInLog(request, correlationID: correlationID, logger: logger, .link, observer: signIn.observer)
        do throws(SignInError) {
            try checkAge(of: holder.session)
            let linked = try await link(request, token, holder, correlationID, &log)
            log.write(linked.isNew ? .linked : .wasLinked)
            return linked
        } catch {
            log.write(error)
            throw error.with(correlationID)
        }
    }

    /// Whoever finds a device unlocked, or has stolen a session, is not to keep the account by a way in of their own.
    func checkAge(of session: Session) throws(SignInError) {
        let maximum = signIn.configuration.lifetimes.signInToLink
        guard clock.now() <= session.createdAt.advanced(bySeconds: maximum) else { throw .signInTooOld(maximum) }
    }

    /// Links what a browser brought back, if it has still the very session that asked.
    ///
    /// The sign-in may have become too old while the browser was away: it was looked at when it went.
    func finish(_ request: SignInRequest, holding token: Secret?, ofID id: String) async throws(SignInError) {
        let correlationID = request.correlationID ?? .random(from: random)
        var log = SignInLog(request, correlationID: correlationID, logger: logger, .link, observer: signIn.observer)
        do throws(SignInError) {
            guard let token, let holder = try await signIn.sessions.authenticate(token),
                holder.session.id.hasSameBytes(as: id)
            else { throw .linkingSessionGone }
            let linked = try await link(request, token, holder, correlationID, &log)
            log.write(linked.isNew ? .linked : .wasLinked)
        } catch {
            log.write(error)
            throw error.with(correlationID)
        }
    }

    private func link(
        _ request: SignInRequest, _ token: Secret, _ holder: SessionAndUser, _ correlationID: CorrelationID,
        _ log: inout SignInLog
    ) async throws(SignInError) -> Linked {
        let attempt = try SignInAttempt(request, correlationID, signIn.configuration, signIn.relyingParties)
        log.foundProvider()
        let verified = try await signIn.verify(attempt, linkedTo: holder.session.id, &log)
        log.begin(.store)
        let link = IdentityLink(
            verified.identity, to: holder.user.id, holding: TokenHash(sha256Of: token.exposed), at: clock.now(),
            limit: Self.limit, requestID: correlationID.text,
            tokens: verified.tokens.map {
                signIn.vault.storing($0, of: request.provider, for: attempt.client.id.text)
            })
        switch try await stored(await store.link(link)) {
        case .linked(let identity): return Linked(identity: identity, isNew: true, correlationID: correlationID)
        case .wasLinked(let identity): return Linked(identity: identity, isNew: false, correlationID: correlationID)
        case .isTaken: throw .identityTaken
        case .tooMany: throw .tooManyIdentities
        case .unknownSession: throw .sessionUnknown
        }
    }
}

/// What linking refuses.
extension SignInError {
    static func signInTooOld(_ seconds: Int64) -> SignInError {
        SignInError(
            .insufficientUserAuthentication, .requestDenied,
            "To add a way to sign in, the user must have signed in within the last \(seconds) seconds. Sign in again first."
        )
    }

    static let identityTaken = SignInError(
        .userAlreadyExists, .requestDenied,
        "This identity belongs to another user already. Nothing was changed. Sign in with it to use that account.")

    static let tooManyIdentities = SignInError(
        .invalidRequest, .requestDenied,
        "You have \(LinkIdentity.limit) ways to sign in, which is as many as there can be. Take one away first.")

    static let linkNeedsBrowser = SignInError(
        .invalidRequest, .invalidRequest,
        "client_type must be web or popup: only the browser that has the session can finish this.")

    static let linkingSessionGone = SignInError(
        .invalidToken, .requestDenied,
        "The session that asked for this is not this browser's any more. Sign in, and ask again.")
}
