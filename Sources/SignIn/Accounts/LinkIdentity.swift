import OpenIDConnect
package import Primitives
package import StorageModel

/// Adds an identity to the signed-in user: one for which a provider issued a fresh code, or a mobile operator a token.
///
/// Only the user's own request links identities; an e-mail address never does.
package struct LinkIdentity: UseCase {
    /// The most identities that a user can have.
    package static let limit = 32

    package struct Linked: Sendable {
        package let identity: LinkedIdentity
        /// False if the user had it before.
        package let isNew: Bool
        package let correlationID: CorrelationID
    }

    let environment: Environment
    let signIn: SignInWithCode
    let store: any IdentityStore
    /// The maximum age of the sign-in of a user who adds an identity, in seconds.
    let maximumAge: Int64

    /// A retry of the same request within the retry window links nothing more and gets the same response.
    /// - Throws: `insufficient_user_authentication` if the session's sign-in is too old; the errors of a sign-in with
    ///   this code; `user_already_exists` if another user has the identity, and then nothing has changed;
    ///   `invalid_token` if the session has ended meanwhile; `temporarily_unavailable`.
    package func callAsFunction(
        _ request: SignInRequest, token: Secret, holder: SessionAndUser
    ) async throws(SignInError) -> Linked {
        try await environment.perform(request, as: .link) { (run) async throws(SignInError) in
            try checkAge(of: holder.session)
            return try await link(run, token, holder)
        }
    }

    /// The holder of an unlocked device, or of a stolen session, must not add a permanent way in.
    package func checkAge(of session: Session) throws(SignInError) {
        guard clock.now() <= session.createdAt.advanced(bySeconds: maximumAge) else { throw .signInTooOld(maximumAge) }
    }

    /// Links the identity that a browser brought back, if the browser still has the session that asked.
    ///
    /// The session's age was checked at the start, and may have passed the limit meanwhile.
    package func finish(_ request: SignInRequest, holding token: Secret?, ofID id: String) async throws(SignInError) {
        _ = try await environment.perform(request, as: .link) { (run) async throws(SignInError) in
            guard let token, let holder = try await signIn.completion.sessions.authenticate(token),
                holder.session.id.hasSameBytes(as: id)
            else { throw .linkingSessionGone }
            return try await link(run, token, holder)
        }
    }

    private func link(
        _ run: SignInRun, _ token: Secret, _ holder: SessionAndUser
    ) async throws(SignInError) -> (Linked, SignInReport.Outcome) {
        let verified = try await signIn.verify(run, linkedTo: holder.session.id)
        run.begin(.store)
        let completion = signIn.completion
        var link = IdentityLink(
            verified.identity, to: holder.user.id, holding: TokenHash(ofSessionToken: token.exposed), at: clock.now(),
            limit: Self.limit, requestID: run.correlationID.text,
            tokens: verified.tokens.map {
                completion.vault.storing($0, of: run.request.provider.text, for: run.client.id.text)
            })
        link.provenPhoneNumber = verified.provenPhoneNumber
        switch try await mappingStoreErrors(await store.link(link)) {
        case .linked(let identity):
            // Another user may have lost the verified number. That is rare, and the store does not say whom.
            if verified.provenPhoneNumber != nil { completion.sessions.cache.removeAll() }
            return (Linked(identity: identity, isNew: true, correlationID: run.correlationID), .linked)
        case .wasLinked(let identity):
            return (Linked(identity: identity, isNew: false, correlationID: run.correlationID), .wasLinked)
        case .isTaken: throw .identityTaken
        case .tooMany: throw .tooManyIdentities
        case .unknownSession: throw .sessionUnknown
        }
    }
}

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

    static let linkingSessionGone = SignInError(
        .invalidToken, .requestDenied,
        "The browser no longer has the session that asked for this. Sign in and start again.")
}
