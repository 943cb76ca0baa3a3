import OpenIDConnect
package import StorageModel

/// Errors of the use cases themselves.
extension SignInError {
    /// Names the configured providers, at most ten: the sign-in page shows them to everyone, too.
    package static func unknownProvider(among names: [String]) -> SignInError {
        let shown = names.prefix(10).joined(separator: ", ") + (names.count > 10 ? ", …" : "")
        return SignInError(
            .notFound, .invalidRequest,
            "No sign-in provider of this name is configured. Use the name of a configured one: \(shown).")
    }

    package static let unknownClient = invalidRequest(
        field: "client_id",
        "is not one of this provider's clients. Use the client_id that is registered for this app.")

    /// - Parameter sent: Is in the log only, without its query, beside the nearest of the registered ones.
    package static func redirectURINotRegistered(_ sent: String, among registered: [String]) -> SignInError {
        var error = invalidRequest(
            field: "redirect_uri",
            "is not one of the client's registered redirect URIs. Send it exactly as it is registered."
        ).telling(.misconfigured)
        let shown = AppRedirectURI.shown(sent)
        error.cause =
            AppRedirectURI.nearest(to: sent, among: registered).map {
                "redirect_uri is \(shown), which is not registered; the nearest registered one is \($0)"
            } ?? "redirect_uri is \(shown), and the client has no registered one"
        return error
    }

    static let codeVerifierMissing = invalidRequest(
        "code_verifier is missing. Send the verifier of the authorization request's code_challenge.")

    static let nonceMissing = invalidRequest("nonce is missing. This client needs a nonce from the attempts endpoint.")

    package static let nothingConfirms = invalidRequest(
        "This provider issues no ID tokens to confirm nonce, acr_values or context. Leave them out.")

    static let nonceNotIssued = invalidRequest(
        "nonce was not issued by this server, or was used, or has expired. Get a new one from the attempts endpoint.")

    /// The sign-in was sent again, and its user was erased since.
    static let userErased = invalidGrant(
        "The code was used before, and its user was erased since. Start again with a new authorization request.")

    /// The account was moved away from this identity. The carrier may have given it to another user since.
    static let identityMoved = SignInError(
        .refusedByProvider, .requestDenied,
        "The account was moved to another carrier. Sign in with that carrier; the administrator can undo a move "
            + "by mistake.",
        providerCode: "request_denied")

    /// The sign-in was sent again, and a session of its user was ended since.
    static let signedOutSince = invalidGrant(
        "The code was used before, and its user was signed out since. Start a new sign-in.")

    static let sentTooOften = invalidGrant(
        "The code was used before, and the same request was repeated too often. Start a new sign-in.")

    static let sentAgainWithoutVerifier = SignInError(
        .refusedByProvider, .requestDenied,
        "The code was used before. A sign-in without a code_verifier cannot be sent again. Start a new sign-in.",
        providerCode: "invalid_grant", codeMayBeSpent: true)

    package static let emailDomainBlocked = SignInError(
        .emailDomainBlocked, .invalidRequest,
        "The administrator does not allow e-mail addresses of this domain. Use another address.")

    package static let sessionUnknown = SignInError(
        .invalidToken, .requestDenied, "The session token is missing, unknown, expired or revoked. Sign in again.")

    /// Also for other users' sessions, so that guesses learn nothing.
    package static let noSuchSession = SignInError(
        .notFound, .invalidRequest, "The user has no session of this id. List the sessions to get their ids.")

    /// One text for every cause, so that guesses learn nothing.
    package static let refreshTokenInvalid = SignInError(
        .invalidGrant, .requestDenied,
        "The refresh token is unknown, expired, revoked, used before, or of another client. Sign in again.")

    static let refreshContended = SignInError(
        .temporarilyUnavailable, .serverError,
        "Many requests use this refresh token at once. Send the same request again in a moment.", retryAfter: 1,
        fault: .ours)

    package static let internalFault = SignInError(
        .serverError, .serverError, "The server has an internal error. Try again later.", fault: .ours)

    package static func malformedAttributes(_ check: AttributeCheck) -> SignInError {
        var error = SignInError(.invalidRequest, .invalidRequest, check.texts.joined(separator: "; ") + ".")
        error.attributeProblems = check.problems
        return error
    }

    /// A store that fails has not said "signed out" or "unknown".
    package init(_ error: StorageError) {
        self.init(
            .temporarilyUnavailable, .serverError,
            error.code == .overloaded ? "The server is busy." : "The server cannot use its database.",
            remedy: "Send the same request again in a moment.", retryAfter: error.code == .overloaded ? 1 : 5,
            fault: .ours)
        cause = error.reason
    }
}

/// Calls the store; its failure becomes the use case's own error.
package func mappingStoreErrors<Value>(
    _ call: @autoclosure () async throws(StorageError) -> Value
) async throws(SignInError) -> Value {
    do throws(StorageError) {
        return try await call()
    } catch {
        throw SignInError(error)
    }
}
