package import OpenIDConnect
package import Primitives

/// Maps the protocol's errors to the API's: one row for each code.
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
        codeMayBeSpent = isSpent
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

/// Asks a provider; its failure becomes the use case's own error.
func mappingProviderErrors<Value>(
    _ call: @autoclosure () async throws(OIDCError) -> Value, discoveryUI: EndpointURL? = nil,
    codeWasPosted: Bool = false
) async throws(SignInError) -> Value {
    do throws(OIDCError) {
        return try await call()
    } catch {
        throw SignInError(error, discoveryUI: discoveryUI, codeWasPosted: codeWasPosted)
    }
}

/// Refusals of authorization requests.
extension SignInError {
    /// The provider sent the browser back with an error (OpenID Connect Core section 3.1.2.6).
    package static func refusedAtAuthorization(_ carrierError: String) -> SignInError {
        refusedAtAuthorization(
            carrierError,
            because: OIDCError(
                .carrierRefused, carrierError: carrierError,
                reason: "The authorization response, which the browser brought, has an error."))
    }

    /// The provider did not accept the pushed authorization request, so the browser is not sent there. An error code of
    /// the provider means the same as in an authorization response (RFC 9126 section 2.3).
    package static func notPushed(_ error: OIDCError) -> SignInError {
        guard error.code == .carrierRefused, let code = error.carrierError else {
            return SignInError(error, advice: "Start a new sign-in.")
        }
        return refusedAtAuthorization(code, because: error)
    }

    private static func refusedAtAuthorization(_ carrierError: String, because cause: OIDCError) -> SignInError {
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
