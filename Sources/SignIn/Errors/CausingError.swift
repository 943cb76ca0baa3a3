import OpenIDConnect

/// An error that can be another one's cause: what the operator's log says of it.
protocol CausingError: Error {
    /// The check of the ID token that failed, if one did.
    var check: IDTokenCheck? { get }
    /// What exactly was wrong.
    var reason: String { get }
    /// The provider's own error code, if it sent one.
    var carrierError: String? { get }
    /// The request to the provider that failed.
    var request: OIDCError.FailedRequest? { get }
}

extension OIDCError: CausingError {}

extension SignInError: CausingError {
    var reason: String { cause ?? description }
}
