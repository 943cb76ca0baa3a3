import OpenIDConnect
import SignIn

extension SignInError {
    static let loginNotInitiated = SignInError(
        .notFound, .invalidRequest,
        "Sign-ins at this provider are not initiated by third parties. The administrator can set "
            + "initiate_login_client.")

    static let initiatedForAnotherIssuer = invalidRequest(
        field: "iss", "is not the issuer of this provider. Send the issuer of its metadata.")

    static let targetNotRegistered = invalidRequest(
        field: "target_link_uri",
        "is not one of the client's redirect_uris for web pages. Send a registered one, or none."
    ).telling(.misconfigured)

    static let redirectUnknown = invalidRequest(
        "state is unknown, was used, or has expired. Start a new sign-in."
    ).telling(.over)

    static let otherBrowser = SignInError(
        .invalidRequest, .requestDenied,
        "The sign-in was started in another browser, or cookies are off. Start a new sign-in, with cookies on."
    ).telling(.elsewhere)

    static let clientNotNamed = invalidRequest(
        "client_id is missing, and the provider has more than one client. Send client_id.")

    static let popupNeedsOrigin = invalidRequest(
        "A popup needs an http or https redirect_uri: its origin receives the outcome. Send such a redirect_uri."
    ).telling(.misconfigured)

    static let clientTypeNotAllowed = invalidRequest(
        "redirect_uri is not for this client_type. Send the client_type of this frontend. For spa, and for an app's "
            + "https redirect_uri, the administrator must name it in client_types."
    ).telling(.misconfigured)

    static let codeChallengeMissing = invalidRequest(
        "code_challenge is missing. A page gets its session_id in a URL, so the exchange needs a code verifier.")

    static let networkNotNamed = SignInError(
        .invalidRequest, .discoveryStateError,
        "mccmnc is missing, and no carrier discovery UI is configured. Send mccmnc.")

    /// The provider did not accept the pushed authorization request, so the browser is not sent there. An error code of
    /// the provider means the same as in an authorization response (RFC 9126 section 2.3).
    static func notPushed(_ error: OIDCError) -> SignInError {
        guard error.code == .carrierRefused, let code = error.carrierError else {
            return SignInError(error, advice: "Start a new sign-in.")
        }
        return refusedAtAuthorization(code, because: error)
    }

    static let carrierNotChosen = SignInError(
        .refusedByProvider, .discoveryStateError,
        "The response of carrier discovery names no mccmnc. Start a new sign-in.", providerCode: "access_denied")

    static let carrierNotNamed = carrierError("The authorization response has no mccmnc. Start a new sign-in.")

    /// - Parameter problems: What is wrong, without any text of it.
    static func malformedResponse(_ problems: String) -> SignInError {
        carrierError("The authorization response is malformed: \(problems). Start a new sign-in.")
    }

    static let codeMissing = carrierError("The authorization response has no code. Start a new sign-in.")

    static let codeOfAnotherSignIn = invalidGrant(
        "The authorization response has the code of another sign-in. Start a new sign-in.")

    static let issuerMixedUp = mixUp(
        "The authorization response names another issuer than the provider's. Start a new sign-in.")

    static let issuerNotNamed = mixUp(
        "The authorization response has no iss, which this provider must send. Start a new sign-in.")

    private static func mixUp(_ description: String) -> SignInError {
        SignInError(.issuerMismatch, .unknownError, description, fault: .provider)
    }

    static let responseNotSigned = invalidRequest(
        "The authorization response is not signed, and this provider's must be. Start a new sign-in."
    ).telling(.unconfirmed)

    static let responseSigned = invalidRequest(
        "The authorization response is a JWT, which was not asked for. Start a new sign-in."
    ).telling(.unconfirmed)

    /// A signed authorization response is not used.
    init(_ refusal: AuthorizationResponseError) {
        switch refusal {
        case .failed(let check):
            self = .invalidRequest("\(check.demand) (\(check.rawValue)) Start a new sign-in.").telling(.unconfirmed)
        case .unknown(let error): self.init(error, advice: "Start a new sign-in.")
        }
    }

    static let responseOfOtherClient = carrierError(
        "The authorization response is for another client than the request's. Start a new sign-in.")

    static let tooManyStarts = SignInError(
        .temporarilyUnavailable, .serverError, "Too many sign-ins are under way. Try again in a moment.",
        retryAfter: 1, fault: .ours)

    static let sessionCodeUnknown = SignInError(
        .invalidToken, .invalidRequest, "session_id is unknown, was used, or has expired. Start a new sign-in.")

    static let sessionCodeVerifierWrong = invalidGrant(
        "code_verifier does not match the code_challenge of the sign-in. Start a new sign-in.")
}
