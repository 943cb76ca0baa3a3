import OpenIDConnect
import Primitives
import SignIn

extension SignInError {
    static let operatorUnknownToFinder = SignInError(
        .operatorUnknown, .discoveryStateError,
        "Telco Finder knows no operator of this number or address that the provider has. Use another sign-in "
            + "method.")

    /// A phone that knows no network has nothing to send, or says so (`65535`).
    static let operatorNotNamed = SignInError(
        .operatorUnknown, .discoveryStateError,
        "operator or mccmnc is missing or names no network, and the provider has several operators. Send one of them, "
            + "post phone_number to a provider with Telco Finder, or use another sign-in method.")

    /// No feature sends browsers to operators.
    static let numbersNotByRedirects = invalidRequest(
        "This server sends no browsers to mobile operators. Send an operator_token.")

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
        let mapped = SignInError(ofOperator: error, advice: "Send operator or mccmnc, or try again in a moment.")
        guard mapped.code != .carrierTimeout, mapped.code != .temporarilyUnavailable else { return mapped }
        return carrierError(
            "Telco Finder does not tell the operator of the number. Send operator or mccmnc, or use another sign-in "
                + "method.", mapped.errorType, fault: mapped.fault == .client ? .provider : mapped.fault
        ).explained(by: error)
    }

    static func tooManyLookups(_ seconds: Int64) -> SignInError {
        SignInError(
            .rateLimited, .serverError,
            "The operator of this number, or of phones from this network, was looked up too often. Wait \(seconds) s.",
            retryAfter: seconds)
    }

    /// This error after the code was posted.
    var afterCode: SignInError { altered(self) { $0.codeMayBeSpent = true } }

    static let notForNumbers = invalidRequest(
        "scope, acr_values, context, max_age and prompt are not for sign-ins by phone number. Leave them out.")

    static let operatorTokenIsHint = invalidRequest(
        field: "operator_token", "is a number or another hint for a user. Send a token of the operator.")

    static let codeNotForNumbers = invalidRequest(
        "This provider takes no code from an app. Begin at its start URL.")

    static let noOperatorTokens = invalidRequest(
        "This provider takes no operator_token. Send one to a provider of kind camara.")

    static let tokenOfFirebaseNeeded = invalidRequest(
        "This provider takes a token of Firebase Phone Number Verification alone. Send it as token.")

    static let noTokensOfFirebase = invalidRequest(
        "This provider takes no token of Firebase. Send one to a provider of kind firebase_pnv.")

    static let tokenOfFirebaseUsed = invalidGrant("token was used before. Get another one from Firebase.")

    static let credentialNeeded = invalidRequest(
        "This provider takes digital credentials alone. Begin at its start, and confirm with the wallet's response.")

    static let noCredentials = invalidRequest(
        "This provider takes no digital credential. Begin at one that GET /auth/number/methods names for it.")

    static let operatorWithoutCredentials = SignInError(
        .operatorUnknown, .discoveryStateError,
        "This mobile operator redeems no digital credentials. Use another sign-in method.")

    static func credentialInvalid(_ check: PresentedCredential.Check) -> SignInError {
        credentialInvalid(check.demand, check.rawValue)
    }

    static let credentialSessionEnded = invalidGrant(
        "sign_in_id is unknown, was used, or has expired. Start again.")

    static func proofOfOtherStrategy(_ strategy: CredentialStrategy) -> SignInError {
        invalidRequest(
            "This was begun with the strategy \(strategy.rawValue): "
                + (strategy == .link ? "send the code of the browser." : "send the vp_token of the wallet."))
    }

    static let noDesktops = invalidRequest(field: "strategy", "desktop is not configured at this provider.")

    static let noDesktopSignIns = invalidRequest(field: "strategy", "desktop verifies numbers, and signs nobody in.")

    static let numberOfDesktopMissing = invalidRequest(
        field: "phone_number", "is missing: a QR code verifies one number alone.")

    static let redirectURIOfLinkMissing = invalidRequest(
        field: "redirect_uri", "is missing: a browser opens a link, and ends there.")

    static let simSwappedLately = SignInError(
        .simSwapped, .requestDenied, "The SIM of this number was changed lately. Use another sign-in method.")

    static let simUnknown = aggregatorError("does not tell whether the SIM was changed")

    static let providerOfNumbersNotNamed = invalidRequest(
        "provider is missing, and several providers verify phone numbers. Send its name.")

    static let numberMalformed = invalidRequest(
        "phone_number must be + and 5 to 15 digits, with the country code and without separators.")

    static let operatorTokenUsed = invalidGrant(
        "operator_token was used before. Get another one from the mobile operator.")

    /// Also for other sessions' verifications, so that guesses learn nothing.
    static let noSuchVerification = SignInError(
        .notFound, .invalidRequest, "The session has no verification of this id. Start another one.")

    static let confirmationMissing = invalidRequest(
        field: "confirmation", "is missing: the verification is by redirects.")

    static let confirmationWrong = SignInError(
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

    /// The error of an operator's authorization response. Anybody's browser can bring one, so that it is never the
    /// server's own fault.
    static func refusedByOperator(_ code: String) -> SignInError {
        refusedByOperator(refusedAtAuthorization(code), atRegistration: .provider)
    }

    /// The error of an operator's other OAuth endpoints: for tokens, for backchannel authentications, and for pushed
    /// authorization requests. Some refuse there a device that they do not recognise, with the code of an authorization
    /// response.
    static func refusedTokens(_ error: OIDCError, codeWasPosted: Bool = false, advice: String? = nil) -> SignInError {
        let refusal = SignInError(ofOperator: error, codeWasPosted: codeWasPosted, advice: advice)
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

    /// The error of a request to an operator or to Telco Finder.
    init(ofOperator error: OIDCError, codeWasPosted: Bool = false, advice: String? = nil) {
        self.init(error, codeWasPosted: codeWasPosted, advice: advice)
        guard error.code == .apiRefused else { return }
        let isSpent = self.codeMayBeSpent
        // Each access token is for one call: it is spent.
        self = Self.refusedByAPI(error, advice ?? "Start again with a new authorization request.")
            .explained(by: error)
        self.codeMayBeSpent = isSpent
    }

    /// What an operator's API refused.
    private static func refusedByAPI(_ error: OIDCError, _ advice: String) -> SignInError {
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
        case .other:
            return carrierError("[\(code)] The mobile operator's API refused the request. \(advice)")
        }
    }
}

/// What the error codes of a mobile operator's OAuth endpoints mean for an app that signs a user in by number.
///
/// An app can do nothing about a fault of the operator or of this server's registration, but another way to sign in may
/// work. So it gets the codes about its user, its device and its token, and `carrier_error` for all others, after which
/// clients go on to the next way.
enum OperatorErrorTable {
    /// What a code is about.
    enum Subject {
        /// The device, which the operator does not recognise by its network or SIM: `not_on_mobile_network`. No page
        /// is shown, because `prompt` is `none` (OpenID Connect Core section 3.1.2.6).
        case device
        /// The user or the token of the app, which gets the code.
        case user
        /// This server's registration with the operator, or its requests: `carrier_error`, and an error in the log.
        case registration
        /// The operator: `carrier_error`, and a warning in the log.
        case mobileOperator
    }

    /// The codes that are not about the operator.
    static let subjects: [String: Subject] = [
        "login_required": .device, "interaction_required": .device, "account_selection_required": .device,
        "access_denied": .user, "consent_required": .user, "invalid_grant": .user,
        // RFC 6749 sections 4.1.2.1 and 5.2, OpenID Connect Core section 3.1.2.6, RFC 9126 section 2.3.
        "invalid_request": .registration, "invalid_client": .registration, "unauthorized_client": .registration,
        "invalid_scope": .registration, "unsupported_grant_type": .registration,
        "unsupported_response_type": .registration, "invalid_request_object": .registration,
        "invalid_request_uri": .registration, "request_not_supported": .registration,
        "request_uri_not_supported": .registration, "registration_not_supported": .registration,
        // RFC 9449 section 5, RFC 8707 section 2.
        "invalid_dpop_proof": .registration, "invalid_target": .registration,
    ]

    /// - Parameter code: Nil for one that is none.
    static func subject(of code: String?) -> Subject { code.flatMap { subjects[$0] } ?? .mobileOperator }
}
