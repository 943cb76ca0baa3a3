/// What the error codes of the CAMARA APIs mean for a sign-in (the schemas `ErrorInfo` of number-verification.yaml r3.2
/// and sim-swap.yaml r3.3, and the codes that the API Design Guide adds).
public enum OperatorAPIRefusal: Sendable, Hashable {
    /// The user was not authenticated by the network or the SIM.
    case notAuthenticatedByNetwork
    /// The access token is for no phone number.
    case noNumberInToken
    /// The access token is missing, has expired, or was used before.
    case unauthenticated
    /// The client may not call the API, or the scope is missing.
    case permissionDenied
    /// Too many calls.
    case tooManyRequests
    /// The operator does not know the number, or does not serve it.
    case unknownNumber
    /// The request is not what the API expects.
    case invalidRequest
    /// Any other code.
    case other

    /// The meaning of a code.
    public init(code: String) { self = Self.meanings[code] ?? .other }

    /// The codes that have a meaning.
    public static let meanings: [String: OperatorAPIRefusal] = [
        "NUMBER_VERIFICATION.USER_NOT_AUTHENTICATED_BY_MOBILE_NETWORK": .notAuthenticatedByNetwork,
        "NUMBER_VERIFICATION.INVALID_TOKEN_CONTEXT": .noNumberInToken,
        "INVALID_TOKEN_CONTEXT": .noNumberInToken,
        "UNAUTHENTICATED": .unauthenticated,
        "AUTHENTICATION_REQUIRED": .unauthenticated,
        "PERMISSION_DENIED": .permissionDenied,
        "QUOTA_EXCEEDED": .tooManyRequests,
        "TOO_MANY_REQUESTS": .tooManyRequests,
        "NOT_FOUND": .unknownNumber,
        "IDENTIFIER_NOT_FOUND": .unknownNumber,
        "SERVICE_NOT_APPLICABLE": .unknownNumber,
        "INVALID_ARGUMENT": .invalidRequest,
        "OUT_OF_RANGE": .invalidRequest,
        "MISSING_IDENTIFIER": .invalidRequest,
        "UNNECESSARY_IDENTIFIER": .invalidRequest,
        "UNSUPPORTED_IDENTIFIER": .invalidRequest,
    ]
}
