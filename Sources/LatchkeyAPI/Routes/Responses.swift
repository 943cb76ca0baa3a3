public import HTTPServer
public import HTTPTypes
import OpenIDConnect
public import Primitives
package import SignIn

/// An error response of the API: a status, and the JSON that all errors share.
package struct APIError: Error, Sendable {
    package let status: HTTPResponse.Status
    package let code: String
    let errorType: ErrorType
    /// For developers: what was wrong and what to do.
    package let description: String
    /// For the person who uses the app.
    package private(set) var userMessage: String
    var correlationID: CorrelationID?
    /// Beside the fields of every error.
    package var headers: HTTPFields = [:]
    /// What an unknown user needs to register, if that is the reason.
    var offer: RegistrationOffer?
    /// Whether the path has no route and no file, for all callers. A browser gets a page then.
    var isUnknownPath = false

    package init(
        _ status: HTTPResponse.Status, _ code: String, _ errorType: ErrorType, _ description: String,
        headers: HTTPFields = [:], userMessage: String? = nil, correlationID: CorrelationID? = nil
    ) {
        self.status = status
        self.code = code
        self.errorType = errorType
        self.description = description
        self.userMessage = userMessage ?? UserMessage.text(code, errorType)
        self.headers = headers
        self.correlationID = correlationID
    }

    /// This error, with the text for a situation in place of the usual one for the person who uses the app.
    package func telling(_ situation: UserMessage.Situation) -> APIError {
        var error = self
        error.userMessage = situation.rawValue
        return error
    }

    /// - Parameter asProblem: Whether the client accepts problem details (RFC 9457): they have the same members, and
    ///   the RFC's. `type` is `about:blank`, because `error` tells the kinds of errors apart.
    func response(requestID: String, asProblem: Bool = false) -> Response {
        var json = JSONObjectWriter(capacity: 512)
        if asProblem {
            json.add("type", "about:blank")
            json.add("title", status.reasonPhrase)
            json.add("status", status.code)
            json.add("detail", description)
        }
        json.add("error", code)
        json.add("error_description", description)
        json.add("message", userMessage)
        json.add("error_type", errorType.rawValue)
        json.add("correlation_id", ifPresent: correlationID?.text)
        json.add("request_id", requestID)
        if let offer { offer.write(to: &json) }
        var response = Response.json(status, json.finish())
        if asProblem { response.headers[.contentType] = "application/problem+json" }
        response.headers.append(contentsOf: headers)
        return response
    }

    package static let invalidAPIKey = APIError(
        .unauthorized, "invalid_api_key", .invalidRequest,
        "The API key is missing or unknown. Send a valid one in X-API-KEY, once.",
        headers: [.wwwAuthenticate: #"ApiKey name="X-API-KEY""#])

    /// As ``invalidAPIKey``, for a service, which may use HTTP Basic. Elsewhere this challenge would make a browser ask
    /// its user for a password.
    static let invalidServiceKey = APIError(
        invalidAPIKey.status, invalidAPIKey.code, invalidAPIKey.errorType,
        "The API key is missing or unknown. Send a valid one in X-API-KEY, once, or as the password of HTTP Basic.",
        headers: [
            .wwwAuthenticate: #"ApiKey name="X-API-KEY""#,
            .wwwAuthenticate: #"Basic realm="latchkey", charset="UTF-8""#,
        ])

    /// As ``invalidAPIKey``, for a request with an `Origin`. It is the same for every origin and key.
    static let invalidAPIKeyOfPage = APIError(
        invalidAPIKey.status, invalidAPIKey.code, invalidAPIKey.errorType,
        invalidAPIKey.description + " A page needs none if the administrator lists its origin in allowed_origins, "
            + "letter by letter as the browser sends it.",
        headers: invalidAPIKey.headers)

    /// No session token was sent (RFC 6750 section 3.1: then the challenge names no error).
    static let sessionMissing = APIError(
        .unauthorized, "invalid_token", .invalidRequest,
        "The session token is missing. Send Authorization: Bearer and the token.",
        headers: [.wwwAuthenticate: "Bearer"])

    package static let sessionInvalid = APIError(
        .unauthorized, "invalid_token", .requestDenied,
        "The session token is malformed, unknown, expired or revoked. Sign in again.",
        headers: [.wwwAuthenticate: #"Bearer error="invalid_token""#])

    /// As ``sessionInvalid``, for a token that is bound to a key, or must be (RFC 9449 section 7.1).
    package static let boundTokenInvalid = APIError(
        .unauthorized, "invalid_token", .requestDenied,
        "The session token is bound to a key: send Authorization: DPoP and a proof with its hash. Or it is unknown, "
            + "expired or revoked: sign in again.",
        headers: [.wwwAuthenticate: #"DPoP error="invalid_token", algs="ES256""#])

    /// A proof beside a session token (RFC 9449 section 7.1).
    package static func proofRefused(_ error: SignInError) -> APIError {
        APIError(
            .unauthorized, error.codeText, error.errorType, error.description,
            headers: [.wwwAuthenticate: #"DPoP error="invalid_dpop_proof", algs="ES256""#])
    }

    static let crossSiteRequest = APIError(
        .forbidden, "invalid_request", .requestDenied,
        "A session cookie allows changes only from a page of this server. Send Authorization: Bearer instead.")

    static let notReady = APIError(
        .serviceUnavailable, "temporarily_unavailable", .serverError,
        "The server is about to stop, or cannot use its database. Try again in 5 seconds.",
        headers: [.retryAfter: "5"])

    /// RFC 6749 section 5.2.
    static func unsupportedGrantType(_ correlationID: CorrelationID?) -> APIError {
        APIError(
            .badRequest, "unsupported_grant_type", .invalidRequest,
            "grant_type is not supported. Send refresh_token.", correlationID: correlationID)
    }

    package static func malformed(_ description: String, _ correlationID: CorrelationID? = nil) -> APIError {
        APIError(.badRequest, "invalid_request", .invalidRequest, description, correlationID: correlationID)
    }

    package static let notAForm = malformed(
        "The body is not a form. Send application/x-www-form-urlencoded, with at most 100 fields.")

    /// The provider vouches for the user, who is not registered.
    /// - Parameter compatibility: With `compat.android` the error has the name that the published Android example
    ///   compares with.
    package static func mustRegister(_ offer: RegistrationOffer, _ compatibility: Compatibility) -> APIError {
        var error = APIError(
            .forbidden, compatibility.android ? "unlinked_user" : "user_not_registered", .requestDenied,
            "This identity is not registered. Register with state_key and the missing attributes.",
            correlationID: offer.correlationID)
        error.offer = offer
        return error
    }

    package init(_ error: SignInError) {
        self.init(
            error.code.status, error.codeText, error.errorType, error.description, userMessage: error.userMessage,
            correlationID: error.correlationID)
        if let seconds = error.retryAfter { headers[.retryAfter] = String(seconds) }
        // RFC 9110 section 15.5.2: a 401 names a scheme.
        if status == .unauthorized {
            let isOfToken = error.code == .invalidToken || error.code == .insufficientUserAuthentication
            headers[.wwwAuthenticate] = isOfToken ? #"Bearer error="\#(error.code.rawValue)""# : "Bearer"
        }
    }

    init(_ error: HTTPError) {
        let type: ErrorType =
            switch error.status.code {
            case 408: .requestTimeout
            case 429, 500...: .serverError
            default: .invalidRequest
            }
        self.init(error.status, error.code, type, error.message, headers: error.headers)
        isUnknownPath = error.status == .notFound
    }
}

extension SignInError.Code {
    /// The status of a code (docs/errors.md).
    var status: HTTPResponse.Status {
        switch self {
        case .invalidRequest, .unauthorizedClient, .invalidKeyProof, .expired, .operatorUnknown: .badRequest
        case .invalidToken, .insufficientUserAuthentication, .invalidIDToken, .issuerMismatch, .invalidGrant,
            .refusedByProvider, .notOnMobileNetwork, .credentialInvalid:
            .unauthorized
        case .emailDomainBlocked, .grantRevoked, .simSwapped: .forbidden
        case .notFound: .notFound
        case .userAlreadyExists, .lastIdentity, .grantMissing, .receiptRedeemed: .conflict
        case .rateLimited: .tooManyRequests
        case .serverError: .internalServerError
        case .carrierError, .aggregatorError: .badGateway
        case .temporarilyUnavailable: .serviceUnavailable
        case .carrierTimeout: .gatewayTimeout
        }
    }
}

extension Response {
    private static let jsonHeaders: HTTPFields = [
        .contentType: "application/json; charset=utf-8", .cacheControl: "no-store",
    ]

    /// A JSON response that must not be stored.
    package static func json(_ status: HTTPResponse.Status, _ body: [UInt8]) -> Response {
        Response(status: status, headers: jsonHeaders, body: body)
    }

    /// A JSON object that must not be stored.
    public static func json(
        _ status: HTTPResponse.Status, capacity: Int, _ write: (inout JSONObjectWriter) -> Void
    ) -> Response {
        var json = JSONObjectWriter(capacity: capacity)
        write(&json)
        // Consumed, or the end of the text would be appended to a copy.
        return .json(status, (consume json).finish())
    }

    package static let emptyObject = json(.ok, Array("{}".utf8))

    /// 303, which turns a POST into a GET, and sends no referrer.
    package static func redirect(to location: String) -> Response {
        Response(
            status: .seeOther,
            headers: [.location: location, .cacheControl: "no-store", .referrerPolicy: "no-referrer"])
    }
}

extension ConsentedClaims {
    /// The claims in the form of the carriers' userinfo response: objects with a `value`.
    func writeObjects(to json: inout JSONObjectWriter) {
        for claim in present {
            guard let value = self[claim] else { continue }
            json.add(named: claim.rawValue) { $0.add("value", json: value.json) }
        }
    }
}

extension RegistrationOffer {
    func write(to json: inout JSONObjectWriter) {
        json.add("zenkey_attributes", object: writeAttributes)
        json.add("state_key", handle.exposed)
        json.add("missing", missing.map(\.rawValue))
        json.add("expires_in", expiresIn)
    }

    /// The provider's attributes in the form of its userinfo response. `sub`, which the apps read, is the handle.
    private func writeAttributes(to json: inout JSONObjectWriter) {
        json.add("sub", handle.exposed)
        profile.writeName(to: &json)
        if let email = profile[.email] { json.add("email", object: { $0.add("value", email) }) }
        if let phone = profile[.phoneNumber] { json.add("phone", object: { $0.add("value", phone) }) }
        if let code = profile[.postalCode] { json.add("postal_code", object: { $0.add("value", code) }) }
        claims.writeObjects(to: &json)
    }
}

/// Where responses follow the published example API rather than docs/.
public struct Compatibility: Sendable, Hashable {
    /// Responses are as the published Android example expects them: `unlinked_user` for an unknown user, and a profile
    /// whose attributes are objects with a `value`.
    public var android = false

    public init() {}
}
