import OpenIDConnect

/// What is refused of providers' resources.
extension SignInError {
    static let unknownResource = SignInError(
        .notFound, .invalidRequest,
        "This provider has no resource of this name. Use one that is configured under its resources.")

    static let grantMissing = SignInError(
        .grantMissing, .requestDenied,
        "Nothing of this provider is stored for this user and this client. Have the user sign in with the provider.")

    static let grantRevoked = SignInError(
        .grantRevoked, .requestDenied,
        "The provider has ended what the user agreed to, or the user has taken it back. Have the user sign in with the "
            + "provider again.")

    static let grantContended = SignInError(
        .temporarilyUnavailable, .serverError,
        "The provider's tokens are being renewed elsewhere. Send the same request again in a moment.", retryAfter: 1,
        fault: .ours)

    /// The row is left as it is: the key may come back.
    static let tokensUnreadable = SignInError(
        .serverError, .serverError,
        "What is stored of this provider cannot be read. Have the user sign in with the provider again; the operator "
            + "has to check vault.encryption_keys.", fault: .ours)

    static let resourceRefused = SignInError(
        .carrierError, .serverError,
        "The provider gives new access tokens and does not take them for this resource. The operator has to check its "
            + "URL and the client's scopes.", fault: .carrier)

    /// What goes wrong at a provider when nobody signs in.
    init(ofResource error: OIDCError) {
        switch error.code {
        case .timedOut:
            self.init(
                .carrierTimeout, .requestTimeout, "The provider did not answer in time. Try again later.",
                fault: .carrier)
        case .unreachable:
            self.init(
                .carrierError, .networkFailure, "The provider cannot be reached. Try again later.", fault: .carrier)
        case .overloaded, .suspended:
            self.init(
                .temporarilyUnavailable, .serverError,
                error.code == .overloaded
                    ? "Too many requests to this provider are under way. Send the same request again in a moment."
                    : "The provider has not answered lately and is not asked for the moment. Try again later.",
                retryAfter: error.retryAfter ?? 5, fault: .carrier)
        case .clientRefused:
            self.init(
                .carrierError, .configurationError,
                "The provider does not accept this server as the client. The operator has to check the client's id, its "
                    + "secret or key, and its token_endpoint_auth_method.", fault: .ours)
        default:
            self.init(
                .carrierError, .serverError, "The provider's answer cannot be used. \(error.reason) Try again later.",
                fault: .carrier)
        }
    }
}
