import OpenIDConnect
import SignIn
import StorageModel

extension SignInError {
    static let clientHasNoKey = SignInError(
        .invalidRequest, .configurationError,
        "This client_id cannot start sign-ins: the administrator must configure a private_key for the client.",
        fault: .ours)

    static let addressUnknown = SignInError(
        .invalidRequest, .configurationError,
        "Carriers cannot notify this server of the outcome: the administrator must configure public_url.", fault: .ours)

    static let backchannelOff = SignInError(
        .notFound, .configurationError,
        "This provider is not configured for backchannel authentication. The administrator can set "
            + "backchannel_token_delivery_mode.", fault: .ours)

    static let clientCannotAuthenticate = SignInError(
        .invalidRequest, .configurationError,
        "This client_id cannot start sign-ins: the administrator must configure a secret or a private_key for "
            + "the client.",
        fault: .ours)

    static let deliveryModeNotSupported = carrierError(
        "The provider does not list the configured mode in backchannel_token_delivery_modes_supported. The "
            + "administrator must set backchannel_token_delivery_mode to one that the provider supports.",
        .configurationError,
        fault: .ours)

    static let userCodeNotSupported = invalidRequest("user_code is not supported by this provider. Leave it out.")

    static let bindingMessageMissing = invalidRequest(
        "binding_message is missing. Send the text that the user sees where the sign-in began.")

    static let backchannelNotRepeated = invalidRequest(
        "A sign-in at this provider cannot be retried. Start a new sign-in.")

    static let cannotVerifyTokens = SignInError(
        .temporarilyUnavailable, .serverError,
        "The provider's configuration or keys cannot be fetched at the moment. Poll again in a few seconds.",
        retryAfter: 5,
        fault: .provider)

    static let carrierCannotStart = carrierError(
        "This provider does not offer backchannel authentication. Sign the user in with an authorization code "
            + "instead.",
        .configurationError)

    /// A session of the user was ended after the first poll.
    static let backchannelSignedOutSince = invalidGrant(
        "The outcome was returned before, and its user was signed out since. Start a new sign-in.")

    static let backchannelUnknown = SignInError(
        .notFound, .invalidRequest, "auth_req_id is unknown or has ended. Start a new sign-in.")

    static let backchannelExpired = SignInError(
        .expired, .requestTimeout,
        "The user did not respond in time. Start a new sign-in; one at a carrier can also be retried with POST.")

    static let backchannelCancelled = SignInError(
        .invalidRequest, .requestDenied, "This sign-in was cancelled. Start a new sign-in.")

    static let backchannelCompleted = invalidRequest(
        "The user has already responded to this sign-in. Get the outcome with GET, or start a new sign-in.")

    static let backchannelTriedTooOften = invalidRequest("This sign-in was retried too often. Start a new sign-in.")

    /// The record of a sign-in changed at every try to change it.
    static let backchannelContended = SignInError(
        StorageError(.overloaded, reason: "a backchannel authentication changes too often"))

    static let polledTooSoon = SignInError(
        .rateLimited, .serverError, "Poll one sign-in at most once a second.", retryAfter: 1)

    static let notificationTokenUnknown = SignInError(
        .invalidToken, .invalidRequest,
        "The notification token is missing, malformed, unknown or replaced. Send the token of the latest request.")

    static let notificationOfAnother = invalidRequest(
        "auth_req_id or state does not match the request that the notification token belongs to.")

    static let notificationWithoutAccessToken = invalidRequest(
        "access_token is missing, but the scope asks for user attributes. Send it with the ID token.")

    static let cannotVerifyNotification = SignInError(
        .temporarilyUnavailable, .serverError,
        "The notification cannot be verified at the moment. Send it again in a few seconds.", retryAfter: 5,
        fault: .provider)

    /// The API's error for a provider's error code, without an authorization code.
    static func refusedBackchannel(_ code: String) -> SignInError {
        // CIBA Core section 11: the provider's own word for the same.
        if code == "expired_token" { return .backchannelExpired }
        let isOurs = code == "invalid_client" || code == "unauthorized_client"
        let cause = OIDCError(
            isOurs ? .clientRefused : .carrierRefused, carrierError: code,
            reason: "The provider refused the backchannel authentication.")
        let known = SignInError(cause)
        return SignInError(
            known.code, known.errorType, remedy(of: code) ?? remedy(known.errorType), providerCode: known.providerCode,
            fault: known.fault
        ).explained(by: cause)
    }

    /// For the codes of CIBA Core sections 11 and 13 that have their own remedy.
    private static func remedy(of code: String) -> String? {
        switch code {
        case "access_denied": "The user denied the sign-in. Start a new one when the user is ready."
        case "expired_login_hint_token": "login_hint_token has expired. Get a new one, and start a new sign-in."
        case "unknown_user_id": "The provider does not know this user. Check the hint."
        case "missing_user_code": "The provider wants the user's code. Send it as user_code."
        case "invalid_user_code": "user_code is wrong. Ask the user for it again."
        case "invalid_binding_message": "The provider does not accept binding_message. Send a shorter or plainer one."
        case "transaction_failed": "The provider could not finish this sign-in. Start a new one."
        case "invalid_grant":
            "The provider does not know this sign-in, or has returned its outcome before. Start a new one."
        default: nil
        }
    }

    private static func remedy(_ type: ErrorType) -> String {
        switch type {
        case .requestDenied:
            "The user denied the sign-in, or the phone cannot be reached. Retry with POST when the user is ready."
        case .requestTimeout: "The user did not respond in time. Retry this sign-in with POST, or start a new one."
        case .discoveryStateError:
            "The provider does not know this user. Check login_hint; at a carrier, run carrier discovery again."
        case .invalidRequest: "The provider does not accept the request. Check scope, acr_values, prompt and context."
        case .configurationError:
            "The provider does not accept this server's requests. The administrator must check the client's "
                + "registration and private_key."
        case .serverError, .networkFailure: "The provider has an internal error. Retry this sign-in in a moment."
        case .unknownError: "The provider refused the sign-in. Start a new sign-in, or use another sign-in method."
        }
    }
}
