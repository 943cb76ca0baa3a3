import OpenIDConnect
package import StorageModel

/// What the use cases themselves refuse.
extension SignInError {
    static let unknownProvider = SignInError(
        .notFound, .invalidRequest, "There is no sign-in provider of this name. Use one that is configured.")

    static let unknownClient = SignInError(
        .invalidRequest, .invalidRequest,
        "client_id is not one of this provider's clients. Use the client_id that is registered for this app.")

    static let redirectURINotRegistered = SignInError(
        .invalidRequest, .invalidRequest,
        "redirect_uri is not one of the client's registered redirect URIs. Send it exactly as it is registered.")

    static let codeVerifierMissing = SignInError(
        .invalidRequest, .invalidRequest,
        "code_verifier is missing. Send the verifier whose challenge went with the authorization request.")

    static let nonceMissing = SignInError(
        .invalidRequest, .invalidRequest,
        "nonce is missing. This client signs in with a nonce from the attempts endpoint only.")

    static let nothingConfirms = SignInError(
        .invalidRequest, .invalidRequest,
        "This provider has no ID tokens, which alone confirm nonce, acr_values and context. Leave them out.")

    static let nonceNotIssued = SignInError(
        .invalidRequest, .invalidRequest,
        "nonce was not handed out by this server, or was used, or has expired. Start again with a new attempt.")

    /// The user of a sign-in that is sent again was erased since.
    static let userErased = SignInError(
        .refusedByCarrier("invalid_grant"), .requestDenied,
        "The code was used already, and its user has been erased since. Start again with a new authorization request.")

    /// The identity was moved from: whoever has it now is not for sure who had it then, and not for sure somebody else.
    static let identityMoved = SignInError(
        .refusedByCarrier("request_denied"), .requestDenied,
        "This user has moved to another carrier, and signs in there now. Sign in with the present carrier; if the move "
            + "was a mistake, the operator can undo it.")

    /// The user of a sign-in that is sent again has signed out since, or a session of theirs was ended otherwise.
    static let signedOutSince = SignInError(
        .refusedByCarrier("invalid_grant"), .requestDenied,
        "The code was used already, and its user was signed out since. Start a new sign-in.")

    static let sentTooOften = SignInError(
        .refusedByCarrier("invalid_grant"), .requestDenied,
        "The code was used already, and the same sign-in was sent too often since. Start a new sign-in.")

    static let unknownHandle = SignInError(
        .invalidToken, .invalidRequest,
        "state_key is unknown, was used, or has expired, or code_verifier is not that of the code_challenge the sign-in "
            + "was started with. Sign in again to get a new one.")

    static let userAlreadyExists = SignInError(
        .userAlreadyExists, .invalidRequest, "This user is registered already. Sign in instead.")

    static let emailDomainBlocked = SignInError(
        .emailDomainBlocked, .invalidRequest,
        "E-mail addresses of this domain cannot register. Use another address.")

    static let sessionUnknown = SignInError(
        .invalidToken, .invalidRequest,
        "The session token is missing, unknown, expired or revoked. Sign in again.")

    /// Also of others' sessions: whoever guesses ids learns nothing.
    static let noSuchSession = SignInError(
        .notFound, .invalidRequest, "You have no session of this id. List your sessions to see their ids.")

    static let noSuchIdentity = SignInError(
        .notFound, .invalidRequest, "You have no identity of this id. List your identities to see their ids.")

    static let lastIdentity = SignInError(
        .lastIdentity, .invalidRequest,
        "This is your last identity: without it you could not sign in. Erase the account instead, if that is meant.")

    /// One text for all that may be wrong with it: whoever tries tokens learns nothing.
    static let refreshTokenInvalid = SignInError(
        .invalidGrant, .requestDenied,
        "The refresh token is unknown, expired, revoked, used before, or of another client. Sign in again.")

    static let refreshContended = SignInError(
        .temporarilyUnavailable, .serverError,
        "The refresh token is being used by many at once. Send the same request again in a moment.", retryAfter: 1,
        fault: .ours)

    static let transactionIncomplete = SignInError(
        .invalidRequest, .invalidRequest,
        "context or acr_values is missing. Send both as they stood in the authorization request.")

    static let codeUsed = SignInError(
        .refusedByCarrier("invalid_grant"), .requestDenied,
        "The code was used already. Ask the user again, and send the new code.", codeMayBeSpent: true)

    /// The carrier has said yes by then, and the code is spent.
    static let receiptNotRecorded = SignInError(
        .temporarilyUnavailable, .serverError,
        "The server cannot reach its records, and the code is spent. Ask the user again in a moment.", retryAfter: 5,
        fault: .ours, codeMayBeSpent: true)

    static let unknownReceipt = SignInError(
        .invalidToken, .invalidRequest,
        "The receipt is not one that this server gave. Do not carry the transaction out.")

    static let expiredReceipt = SignInError(
        .invalidToken, .invalidRequest,
        "The receipt has expired. Do not carry the transaction out; have the user approve it again.")

    static let usedReceipt = SignInError(
        .invalidToken, .invalidRequest,
        "The receipt was redeemed before. Do not carry the transaction out a second time.")

    static let internalFault = SignInError(
        .serverError, .serverError, "The server met an error of its own. Try again later.", fault: .ours)

    static func malformedAttributes(_ problems: [String]) -> SignInError {
        SignInError(.invalidRequest, .invalidRequest, problems.joined(separator: "; ") + ".")
    }

    /// Never "signed out" or "unknown": the store has not said so.
    package init(_ error: StorageError) {
        self.init(
            .temporarilyUnavailable, .serverError,
            error.code == .overloaded
                ? "The server is busy. Send the same request again in a moment."
                : "The server cannot reach its records. Send the same request again in a moment.",
            retryAfter: error.code == .overloaded ? 1 : 5, fault: .ours)
    }
}

/// Runs a step of the store, its failure told in the API's words.
func storing<Value>(
    _ step: () async throws(StorageError) -> Value
) async throws(SignInError) -> Value {
    do throws(StorageError) {
        return try await step()
    } catch {
        throw SignInError(error)
    }
}
