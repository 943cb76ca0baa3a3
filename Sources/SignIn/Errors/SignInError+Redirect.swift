import OpenIDConnect

/// What redirect sign-ins refuse.
extension SignInError {
    static let redirectUnknown = SignInError(
        .invalidRequest, .invalidRequest,
        "This sign-in is unknown, was finished already, or took longer than ten minutes. Start a new sign-in.")

    static let otherBrowser = SignInError(
        .invalidRequest, .requestDenied,
        "This sign-in was started in another browser, or cookies are off. Allow cookies and start a new sign-in here.")

    static let clientNotNamed = SignInError(
        .invalidRequest, .invalidRequest, "client_id is missing, and there is more than one client. Send it.")

    static let popupNeedsOrigin = SignInError(
        .invalidRequest, .invalidRequest,
        "A popup needs a redirect_uri of http or https, whose origin is told the outcome. Send such a one.")

    static let codeChallengeMissing = SignInError(
        .invalidRequest, .invalidRequest,
        "code_challenge is missing. A page gets its session_id in a URL, and needs a code verifier to exchange it.")

    static let networkNotNamed = SignInError(
        .invalidRequest, .discoveryStateError,
        "mccmnc is missing, and no place where users choose their carrier is configured. Send mccmnc.")

    static let carrierNotChosen = SignInError(
        .refusedByCarrier("access_denied"), .discoveryStateError, "No carrier was chosen. Start a new sign-in.")

    static let carrierNotNamed = SignInError(
        .carrierError, .serverError, "The answer does not name the carrier by its mccmnc. Start a new sign-in.",
        fault: .carrier)

    static let codeMissing = SignInError(
        .carrierError, .serverError, "The provider's answer has no code. Start a new sign-in.", fault: .carrier)

    static let codeOfAnotherSignIn = SignInError(
        .refusedByCarrier("invalid_grant"), .requestDenied,
        "The answer has the code of another sign-in. Start a new sign-in.")

    static let issuerMixedUp = SignInError(
        .carrierError, .serverError,
        "The answer names another issuer than the provider that was asked. Start a new sign-in.", fault: .carrier)

    static let issuerNotNamed = SignInError(
        .carrierError, .serverError,
        "The answer does not name its issuer, although the provider's always do. Start a new sign-in.", fault: .carrier)

    static let tooManyStarts = SignInError(
        .temporarilyUnavailable, .serverError, "Too many sign-ins are being started. Try again in a moment.",
        retryAfter: 1, fault: .ours)

    static let sessionCodeUnknown = SignInError(
        .invalidToken, .invalidRequest,
        "session_id is unknown, was used, or has expired. Start a new sign-in.")

    static let sessionCodeVerifierWrong = SignInError(
        .refusedByCarrier("invalid_grant"), .requestDenied,
        "code_verifier is not that of the code_challenge the sign-in was started with. Start a new sign-in.")

    /// The carrier sent the browser back with an error (OpenID Connect Core section 3.1.2.6).
    static func refusedAtAuthorization(_ carrierError: String) -> SignInError {
        let isCode =
            (1...64).contains(carrierError.utf8.count)
            && carrierError.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
        let type = ErrorType(carrierError: carrierError)
        let description =
            switch type {
            case .requestDenied: "The sign-in was denied. Start a new one if that was not meant."
            case .requestTimeout: "The sign-in was not approved in time. Start a new one."
            case .discoveryStateError: "The carrier does not know this user. Start again and choose the carrier anew."
            case .configurationError, .invalidRequest:
                "The provider does not accept this server's request. The operator has to check the client's registration."
            case .serverError, .networkFailure: "The provider has a fault of its own. Try again later."
            case .unknownError: "The provider refused the sign-in. Start a new one."
            }
        return SignInError(.refusedByCarrier(isCode ? carrierError : "access_denied"), type, description)
    }
}
