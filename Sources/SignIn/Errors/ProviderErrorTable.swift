/// What providers' error codes mean for an app: one row for each code in the app kits or in RFC 6749.
package struct ProviderErrorTable {
    package struct Row: Sendable, Hashable {
        package let code: String
        package let type: ErrorType
        /// The cause, as a sentence.
        package let cause: String

        init(_ code: String, _ type: ErrorType, _ cause: String) {
            self.code = code
            self.type = type
            self.cause = cause
        }
    }

    /// The row of a code; an unlisted code is ``ErrorType/unknownError``.
    static func row(of code: String) -> Row { byCode[code] ?? Row(code, .unknownError, unknownCause) }

    /// Whether a provider's code means something else when this server returns it; `sim_swapped` means the same.
    static func isReserved(_ code: String) -> Bool {
        byCode[code] == nil && code != SignInError.Code.simSwapped.rawValue
            && (SignInError.Code(rawValue: code) != nil || codesOfTheAPI.contains(code))
    }

    private static let codesOfTheAPI: Set = [
        "invalid_api_key", "user_not_registered", "unlinked_user", "method_not_allowed", "payload_too_large",
        "unsupported_media_type",
    ]

    package static let unknownCause = "The provider refused for a reason of its own."

    package static let rows: [Row] = [
        Row("invalid_request", .configurationError, "The provider finds the token request malformed."),
        Row("unauthorized_client", .configurationError, "The provider does not let this client redeem codes."),
        Row("invalid_client", .configurationError, "The provider does not accept this server as the client."),
        Row("access_denied", .requestDenied, "The user or the provider denied the request."),
        Row(
            "request_denied", .requestDenied,
            "The provider denied the request: code_verifier may not match the authorization request."),
        Row("device_unavailable", .requestDenied, "The user's device cannot be reached."),
        // OpenID Connect Core section 3.1.2.6.
        Row(
            "login_required", .requestDenied,
            "The provider must ask the user to authenticate, which prompt=none does not allow."),
        Row(
            "interaction_required", .requestDenied,
            "The provider must show the user a page, which prompt=none does not allow."),
        Row(
            "consent_required", .requestDenied,
            "The provider must ask the user for consent, which prompt=none does not allow."),
        Row(
            "account_selection_required", .requestDenied,
            "The provider must ask the user to select an account, which prompt=none does not allow."),
        // OpenID Connect Core Error Code unmet_authentication_requirements 1.0.
        Row(
            "unmet_authentication_requirements", .requestDenied,
            "The provider cannot authenticate the user as acr_values demand."),
        // RFC 6749 section 5.2. Some providers say request_denied instead.
        Row(
            "invalid_grant", .requestDenied,
            "The provider refused the code: it was used or has expired, or code_verifier or redirect_uri does not "
                + "match the authorization request."),
        Row("invalid_scope", .invalidRequest, "The provider does not grant a requested scope."),
        Row("invalid_request_object", .invalidRequest, "The provider cannot read or verify the request object."),
        Row("temporarily_unavailable", .serverError, "The provider is too busy."),
        Row("server_error", .serverError, "The provider has an internal error."),
        // RFC 9449 section 5.
        Row(
            "invalid_dpop_proof", .serverError,
            "The provider does not accept this server's DPoP proof: one of their clocks may be wrong."),
        Row("network_failure", .networkFailure, "The provider's network failed."),
        Row("authentication_timed_out", .requestTimeout, "The user was not authenticated in time."),
        Row("user_not_found", .discoveryStateError, "The provider does not know the user."),
        Row("user_unsupported", .discoveryStateError, "The provider does not serve this user here."),
        Row("invalid_login_hint", .discoveryStateError, "The provider does not know the user of login_hint."),
        Row(
            "invalid_login_hint_token", .discoveryStateError,
            "login_hint_token belongs to another provider, or has expired."),
        // CIBA Core sections 11 and 13.
        Row("expired_token", .requestTimeout, "The user did not respond to the backchannel authentication in time."),
        Row("transaction_failed", .requestDenied, "The provider could not finish the backchannel authentication."),
        Row("expired_login_hint_token", .discoveryStateError, "login_hint_token has expired."),
        Row("unknown_user_id", .discoveryStateError, "The provider does not know the user of the hint."),
        Row("missing_user_code", .invalidRequest, "The provider demands a user_code for this user."),
        Row("invalid_user_code", .requestDenied, "user_code is not the user's."),
        Row("invalid_binding_message", .invalidRequest, "The provider does not accept binding_message."),
    ]

    private static let byCode = Dictionary(rows.map { ($0.code, $0) }, uniquingKeysWith: { first, _ in first })
}

extension ProviderErrorTable.Row {
    /// Whether the provider, or this server as its client, is at fault: 502 `carrier_error`. Otherwise the response is
    /// 401 with the provider's code.
    package var isProvidersFault: Bool { type == .serverError || concernsClient }

    /// Whether the user must do something else to sign in than the request allowed or demanded.
    var concernsAuthentication: Bool { code.hasSuffix("_required") || code == "unmet_authentication_requirements" }

    /// Whether this server's registration with the provider is at fault.
    var concernsClient: Bool { code == "invalid_client" || code == "unauthorized_client" }
}
