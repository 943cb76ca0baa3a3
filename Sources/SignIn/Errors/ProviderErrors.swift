package import OpenIDConnect
package import Primitives

extension SignInError {
    /// - Parameters:
    ///   - discoveryUI: Where users choose their carrier; named if the network is unknown.
    ///   - codeWasPosted: True after the provider's response to the token request: the code is spent then, whatever the
    ///     error itself says.
    ///   - advice: What to do; by default, what the code's state allows.
    package init(
        _ error: OIDCError, discoveryUI: EndpointURL? = nil, codeWasPosted: Bool = false, advice: String? = nil
    ) {
        let isSpent = error.codeMayBeSpent || codeWasPosted
        let advice =
            advice
            ?? (isSpent ? "Start again with a new authorization request." : "Send the same request again in a moment.")
        self = Self.mapped(error, discoveryUI, advice).explained(by: error)
        self.codeMayBeSpent = isSpent
    }

    private static func mapped(_ error: OIDCError, _ discoveryUI: EndpointURL?, _ advice: String) -> SignInError {
        switch error.code {
        case .unknownNetwork:
            let place = discoveryUI.map { " Users choose their carrier at \($0.text)." } ?? ""
            return SignInError(
                .invalidRequest, .discoveryStateError,
                "No carrier is known for this mccmnc. Run carrier discovery again, and sign in with the mccmnc that it "
                    + "returns." + place)
        case .discoveryRefused:
            let type = error.carrierError.map { ErrorType(carrierError: $0) } ?? .serverError
            return carrierError(
                "Carrier discovery refused the request. Run carrier discovery again; if it persists, the "
                    + "administrator must check the client's registration.",
                type == .unknownError ? .serverError : type,
                fault: type == .configurationError ? .ours : .provider)
        case .metadataRefused:
            return carrierError(
                "The provider's OpenID configuration cannot be used. \(error.reason) Tell the administrator: this does "
                    + "not pass by itself.", .configurationError)
        case .keysUnavailable:
            return carrierError("The provider's signing keys cannot be fetched. \(error.reason) \(advice)")
        case .carrierRefused: return refused(error.carrierError ?? "invalid_grant", advice)
        case .apiRefused:
            return carrierError("[\(error.carrierError ?? "")] The provider's API refused the request. \(advice)")
        case .clientRefused: return clientRefused(ProviderErrorTable.row(of: error.carrierError ?? "invalid_client"))
        case .invalidIDToken:
            let demand = error.check.map { "\($0.demand.dropLast()) (\($0.rawValue))." } ?? "The ID token is invalid."
            return SignInError(
                .invalidIDToken, .unknownError, demand + " Start again with a new authorization request.")
        case .unusableResponse:
            return carrierError("The provider's response cannot be used. \(error.reason) \(advice)")
        case .timedOut:
            return SignInError(
                .carrierTimeout, .requestTimeout, "The provider did not respond in time. \(advice)", fault: .provider)
        case .unreachable: return carrierError("The provider cannot be reached. \(advice)", .networkFailure)
        case .overloaded, .suspended:
            let cause =
                error.code == .overloaded
                ? "Too many requests to this provider are under way."
                : "The provider's circuit breaker is open after failed requests."
            return SignInError(
                .temporarilyUnavailable, .serverError, "\(cause) \(advice)", retryAfter: error.retryAfter ?? 5,
                fault: .provider)
        case .storeUnavailable:
            return SignInError(
                .temporarilyUnavailable, .serverError, "The server cannot use its database. \(advice)",
                retryAfter: error.retryAfter ?? 5, fault: .ours)
        }
    }

    /// The description has one remedy: the one of the code's kind, or one that fits the code better.
    private static func refused(_ carrierError: String, _ advice: String) -> SignInError {
        let row = ProviderErrorTable.row(of: carrierError)
        if row.concernsClient { return clientRefused(row) }
        let remedy =
            switch row.type {
            // The user has denied nothing if the code or its verifier is wrong.
            case _ where row.code == "invalid_grant": advice
            case .unknownError:
                "Start again with a new authorization request; if it persists, contact the administrator."
            default: row.type.remedy
            }
        let description = "\(row.cause) \(remedy)"
        if row.isProvidersFault {
            return Self.carrierError("[\(row.code)] \(description)", row.type)
        }
        let code = ProviderErrorTable.isReserved(row.code) ? "invalid_grant" : row.code
        return SignInError(.refusedByProvider, row.type, description, providerCode: code)
    }

    private static func clientRefused(_ row: ProviderErrorTable.Row) -> SignInError {
        carrierError(
            "[\(row.code)] \(row.cause) The administrator must compare the client's id, its secret or key, and its "
                + "token_endpoint_auth_method with the provider's portal.", .configurationError, fault: .ours)
    }
}

extension SignInError {
    /// The provider sent the browser back with an error (OpenID Connect Core section 3.1.2.6).
    /// - Parameter cause: What else refused the request; nil for the authorization response.
    package static func refusedAtAuthorization(_ carrierError: String, because cause: OIDCError? = nil) -> SignInError {
        let cause =
            cause
            ?? OIDCError(
                .carrierRefused, carrierError: carrierError,
                reason: "The authorization response, which the browser brought, has an error.")
        let isCode = OIDCError.isErrorCode(carrierError) && !ProviderErrorTable.isReserved(carrierError)
        let row = ProviderErrorTable.row(of: carrierError)
        let type = row.type
        let description =
            switch type {
            case .requestDenied where row.concernsAuthentication: "\(row.cause) Start a new sign-in."
            case .requestDenied: "The user or the provider denied the request. Start a new sign-in."
            case .requestTimeout: "The user did not approve the request in time. Start a new sign-in."
            case .discoveryStateError:
                "The provider does not know this user. At a carrier, run carrier discovery again; elsewhere, offer "
                    + "another way to sign in."
            case .configurationError, .invalidRequest:
                "The provider does not accept this server's request. The administrator must check the client's "
                    + "registration."
            case .serverError, .networkFailure: "The provider has an internal error. Try again later."
            case .unknownError: "The provider refused the request. Start a new sign-in."
            }
        return SignInError(
            .refusedByProvider, type, description, providerCode: isCode ? carrierError : "access_denied"
        ).explained(by: cause)
    }
}

/// What providers' error codes mean for an app: one row for each code in the app kits or in RFC 6749.
package struct ProviderErrorTable {
    package struct Row: Sendable, Hashable {
        package let code: String
        package let type: ErrorType
        /// The cause, as a sentence.
        package let cause: String
        /// Whether the user, or the provider for them, declined.
        package let isDenial: Bool

        init(_ code: String, _ type: ErrorType, _ cause: String, isDenial: Bool = false) {
            self.code = code
            self.type = type
            self.cause = cause
            self.isDenial = isDenial
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
        Row("access_denied", .requestDenied, "The user or the provider denied the request.", isDenial: true),
        Row(
            "request_denied", .requestDenied,
            "The provider denied the request: code_verifier may not match the authorization request.", isDenial: true),
        // Those of Apple and LinkedIn for a user who does not go on.
        Row(
            "user_cancelled_authorize", .requestDenied, "The user did not agree to what the app asks for.",
            isDenial: true),
        Row("user_cancelled_login", .requestDenied, "The user did not sign in.", isDenial: true),
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
