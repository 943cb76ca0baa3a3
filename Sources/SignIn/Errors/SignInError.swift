public import OpenIDConnect

/// Why a use case said no, in the words of the API.
///
/// Its texts are safe to log and to answer: no secret, code, token, subject or attribute is ever in them.
public struct SignInError: Error, Sendable, Hashable {
    public enum Code: Sendable, Hashable {
        case invalidRequest
        /// A session token or a registration handle that is worth nothing.
        case invalidToken
        /// The sign-in of the session is too old for what is asked (RFC 9470 section 3).
        case insufficientUserAuthentication
        case invalidIDToken
        /// The carrier refused the code, by this code of its own or of OAuth's.
        case refusedByCarrier(String)
        /// A refresh token that is worth nothing.
        case invalidGrant
        case emailDomainBlocked
        case userAlreadyExists
        /// Without it the user could not sign in any more.
        case lastIdentity
        case notFound
        /// No tokens of the provider are stored for the user.
        case grantMissing
        /// The provider has ended what the user agreed to.
        case grantRevoked
        /// The user did not answer a server-initiated sign-in in time.
        case expired
        case rateLimited
        /// The carrier's answer cannot be used, or the carrier cannot be reached.
        case carrierError
        case carrierTimeout
        /// The store cannot tell, or the carrier is not asked for the moment.
        case temporarilyUnavailable
        case serverError

        /// The `error` of an answer.
        public var text: String {
            switch self {
            case .invalidRequest: "invalid_request"
            case .invalidToken: "invalid_token"
            case .insufficientUserAuthentication: "insufficient_user_authentication"
            case .invalidIDToken: "invalid_id_token"
            case .refusedByCarrier(let code): code
            case .invalidGrant: "invalid_grant"
            case .emailDomainBlocked: "email_domain_blocked"
            case .lastIdentity: "last_identity"
            case .userAlreadyExists: "user_already_exists"
            case .notFound: "not_found"
            case .grantMissing: "grant_missing"
            case .grantRevoked: "grant_revoked"
            // CIBA Core section 11.
            case .expired: "expired_token"
            case .rateLimited: "rate_limited"
            case .carrierError: "carrier_error"
            case .carrierTimeout: "carrier_timeout"
            case .temporarilyUnavailable: "temporarily_unavailable"
            case .serverError: "server_error"
            }
        }
    }

    public let code: Code
    public let errorType: ErrorType
    /// What was wrong and what to do.
    public let description: String
    /// The check of the ID token that failed, if that is why.
    public let check: IDTokenCheck?
    /// Seconds after which another try makes sense, if it does.
    public let retryAfter: Int64?
    /// Whose fault it is, by which it is logged as information, a warning or an error.
    public let fault: Fault
    /// True if the authorization code may have been used up.
    let codeMayBeSpent: Bool
    public internal(set) var correlationID: CorrelationID?

    public enum Fault: Sendable, Hashable {
        /// The app's or its user's.
        case client
        case carrier
        case ours
    }

    init(
        _ code: Code, _ errorType: ErrorType, _ description: String, check: IDTokenCheck? = nil,
        retryAfter: Int64? = nil, fault: Fault = .client, codeMayBeSpent: Bool = false
    ) {
        self.code = code
        self.errorType = errorType
        self.description = description
        self.check = check
        self.retryAfter = retryAfter
        self.fault = fault
        self.codeMayBeSpent = codeMayBeSpent
    }

    func with(_ correlationID: CorrelationID) -> SignInError {
        var error = self
        error.correlationID = correlationID
        return error
    }
}
