import OpenIDConnect
import Primitives

/// Whether a notification is about the request whose notification token it came with.
struct NotificationMatch: Sendable {
    /// Whether it says only that the tokens are ready.
    let isPing: Bool
    /// Whether its `auth_req_id` is that of the request, or that one is not known yet.
    let request: Bool
    /// Whether its `state`, if it has one, is that of the request.
    let state: Bool

    /// - Throws: `invalid_request`, and `invalid_token` for a ping: CIBA Core section 10.2 demands 401 for a token that
    ///   is not that of the `auth_req_id`.
    func check() throws(SignInError) {
        guard request, state else { throw isPing ? .notificationTokenUnknown : .notificationOfAnother }
    }

    var capsuleMembers: [CapsuleSubject.Member] {
        [("is_ping", .flag(isPing)), ("matches_request", .flag(request)), ("matches_state", .flag(state))]
    }
}

extension BackchannelNotification {
    /// What a capsule says of it: no token, id or state.
    var capsuleMembers: [CapsuleSubject.Member] {
        switch outcome {
        case .approved(_, let accessToken):
            [("outcome", .name("approved")), ("has_access_token", .flag(accessToken != nil))]
        case .refused(let code): [("outcome", .name("refused")), ("error", .code(code))]
        case .ready: [("outcome", .name("ready"))]
        }
    }
}

extension BackchannelAuthenticationContext {
    /// - Throws: `invalid_request` if the user's attributes cannot be asked for.
    func checkNotification(hasAccessToken: Bool) throws(SignInError) {
        guard hasAccessToken || !wantsAttributes else { throw .notificationWithoutAccessToken }
    }

    /// Decrypts and validates the ID token of a notification, and fetches the attributes if they are asked for.
    func verify(
        notified idToken: Secret, _ accessToken: Secret?, of requestID: Secret, nonce: Secret?
    ) async throws(OIDCError) -> VerifiedSignIn {
        begin(.validate)
        let signed = try client.credentials.signedToken(in: idToken, rules: relyingParty.idTokenRules)
        return try await verify(signed, accessToken, of: requestID, nonce: nonce)
    }
}

extension SignInError {
    /// The tokens of a notification are refused. Unverifiable is not invalid: the carrier may send them again.
    static func notificationRefused(_ error: OIDCError) -> SignInError {
        error.check == nil ? .cannotVerifyNotification.explained(by: error) : SignInError(error, codeWasPosted: true)
    }
}
