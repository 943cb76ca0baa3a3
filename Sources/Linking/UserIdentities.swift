import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// The identities of signed-in users, with which they can sign in.
///
/// Only the user's own request adds one; an e-mail address never does.
struct UserIdentities: Sendable {
    /// The most identities that a user can have.
    static let limit = 32

    struct Linked: Sendable {
        let identity: LinkedIdentity
        /// False if the user had it before.
        let isNew: Bool
        let correlationID: CorrelationID
    }

    let useCases: UseCases
    /// The maximum age of the sign-in of a user who adds an identity, in seconds.
    let maximumAge: Int64

    private var environment: Environment { useCases.environment }
    private var store: any IdentityStore { useCases.completion.store }

    /// The user's identities, the oldest first.
    /// - Throws: `temporarily_unavailable`.
    func list(for holder: SessionAndUser) async throws(SignInError) -> [LinkedIdentity] {
        try await mappingStoreErrors(await store.identities(of: holder.user.id))
    }

    /// Adds an identity for which a provider issued a fresh code, or a mobile operator a token.
    ///
    /// A retry of the same request within the retry window links nothing more and gets the same response.
    /// - Throws: `insufficient_user_authentication` if the session's sign-in is too old; the errors of a sign-in with
    ///   this code; `user_already_exists` if another user has the identity, and then nothing has changed;
    ///   `invalid_token` if the session has ended meanwhile; `temporarily_unavailable`.
    func link(
        _ request: SignInRequest, token: Secret, holder: SessionAndUser
    ) async throws(SignInError) -> Linked {
        try await environment.perform(request, as: .link) { (run) async throws(SignInError) in
            try checkAge(of: holder.session)
            return try await link(run, token, holder)
        }
    }

    /// The holder of an unlocked device, or of a stolen session, must not add a permanent way in.
    func checkAge(of session: Session) throws(SignInError) {
        guard environment.clock.now() <= session.createdAt.advanced(bySeconds: maximumAge) else {
            throw .signInTooOld(maximumAge)
        }
    }

    /// Links the identity that a browser brought back, if the browser still has the session that asked.
    ///
    /// The session's age was checked at the start, and may have passed the limit meanwhile.
    @Sendable func finishLink(
        _ request: SignInRequest, holding token: Secret?, ofID id: String
    ) async throws(SignInError) {
        _ = try await environment.perform(request, as: .link) { (run) async throws(SignInError) in
            guard let token, let holder = try await useCases.sessions.authenticate(token),
                holder.session.id.hasSameBytes(as: id)
            else { throw .linkingSessionGone }
            return try await link(run, token, holder)
        }
    }

    private func link(
        _ run: SignInRun, _ token: Secret, _ holder: SessionAndUser
    ) async throws(SignInError) -> (Linked, SignInReport.Outcome) {
        let verified = try await useCases.signIn.verify(run, ofSession: holder.session.id)
        run.begin(.store)
        var link = IdentityLink(
            verified.identity, to: holder.user.id, holding: TokenHash(ofSessionToken: token.exposed),
            at: environment.clock.now(), limit: Self.limit, requestID: run.correlationID.text,
            tokens: verified.tokens.map {
                useCases.vault.storing($0, of: run.request.provider.text, for: run.client.id.text)
            })
        link.provenPhoneNumber = verified.provenPhoneNumber
        switch try await mappingStoreErrors(await store.link(link)) {
        case .linked(let identity):
            // Another user may have lost the verified number. That is rare, and the store does not say whom.
            if verified.provenPhoneNumber != nil { useCases.sessions.cache.removeAll() }
            return (Linked(identity: identity, isNew: true, correlationID: run.correlationID), .linked)
        case .wasLinked(let identity):
            return (Linked(identity: identity, isNew: false, correlationID: run.correlationID), .wasLinked)
        case .isTaken: throw .identityTaken
        case .tooMany: throw .tooManyIdentities
        case .unknownSession: throw .sessionUnknown
        }
    }

    /// Removes an identity from the user, and ends the sessions that it signed in, except the holder's.
    /// - Throws: `not_found` if the user has no identity of this id; `last_identity`; `invalid_token` if the
    ///   session was revoked meanwhile; `temporarily_unavailable`.
    func unlink(_ id: String, for holder: SessionAndUser, requestID: String) async throws(SignInError) {
        guard id.utf8.count <= 64 else { throw .noSuchIdentity }
        let (user, now) = (holder.user.id, environment.clock.now())
        defer { useCases.sessions.forget(user) }
        let removal = try await mappingStoreErrors(
            await store.removeIdentity(id: id, of: user, keeping: holder.session.id) { identity in
                AuditEvent(
                    at: now, .identityUnlinked, user: user, by: .user, requestID: requestID,
                    details: AuditDetails { json in
                        json.add("identity", identity.fingerprint)
                        json.add("issuer", identity.issuer)
                    })
            })
        switch removal {
        case .removed: return
        case .isLast: throw .lastIdentity
        case .unknown: throw .noSuchIdentity
        case .unknownSession: throw .sessionUnknown
        }
    }
}

extension AuditEvent.Kind {
    fileprivate static let identityUnlinked = AuditEvent.Kind("identity.unlinked")
}

extension SignInError {
    static func signInTooOld(_ seconds: Int64) -> SignInError {
        SignInError(
            .insufficientUserAuthentication, .requestDenied,
            "To add an identity, the user must have signed in within the last \(seconds) seconds. Sign in again first.")
    }

    static let identityTaken = SignInError(
        .userAlreadyExists, .requestDenied,
        "This identity belongs to another user. Nothing was changed. Sign in with it to use that account.")

    fileprivate static let tooManyIdentities = SignInError(
        .invalidRequest, .requestDenied,
        "The user has \(UserIdentities.limit) identities, which is the limit. Remove one first.")

    fileprivate static let linkingSessionGone = SignInError(
        .invalidToken, .requestDenied,
        "The browser no longer has the session that asked for this. Sign in and start again.")

    static let linkNeedsBrowser = invalidRequest(
        "client_type must be web or popup: only the browser that has the session can add an identity.")

    static let noSuchIdentity = SignInError(
        .notFound, .invalidRequest, "The user has no identity of this id. List the identities to get their ids.")

    static let lastIdentity = SignInError(
        .lastIdentity, .invalidRequest,
        "This is the user's last identity, needed to sign in. To remove the account, erase the user instead.")
}
