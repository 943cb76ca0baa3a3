package import OpenIDConnect

/// Maps the protocol's errors to the API's: one row for each code.
extension SignInError {
    /// - Parameters:
    ///   - discoveryUI: Where users choose their carrier; named if the network is unknown.
    ///   - codeWasPosted: True after the carrier's response to the token request: the code is spent then, whatever the
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
                "Carrier discovery refused the request. Run carrier discovery again; if it persists, the operator must "
                    + "check the client's registration.", type == .unknownError ? .serverError : type,
                fault: type == .configurationError ? .ours : .carrier)
        case .metadataRefused:
            return carrierError(
                "The provider's OpenID configuration cannot be used. \(error.reason) Tell the operator: this does not "
                    + "pass by itself.", .configurationError)
        case .keysUnavailable:
            return carrierError("The provider's signing keys cannot be fetched. \(error.reason) \(advice)")
        case .carrierRefused: return refused(error.carrierError ?? "invalid_grant", advice)
        case .apiRefused: return refusedByAPI(error, advice)
        case .clientRefused: return clientRefused(CarrierErrorTable.row(of: error.carrierError ?? "invalid_client"))
        case .invalidIDToken:
            let demand = error.check.map { "\($0.demand.dropLast()) (\($0.rawValue))." } ?? "The ID token is invalid."
            return SignInError(
                .invalidIDToken, .unknownError, demand + " Start again with a new authorization request.")
        case .unusableResponse:
            return carrierError("The provider's response cannot be used. \(error.reason) \(advice)")
        case .timedOut:
            return SignInError(
                .carrierTimeout, .requestTimeout, "The provider did not respond in time. \(advice)", fault: .carrier)
        case .unreachable: return carrierError("The provider cannot be reached. \(advice)", .networkFailure)
        case .overloaded, .suspended:
            let cause =
                error.code == .overloaded
                ? "Too many requests to this provider are under way."
                : "The provider's circuit breaker is open after failed requests."
            return SignInError(
                .temporarilyUnavailable, .serverError, "\(cause) \(advice)", retryAfter: error.retryAfter ?? 5,
                fault: .carrier)
        case .storeUnavailable:
            return SignInError(
                .temporarilyUnavailable, .serverError, "The server cannot reach its database. \(advice)",
                retryAfter: error.retryAfter ?? 5, fault: .ours)
        }
    }

    /// The description has one remedy: that of the code's kind, or one that fits the code better.
    private static func refused(_ carrierError: String, _ advice: String) -> SignInError {
        let row = CarrierErrorTable.row(of: carrierError)
        if row.concernsClient { return clientRefused(row) }
        let remedy =
            switch row.type {
            // The user has denied nothing if the code or its verifier is wrong.
            case _ where row.code == "invalid_grant": advice
            case .unknownError: "Start again with a new authorization request; if it persists, contact the operator."
            default: row.type.remedy
            }
        let description = "\(row.cause) \(remedy)"
        if row.isCarriersFault {
            return Self.carrierError("[\(row.code)] \(description)", row.type)
        }
        let code = CarrierErrorTable.isReserved(row.code) ? "invalid_grant" : row.code
        return SignInError(.refusedByCarrier, row.type, description, carrierCode: code)
    }

    private static func clientRefused(_ row: CarrierErrorTable.Row) -> SignInError {
        carrierError(
            "[\(row.code)] \(row.cause) The operator must compare the client's id, its secret or key, and its "
                + "token_endpoint_auth_method with the provider's portal.", .configurationError, fault: .ours)
    }
}

/// Asks a provider; its failure becomes the use case's own error.
func asked<Value>(
    _ call: @autoclosure () async throws(OIDCError) -> Value, discoveryUI: EndpointURL? = nil,
    codeWasPosted: Bool = false
) async throws(SignInError) -> Value {
    do throws(OIDCError) {
        return try await call()
    } catch {
        throw SignInError(error, discoveryUI: discoveryUI, codeWasPosted: codeWasPosted)
    }
}
