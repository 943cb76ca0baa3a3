extension SignInError {
    /// What to show to the person who uses the app: short, without technical terms, and the same for every cause that the
    /// person can do nothing about.
    public var userMessage: String {
        switch code {
        case .invalidToken, .invalidGrant: "You have been signed out. Please sign in again."
        case .insufficientUserAuthentication: "Please sign in again to continue."
        case .emailDomainBlocked: "This e-mail address cannot be used. Please use another one."
        case .userAlreadyExists: "There is already an account for this sign-in."
        case .lastIdentity: "You cannot remove the only way you sign in."
        case .grantMissing, .grantRevoked: "Please connect your account again."
        case .expired: "There was no answer in time. Please try again."
        case .rateLimited, .temporarilyUnavailable: "The service is busy. Please try again in a moment."
        case .notFound: "This could not be found."
        case .invalidRequest, .invalidIDToken, .refusedByCarrier, .carrierError, .carrierTimeout, .serverError:
            errorType.userMessage
        }
    }
}

extension ErrorType {
    fileprivate var userMessage: String {
        switch self {
        case .requestDenied: "Signing in was declined. Please try again."
        case .requestTimeout: "There was no answer in time. Please try again."
        case .networkFailure: "There is a problem with the connection. Please try again."
        case .discoveryStateError: "Please choose your mobile carrier again."
        case .configurationError: "Signing in is not available at the moment."
        case .invalidRequest, .serverError, .unknownError: "Signing in did not work. Please try again."
        }
    }
}
