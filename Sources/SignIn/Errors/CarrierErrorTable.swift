/// What carriers' error codes mean for an app: one row for each code that the app kits or RFC 6749 know.
package struct CarrierErrorTable {
    package struct Row: Sendable, Hashable {
        package let code: String
        package let type: ErrorType
        /// What it says, as a sentence.
        package let cause: String
    }

    /// The row of a code; a code that is not in the table has ``ErrorType/unknownError``.
    static func row(of code: String) -> Row {
        byCode[code] ?? Row(code: code, type: .unknownError, cause: unknownCause)
    }

    package static let unknownCause = "The provider refused for a reason of its own."

    package static let rows: [Row] = [
        .init(
            code: "invalid_request", type: .configurationError, cause: "The provider finds the token request malformed."
        ),
        .init(
            code: "unauthorized_client", type: .configurationError,
            cause: "The provider does not let this client redeem codes."),
        .init(
            code: "invalid_client", type: .configurationError,
            cause: "The provider does not accept this server as the client."),
        .init(code: "access_denied", type: .requestDenied, cause: "The user or the provider denied the request."),
        .init(
            code: "request_denied", type: .requestDenied,
            cause: "The provider denied the request: code_verifier may not be that of the authorization request."),
        .init(code: "device_unavailable", type: .requestDenied, cause: "The user's device cannot be reached."),
        // RFC 6749 section 5.2, for what carriers also call request_denied.
        .init(
            code: "invalid_grant", type: .requestDenied,
            cause:
                "The provider refused the code: it was used or has expired, or code_verifier or redirect_uri is not that "
                + "of the authorization request."),
        .init(
            code: "invalid_scope", type: .invalidRequest,
            cause: "The provider does not give a scope that was asked for."
        ),
        .init(
            code: "invalid_request_object", type: .invalidRequest,
            cause: "The provider cannot read or verify the request object."),
        .init(code: "temporarily_unavailable", type: .serverError, cause: "The provider is too busy."),
        .init(code: "server_error", type: .serverError, cause: "The provider met an error of its own."),
        .init(code: "network_failure", type: .networkFailure, cause: "The provider's network failed."),
        .init(
            code: "authentication_timed_out", type: .requestTimeout,
            cause: "The user was not authenticated in time."),
        .init(code: "user_not_found", type: .discoveryStateError, cause: "The provider does not know the user."),
        .init(
            code: "user_unsupported", type: .discoveryStateError, cause: "The provider does not serve this user here."),
        .init(
            code: "invalid_login_hint", type: .discoveryStateError,
            cause: "The provider does not know whom login_hint means."),
        .init(
            code: "invalid_login_hint_token", type: .discoveryStateError,
            cause: "login_hint_token is not this provider's, or has expired."),
    ]

    private static let byCode = Dictionary(rows.map { ($0.code, $0) }, uniquingKeysWith: { first, _ in first })
}

extension CarrierErrorTable.Row {
    /// Whether the answer is that the carrier, or this server as its client, is at fault: 502 `carrier_error`. Otherwise
    /// it is 401, and the carrier's code.
    package var isCarriersFault: Bool { type == .serverError || concernsClient }

    /// Whether this server's registration with the carrier is at fault.
    var concernsClient: Bool { code == "invalid_client" || code == "unauthorized_client" }
}
