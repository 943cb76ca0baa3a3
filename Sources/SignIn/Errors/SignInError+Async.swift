import OpenIDConnect

/// What is refused of server-initiated sign-ins.
extension SignInError {
    static let clientHasNoKey = SignInError(
        .invalidRequest, .configurationError,
        "This client_id cannot start sign-ins by itself. The operator has to give the client a private_key.",
        fault: .ours)

    static let addressUnknown = SignInError(
        .invalidRequest, .configurationError,
        "This server cannot be told the outcome of a sign-in. The operator has to set public_url.", fault: .ours)

    static let carrierCannotStart = SignInError(
        .carrierError, .configurationError,
        "This carrier does not offer server-initiated sign-in. Sign the user in with an authorization code instead.",
        fault: .carrier)

    /// The session that was collected has been ended since.
    static let backchannelSignedOutSince = SignInError(
        .refusedByCarrier("invalid_grant"), .requestDenied,
        "This sign-in was collected already, and its user was signed out since. Start a new sign-in.")

    static let backchannelUnknown = SignInError(
        .notFound, .invalidRequest,
        "auth_req_id is unknown, or is over. Start a new sign-in.")

    static let backchannelExpired = SignInError(
        .expired, .requestTimeout,
        "The user did not answer in time. Retry this sign-in with POST, or start a new one.")

    static let backchannelCancelled = SignInError(
        .invalidRequest, .requestDenied, "This sign-in was cancelled. Start a new sign-in.")

    static let backchannelCompleted = SignInError(
        .invalidRequest, .invalidRequest,
        "The user has answered this sign-in already. Get the outcome with GET, or start a new sign-in.")

    static let backchannelTriedTooOften = SignInError(
        .invalidRequest, .invalidRequest,
        "This sign-in was retried as often as it may be. Start a new sign-in.")

    static let polledTooSoon = SignInError(
        .rateLimited, .serverError, "Ask about one sign-in once a second at most.", retryAfter: 1)

    static let tooManyBackchannel = SignInError(
        .rateLimited, .serverError,
        "This caller has too many server-initiated sign-ins under way. Wait until some are over.", retryAfter: 60)

    static let tooManyForUser = SignInError(
        .rateLimited, .serverError,
        "This user is being asked several times already. Wait for an answer, or until a request expires.",
        retryAfter: 30)

    static let tooManyAtCarrier = SignInError(
        .rateLimited, .serverError,
        "Too many users of this carrier are being asked already. Wait until some have answered.", retryAfter: 30)

    static let notificationTokenUnknown = SignInError(
        .invalidToken, .invalidRequest,
        "The notification token is missing, malformed, unknown or replaced. Send the one that came with the request.")

    static let notificationOfAnother = SignInError(
        .invalidRequest, .invalidRequest,
        "auth_req_id or state is not that of the request the notification token belongs to.")

    static let notificationWithoutAccessToken = SignInError(
        .invalidRequest, .invalidRequest,
        "access_token is missing, and attributes of the user were asked for. Send it with the ID token.")

    static let cannotVerifyNotification = SignInError(
        .temporarilyUnavailable, .serverError,
        "The notification cannot be verified at present. Send it again in a moment.", retryAfter: 5, fault: .carrier)

    /// What a carrier's error code is in the API's words, where no authorization code is at stake.
    static func refusedBackchannel(_ code: String) -> SignInError {
        let isOurs = code == "invalid_client" || code == "unauthorized_client"
        let known = SignInError(OIDCError(isOurs ? .clientRefused : .carrierRefused, carrierError: code, reason: ""))
        return SignInError(known.code, known.errorType, remedy(known.errorType), fault: known.fault)
    }

    private static func remedy(_ type: ErrorType) -> String {
        switch type {
        case .requestDenied:
            "The user denied the sign-in, or their phone cannot be reached. Retry it when they are ready."
        case .requestTimeout: "The user did not answer in time. Retry this sign-in with POST, or start a new one."
        case .discoveryStateError:
            "The carrier does not know this user. Run carrier discovery again, and check login_hint."
        case .invalidRequest:
            "The carrier does not accept the request. Check scope, acr_values, prompt and context."
        case .configurationError:
            "The carrier does not accept this server's requests. The operator has to check the client's registration "
                + "and private_key."
        case .serverError, .networkFailure: "The carrier has a fault of its own. Retry this sign-in in a moment."
        case .unknownError: "The carrier refused the sign-in. Start a new sign-in, or sign in another way."
        }
    }
}
