import OpenIDConnect
import SignIn

extension SignInError {
    static let unknownResource = SignInError(
        .notFound, .invalidRequest,
        "This provider has no resource of this name. Use a name from its configured resources.")

    static let grantMissing = SignInError(
        .grantMissing, .requestDenied,
        "No tokens of this provider are stored for this user and client. Sign the user in with the provider.")

    static let grantRevoked = SignInError(
        .grantRevoked, .requestDenied,
        "The provider or the user has revoked the user's consent. Sign the user in with the provider again.")

    static let grantLost = SignInError(
        .grantRevoked, .requestDenied,
        "The provider refuses the stored refresh token. The response to an earlier refresh was lost, and probably the "
            + "next token with it. Sign the user in with the provider again.")

    /// - Parameter check: The check of the ID token that failed.
    static func refreshedIDTokenInvalid(_ check: IDTokenCheck?) -> SignInError {
        let demand = check.map { " " + $0.demand.dropLast() + " (\($0.rawValue))." } ?? ""
        var error = SignInError(
            .grantRevoked, .requestDenied,
            "The provider refreshed the user's tokens with an ID token that is not valid." + demand
                + " Sign the user in with the provider again.", fault: .provider)
        error.check = check
        return error
    }

    static let grantContended = SignInError(
        .temporarilyUnavailable, .serverError,
        "Another instance is refreshing the provider's tokens. Send the same request again in a moment.", retryAfter: 1,
        fault: .ours)

    /// The row stays, because the key may be configured again.
    static let tokensUnreadable = SignInError(
        .serverError, .serverError,
        "The stored tokens of this provider cannot be decrypted. Sign the user in with the provider again; the "
            + "administrator must check encryption_keys.", fault: .ours)

    static let resourceRefused = carrierError(
        "The provider issues access tokens but does not accept them for this resource. The administrator must check "
            + "its URL and the client's scopes.")

    /// A provider's failure outside a sign-in.
    init(ofResource error: OIDCError) {
        switch error.code {
        case .timedOut, .unreachable, .overloaded, .suspended, .storeUnavailable, .clientRefused:
            self.init(error, advice: "Send the same request again in a moment.")
        case .metadataRefused: self.init(error)
        default:
            self = .carrierError("The provider's response cannot be used. \(error.reason) Try again later.")
                .explained(by: error)
        }
    }
}
