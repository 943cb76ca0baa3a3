import HTTPServer
import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn

/// An error response of a call: its status and `error`, with an example.
struct APIRefusal: Sendable {
    /// The name of the example: the `error`, unless two statuses or texts share it.
    let name: String
    let status: HTTPResponse.Status
    let example: JSONValue
    /// The same as problem details (RFC 9457).
    let problem: JSONValue
    /// Whether `error` may also be any other code of the carrier.
    var isCarriersOwn = false

    init(_ error: APIError, as name: String? = nil) {
        self.name = name ?? error.code
        status = error.status
        example = Self.example(error, asProblem: false)
        problem = Self.example(error, asProblem: true)
    }

    init(
        _ code: SignInError.Code, _ type: ErrorType, _ description: String, carrierCode: String? = nil,
        as name: String? = nil, isCarriersOwn: Bool = false
    ) {
        var error = APIError(code.status, carrierCode ?? code.rawValue, type, description)
        error.correlationID = CorrelationID("b0e5-41")
        self.init(error, as: name)
        self.isCarriersOwn = isCarriersOwn
    }

    private static func example(_ error: APIError, asProblem: Bool) -> JSONValue {
        let body = error.response(requestID: "k3x9ab-1f", asProblem: asProblem).body
        return (try? JSONValue(parsing: body)) ?? .null
    }

    /// A refusal of the server's own.
    private init(_ status: HTTPResponse.Status, _ code: String, _ message: String) {
        self.init(APIError(HTTPError(status, code: code, message: message)))
    }
}

extension APIRefusal {
    /// The refusals of any request: sizes, timeouts, malformed HTTP, overload.
    static let ofAnyRequest: [APIRefusal] = [
        .invalidRequest,
        APIRefusal(.requestTimeout, "request_timeout", "The content did not arrive in time."),
        APIRefusal(.contentTooLarge, "payload_too_large", "The content is too large."),
        APIRefusal(.uriTooLong, "uri_too_long", "The request line is too long."),
        APIRefusal(
            .expectationFailed, "expectation_failed", "No expectation but 100-continue is supported."),
        .rateLimited,
        APIRefusal(
            .requestHeaderFieldsTooLarge, "header_fields_too_large",
            "The header fields are too large."),
        APIRefusal(APIError(HTTPError.internalServerError)),
        APIRefusal(.overloaded),
        APIRefusal(
            .httpVersionNotSupported, "http_version_not_supported",
            "The HTTP version is not supported. Send HTTP/1.1."),
    ]

    static let invalidRequest = APIRefusal(
        .malformed("client_id is missing; mccmnc must be 5 or 6 digits.", CorrelationID("b0e5-41")))
    static let rateLimited = APIRefusal(
        APIError(.tooManyRequests, "rate_limited", .serverError, "Too many requests. Wait 1 s, and send fewer."))
    static let methodNotAllowed = APIRefusal(
        .methodNotAllowed, "method_not_allowed",
        "This path does not support the method. Use one of: DELETE, GET, HEAD, OPTIONS, PATCH.")
    static let pathUnknown = APIRefusal(.nothingThere)
    static let unsupportedMediaType = APIRefusal(.unsupportedMediaType)

    static let providerUnknown = APIRefusal(
        .notFound, .invalidRequest, "There is no sign-in provider of this name. Use one that is configured.",
        as: "provider_unknown")
    static let otherClient = APIRefusal(.clientNotAllowed)
    static let otherClientAtSignIn = APIRefusal(
        APIError(SignInError.clientNotAllowed), as: "unauthorized_client_at_sign_in")
    static let mustRegister = APIRefusal(
        APIError(
            .forbidden, "user_not_registered", .requestDenied,
            "This identity is not registered. Register with state_key and the missing attributes."))
    /// With `compat.android`.
    static let unlinkedUser = APIRefusal(
        APIError(
            .forbidden, "unlinked_user", .requestDenied,
            "This identity is not registered. Register with state_key and the missing attributes."))
    static let emailDomainBlocked = APIRefusal(
        .emailDomainBlocked, .invalidRequest, "E-mail addresses of this domain cannot register. Use another address.")

    static let userRegistered = APIRefusal(
        .userAlreadyExists, .invalidRequest, "This user is registered already. Sign in instead.")
    static let registrationOver = APIRefusal(.registrationOver, as: "registration_over")

    /// The refusals of calls that ask a carrier.
    static let ofCarriers: [APIRefusal] = [
        APIRefusal(
            .invalidIDToken, .unknownError,
            "The ID token must contain the nonce of this sign-in (nonce). Start again with a new authorization "
                + "request."),
        APIRefusal(
            .refusedByCarrier, .requestDenied,
            "The carrier refused the code: it was used or has expired, or code_verifier or redirect_uri is not that of "
                + "the authorization request.", carrierCode: "invalid_grant"),
        carriersOwnCode, carrierError, carrierTimeout,
    ]
    static let operatorUnknown = APIRefusal(
        .operatorUnknown, .discoveryStateError,
        "No operator of this provider serves this mccmnc, or has this name. Use another sign-in method.")
    /// The refusals of calls that ask a mobile operator.
    static let ofOperators: [APIRefusal] = [
        operatorUnknown,
        APIRefusal(
            .notOnMobileNetwork, .requestDenied,
            "The operator could not recognise the device by its network or SIM. Use another sign-in method."),
        APIRefusal(
            .simSwapped, .requestDenied,
            "The SIM of this number was changed within the last 72 hours. Use another sign-in method."),
    ]
    static let carriersOwnCode = APIRefusal(
        .refusedByCarrier, .discoveryStateError, "The carrier does not serve this user here.",
        carrierCode: "user_unsupported", as: "code_of_the_carrier", isCarriersOwn: true)
    static let carrierTimeout = APIRefusal(
        .carrierTimeout, .requestTimeout, "The carrier did not answer in time. Try again.")
    static let crossSite = APIRefusal(.crossSiteRequest, as: "cross_site_request")
    static let carrierError = APIRefusal(
        .carrierError, .serverError,
        "The provider's response cannot be used. The token endpoint's response has no id_token. Start again with a new "
            + "authorization request.")

    /// The refusals of callers without the required access.
    static func ofAccess(_ access: APIOperation.Access, _ method: HTTPRequest.Method) -> [APIRefusal] {
        switch access {
        case .open, .browser: []
        case .key, .service: [APIRefusal(.invalidAPIKey)]
        case .keyOrPage, .refresh: [APIRefusal(.invalidAPIKey), crossSite]
        case .session, .browserSession:
            [APIRefusal(.invalidAPIKey), APIRefusal(.sessionInvalid), otherClient] + (method == .get ? [] : [crossSite])
        case .notification:
            [
                APIRefusal(
                    .invalidToken, .invalidRequest,
                    "The notification token is missing, malformed, unknown or replaced. Send the one that came with "
                        + "the request.", as: "notification_token_unknown")
            ]
        }
    }
}
