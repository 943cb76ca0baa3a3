package import OpenIDConnect

/// The error of a use case, with the code and the description that the API returns.
///
/// Its texts are safe to log and to send: no secret, code, token, subject or attribute is ever in them.
package struct SignInError: Error, Sendable, Hashable {
    package enum Code: Sendable, Hashable {
        case invalidRequest
        /// A session token or a registration handle that is unknown, used or expired.
        case invalidToken
        /// The session's sign-in is too old for this request (RFC 9470 section 3).
        case insufficientUserAuthentication
        case invalidIDToken
        /// The carrier refused the code, with this error code of OAuth or of its own.
        case refusedByCarrier(String)
        /// A refresh token that is unknown, used, revoked or expired.
        case invalidGrant
        case emailDomainBlocked
        case userAlreadyExists
        /// Without this identity the user could no longer sign in.
        case lastIdentity
        case notFound
        /// No tokens of the provider are stored for the user.
        case grantMissing
        /// The provider or the user has revoked the user's consent.
        case grantRevoked
        /// The user did not respond to a server-initiated sign-in in time.
        case expired
        case rateLimited
        /// The carrier's response cannot be used, or the carrier cannot be reached.
        case carrierError
        case carrierTimeout
        /// The store is unavailable, or the carrier's circuit breaker is open.
        case temporarilyUnavailable
        case serverError

        /// The `error` of a response.
        package var text: String {
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

    package let code: Code
    package let errorType: ErrorType
    /// What was wrong and what to do, for the developer of the app.
    package let description: String
    /// The check of the ID token that failed, if one did.
    package internal(set) var check: IDTokenCheck?
    /// What exactly was wrong with the provider's response, for the operator's log; nil if no provider was involved.
    package internal(set) var cause: String?
    /// Seconds after which to try again; nil if a retry does not help.
    package let retryAfter: Int64?
    /// Who caused it. The client's errors are logged as info, the carrier's as warnings, the server's as errors.
    package let fault: Fault
    /// True if the authorization code may have been used up.
    var codeMayBeSpent: Bool
    package internal(set) var correlationID: CorrelationID?

    package enum Fault: Sendable, Hashable {
        /// The app or its user.
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

    static func invalidRequest(_ description: String) -> SignInError {
        SignInError(.invalidRequest, .invalidRequest, description)
    }

    static func invalidGrant(_ description: String) -> SignInError {
        SignInError(.refusedByCarrier("invalid_grant"), .requestDenied, description)
    }

    static func carrierError(_ description: String) -> SignInError {
        SignInError(.carrierError, .serverError, description, fault: .carrier)
    }

    func with(_ correlationID: CorrelationID) -> SignInError {
        var error = self
        error.correlationID = correlationID
        return error
    }
}
