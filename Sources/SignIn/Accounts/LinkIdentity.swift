import Logging
package import OpenIDConnect
package import Primitives
package import StorageModel

/// Adds an identity to the signed-in user: one for which a provider issued a fresh code, or a mobile operator a token.
///
/// Only the user's own request links identities; an e-mail address never does.
package struct LinkIdentity: Sendable {
    /// The most identities that a user can have.
    package static let limit = 32

    /// The linked identity.
    package struct Linked: Sendable {
        package let identity: LinkedIdentity
        /// False if the user had it before.
        package let isNew: Bool
        package let correlationID: CorrelationID
    }

    let signIn: SignInWithCode
    let store: any IdentityStore
    let clock: WallClock
    let random: RandomSource
    let logger: Logger

    /// A retry of the same request within the retry window links nothing more and gets the same response.
    /// - Throws: `insufficient_user_authentication` if the session's sign-in is too old; the errors of a sign-in with
    ///   this code; `user_already_exists` if another user has the identity, and then nothing has changed;
    ///   `invalid_token` if the session has ended meanwhile; `temporarily_unavailable`.
    package func callAsFunction(
        _ request: SignInRequest, token: Secret, holder: SessionAndUser
    ) async throws(SignInError) -> Linked {
        try await logged(request) { (request, log) async throws(SignInError) in
            try checkAge(of: holder.session)
            return try await link(request, token, holder, &log)
        }
    }

    /// The holder of an unlocked device, or of a stolen session, must not add a permanent way in.
    package func checkAge(of session: Session) throws(SignInError) {
        let maximum = signIn.configuration.lifetimes.signInToLink
        guard clock.now() <= session.createdAt.advanced(bySeconds: maximum) else { throw .signInTooOld(maximum) }
    }

    /// Links the identity that a browser brought back, if the browser still has the session that asked.
    ///
    /// The session's age was checked at the start, and may have passed the limit meanwhile.
    func finish(_ request: SignInRequest, holding token: Secret?, ofID id: String) async throws(SignInError) {
        _ = try await logged(request) { (request, log) async throws(SignInError) in
            guard let token, let holder = try await signIn.sessions.authenticate(token),
                holder.session.id.hasSameBytes(as: id)
            else { throw .linkingSessionGone }
            return try await link(request, token, holder, &log)
        }
    }

    /// Writes the log line, and keeps the capsule of a failure. An error gets the correlation id.
    private func logged(
        _ request: SignInRequest, _ body: (SignInRequest, inout SignInLog) async throws(SignInError) -> Linked
    ) async throws(SignInError) -> Linked {
        let correlationID = request.correlationID ?? .random(from: random)
        var request = request
        request.correlationID = correlationID
        var log = SignInLog(request, correlationID: correlationID, logger: logger, .link, observer: signIn.observer)
        do throws(SignInError) {
            return try await signIn.capsules.recording { () async throws(SignInError) in
                let linked = try await body(request, &log)
                log.write(linked.isNew ? .linked : .wasLinked)
                return linked
            } failed: { error in
                log.write(error)
                return CapsuleSubject(log, .link)
            }
        } catch {
            throw error.with(correlationID, request.sentNames)
        }
    }

    private func link(
        _ request: SignInRequest, _ token: Secret, _ holder: SessionAndUser, _ log: inout SignInLog
    ) async throws(SignInError) -> Linked {
        let correlationID = request.correlationID ?? .random(from: random)
        let attempt = try SignInAttempt(
            request, correlationID, signIn.providers, pause: signIn.pause, clock: signIn.clock)
        log.found(attempt)
        let verified = try await signIn.verify(attempt, linkedTo: holder.session.id, &log)
        log.begin(.store)
        var link = IdentityLink(
            verified.identity, to: holder.user.id, holding: TokenHash(ofSessionToken: token.exposed), at: clock.now(),
            limit: Self.limit, requestID: correlationID.text,
            tokens: verified.tokens.map {
                signIn.vault.storing($0, of: request.provider.text, for: attempt.client.id.text)
            })
        link.provenPhoneNumber = verified.provenPhoneNumber
        switch try await stored(await store.link(link)) {
        case .linked(let identity):
            // Another user may have lost the verified number. That is rare, and the store does not say whom.
            if verified.provenPhoneNumber != nil { signIn.sessions.cache.removeAll() }
            return Linked(identity: identity, isNew: true, correlationID: correlationID)
        case .wasLinked(let identity): return Linked(identity: identity, isNew: false, correlationID: correlationID)
        case .isTaken: throw .identityTaken
        case .tooMany: throw .tooManyIdentities
        case .unknownSession: throw .sessionUnknown
        }
    }
}

/// Errors of linking.
extension SignInError {
    package static func signInTooOld(_ seconds: Int64) -> SignInError {
        SignInError(
            .insufficientUserAuthentication, .requestDenied,
            "To add an identity, the user must have signed in within the last \(seconds) seconds. Sign in again first.")
    }

    package static let identityTaken = SignInError(
        .userAlreadyExists, .requestDenied,
        "This identity belongs to another user. Nothing was changed. Sign in with it to use that account.")

    static let tooManyIdentities = SignInError(
        .invalidRequest, .requestDenied,
        "The user has \(LinkIdentity.limit) identities, which is the limit. Remove one first.")

    static let linkNeedsBrowser = invalidRequest(
        "client_type must be web or popup: only the browser that has the session can add an identity.")

    static let linkingSessionGone = SignInError(
        .invalidToken, .requestDenied,
        "The browser no longer has the session that asked for this. Sign in and start again.")
}
