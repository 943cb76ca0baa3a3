import OpenIDConnect
import StorageModel

/// Errors of backchannel authentications.
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

    package static let backchannelUnknown = SignInError(
        .notFound, .invalidRequest, "auth_req_id is unknown or has ended. Start a new sign-in.")

    package static let backchannelExpired = SignInError(
        .expired, .requestTimeout,
        "The user did not respond in time. Start a new sign-in; one at a carrier can also be retried with POST.")

    package static let backchannelCancelled = SignInError(
        .invalidRequest, .requestDenied, "This sign-in was cancelled. Start a new sign-in.")

    static let backchannelCompleted = invalidRequest(
        "The user has already responded to this sign-in. Get the outcome with GET, or start a new sign-in.")

    static let backchannelTriedTooOften = invalidRequest("This sign-in was retried too often. Start a new sign-in.")

    /// The record of a sign-in changed at every try to change it.
    static let backchannelContended = SignInError(
        StorageError(.overloaded, reason: "a backchannel authentication changes too often"))

    static let polledTooSoon = SignInError(
        .rateLimited, .serverError, "Poll one sign-in at most once a second.", retryAfter: 1)

    /// Nil if the request may be sent.
    init?(_ admission: BackchannelAuthenticationAdmission) {
        let (problem, seconds): (String, Int64)
        switch admission {
        case .admitted: return nil
        case .tooManyOfCaller:
            (problem, seconds) = (
                "This caller has too many backchannel authentications under way. Wait until some have ended.", 60
            )
        case .tooManyPendingOfCaller:
            (problem, seconds) = (
                "This caller has too many pending requests at this provider. Wait until some are answered or expire.",
                30
            )
        case .tooManyPendingForUserOfCaller, .tooManyPendingForUser:
            (problem, seconds) = (
                "This user has several pending requests already. Wait until one is answered or expires.", 30
            )
        case .tooManyPendingAtProvider:
            (problem, seconds) = (
                "Too many users of this provider have a pending request. Wait until some are answered or expire.", 30
            )
        case .promptedTooOften(let wait), .promptedTooOftenByCaller(let wait):
            (problem, seconds) = (
                "This user was prompted too often, cancelled requests included. Wait \(wait) s, and ask only when the "
                    + "user expects it.", wait
            )
        case .tooManyPromptsOfCaller(let wait):
            (problem, seconds) = (
                "This caller had too many users prompted who did not sign in. Wait \(wait) s, and ask users only when "
                    + "they expect it.", wait
            )
        }
        self.init(.rateLimited, .serverError, problem, retryAfter: seconds)
    }

    package static let notificationTokenUnknown = SignInError(
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

/// Errors of sign-ins by phone number.
extension SignInError {
    package static let operatorUnknown = SignInError(
        .operatorUnknown, .discoveryStateError,
        "No operator of this provider serves this mccmnc, or has this name. Use another sign-in method.")

    static let operatorUnknownToFinder = SignInError(
        .operatorUnknown, .discoveryStateError,
        "Telco Finder knows no operator of this number that the provider has. Use another sign-in method.")

    static let operatorNotNamed = invalidRequest(
        "operator or mccmnc is missing, and the provider has several operators. Send one of them, or post phone_number "
            + "to a provider with Telco Finder.")

    /// A number that one operator reports, and that is another's.
    static let numberOfOtherOperator = finderError(
        "The mobile operator vouched for a number of another operator. Use another sign-in method.",
        .requestDenied,
        cause: "Telco Finder names another operator of the number than the one that reported it")

    static let numberUnknownToFinder = finderError(
        "Telco Finder does not know the number that the mobile operator vouched for. Use another sign-in method.",
        .discoveryStateError, cause: "Telco Finder does not know the number that the operator reported")

    static let finderContradicts = finderError(
        "What Telco Finder says of the mobile operator differs from this server's configuration. The "
            + "administrator must compare issuer and api_root.", .configurationError, fault: .ours,
        cause: "apiRoot or authProviderConfiguration of Telco Finder differs from the configured operator's")

    private static func finderError(
        _ description: String, _ type: ErrorType, fault: Fault = .provider, cause: String
    ) -> SignInError {
        var error = carrierError(description, type, fault: fault)
        error.cause = cause
        error.codeMayBeSpent = true
        return error
    }

    /// Telco Finder did not say what it should. It refuses this server, and never the user.
    static func finderFailed(_ error: OIDCError) -> SignInError {
        let mapped = SignInError(error, advice: "Send operator or mccmnc, or try again in a moment.")
        guard mapped.code != .carrierTimeout, mapped.code != .temporarilyUnavailable else { return mapped }
        return carrierError(
            "Telco Finder does not tell the operator of the number. Send operator or mccmnc, or use another sign-in "
                + "method.", mapped.errorType, fault: mapped.fault == .client ? .provider : mapped.fault
        ).explained(by: error)
    }

    static func tooManyLookups(_ seconds: Int64) -> SignInError {
        SignInError(
            .rateLimited, .serverError,
            "The operator of this number, or of numbers from this network, was looked up too often. Wait \(seconds) s.",
            retryAfter: seconds)
    }

    /// This error after the code was posted.
    var afterCode: SignInError {
        var error = self
        error.codeMayBeSpent = true
        return error
    }

    static let notForNumbers = invalidRequest(
        "scope, acr_values, context, max_age and prompt are not for sign-ins by phone number. Leave them out.")

    static let codeNotForNumbers = invalidRequest(
        "This provider takes no code from an app. Begin at its start URL.")

    static func notAtOperators(_ instead: String) -> SignInError {
        invalidRequest("A provider of kind camara has no such call. \(instead)")
    }

    /// What a provider with mobile operators has in place of other sign-ins.
    package static let signInAtOperator =
        "Begin the sign-in at its start, or send an operator_token to its sign-in call."

    static let noOperatorTokens = invalidRequest(
        "This provider takes no operator_token. Send one to a provider of kind camara.")

    static let providerOfNumbersNotNamed = invalidRequest(
        "provider is missing, and several providers verify phone numbers. Send its name.")

    static let numberMalformed = invalidRequest(
        "phone_number must be + and 5 to 15 digits, with the country code and without separators.")

    package static let operatorTokenUsed = invalidGrant(
        "operator_token was used before. Get another one from the mobile operator.")

    /// Also for other sessions' verifications, so that guesses learn nothing.
    package static let noSuchVerification = SignInError(
        .notFound, .invalidRequest, "The session has no verification of this id. Start another one.")

    package static let confirmationWrong = SignInError(
        .invalidGrant, .requestDenied,
        "confirmation is for another verification. Send the one with which the app was opened.")

    static let verificationEnded = SignInError(
        .invalidGrant, .requestDenied,
        "The verification has ended: it was confirmed before, has failed, or has expired. Read its outcome, or start "
            + "another one.")

    static func tooManyVerifications(_ seconds: Int64) -> SignInError {
        SignInError(
            .rateLimited, .serverError,
            "This user or this number was verified too often. Wait \(seconds) s.", retryAfter: seconds)
    }

    static let deviceNotAuthenticated = SignInError(
        .carrierTimeout, .requestTimeout,
        "The mobile operator did not authenticate the device in time. Get another operator_token, or use another "
            + "sign-in method.", fault: .provider, codeMayBeSpent: true)

    package static let notOnMobileNetwork = SignInError(
        .notOnMobileNetwork, .requestDenied,
        "The mobile operator could not recognise the device by its network or SIM. Use another sign-in method, or "
            + "start again over the mobile network.")

    package static func simSwapped(withinHours hours: Int) -> SignInError {
        SignInError(
            .simSwapped, .requestDenied,
            "The SIM of this number was changed within the last \(hours) hours. Use another sign-in method.")
    }

    /// The error of an operator's authorization response. Anybody's browser can bring one, so that it is never the
    /// server's own fault.
    static func refusedByOperator(_ code: String) -> SignInError {
        refusedByOperator(refusedAtAuthorization(code), atRegistration: .provider)
    }

    /// The error of an operator's other OAuth endpoints: for tokens, for backchannel authentications, and for pushed
    /// authorization requests. Some refuse there a device that they do not recognise, with the code of an authorization
    /// response.
    static func refusedTokens(_ error: OIDCError, codeWasPosted: Bool = false, advice: String? = nil) -> SignInError {
        let refusal = SignInError(error, codeWasPosted: codeWasPosted, advice: advice)
        guard error.code == .carrierRefused else { return refusal }
        return refusedByOperator(refusal, atRegistration: .ours)
    }

    /// - Parameters:
    ///   - refusal: What it would be at another provider.
    ///   - fault: Whose it is that the operator does not accept this server's request.
    private static func refusedByOperator(_ refusal: SignInError, atRegistration fault: Fault) -> SignInError {
        let code = refusal.carrierError.map { "[\($0)] " } ?? ""
        var mapped: SignInError
        switch OperatorErrorTable.subject(of: refusal.carrierError) {
        case .user: return refusal
        case .device: mapped = notOnMobileNetwork
        case .registration:
            mapped = carrierError(
                code + "The mobile operator does not accept this server's request. Use another sign-in method; the "
                    + "administrator must check the client's registration, scopes and purpose.", .configurationError,
                fault: fault)
        case .mobileOperator:
            mapped = carrierError(
                code + "The mobile operator cannot authenticate the device. Use another sign-in method.")
        }
        mapped.codeMayBeSpent = refusal.codeMayBeSpent
        return mapped.explained(by: refusal)
    }

    /// What an operator's API refused.
    /// - Parameter advice: What the code's state allows to do.
    static func refusedByAPI(_ error: OIDCError, _ advice: String) -> SignInError {
        let code = error.carrierError ?? ""
        switch OperatorAPIRefusal(code: code) {
        case .notAuthenticatedByNetwork: return notOnMobileNetwork
        case .tooManyRequests:
            return SignInError(
                .temporarilyUnavailable, .serverError,
                "[\(code)] The mobile operator accepts no more requests at the moment. \(advice)",
                retryAfter: error.retryAfter ?? 60, fault: .provider)
        case .permissionDenied:
            return carrierError(
                "[\(code)] The mobile operator does not let this client call the API. The administrator must check "
                    + "the client's scopes and purpose.", .configurationError, fault: .ours)
        case .unauthenticated:
            return carrierError("[\(code)] The mobile operator's API does not accept the access token. \(advice)")
        case .noNumberInToken, .unknownNumber:
            return carrierError(
                "[\(code)] The mobile operator does not tell the number. Use another sign-in method.",
                .discoveryStateError)
        case .invalidRequest, .other:
            return carrierError("[\(code)] The mobile operator's API refused the request. \(advice)")
        }
    }
}
