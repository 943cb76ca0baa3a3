package import OpenIDConnect

/// Maps the protocol's errors to the API's: one row for each code.
extension SignInError {
    /// - Parameters:
    ///   - discoveryUI: Where users choose their carrier; named if the network is unknown.
    ///   - codeWasPosted: True after the carrier's response to the token request: the code is spent then, whatever the
    ///     error itself says.
    package init(_ error: OIDCError, discoveryUI: EndpointURL? = nil, codeWasPosted: Bool = false) {
        let isSpent = error.codeMayBeSpent || codeWasPosted
        let advice =
            isSpent ? "Start again with a new authorization request." : "Send the same request again in a moment."
        let row = Row(error, discoveryUI: discoveryUI, advice: advice)
        self.init(
            row.code, row.errorType, row.description, check: error.check, retryAfter: row.retryAfter,
            fault: row.fault, codeMayBeSpent: isSpent)
    }

    private struct Row {
        let code: Code
        let errorType: ErrorType
        let description: String
        var retryAfter: Int64?
        var fault = Fault.carrier

        init(_ error: OIDCError, discoveryUI: EndpointURL?, advice: String) {
            switch error.code {
            case .unknownNetwork:
                self = .unknownNetwork(discoveryUI)
            case .discoveryRefused:
                self = .discoveryRefused(error.carrierError)
            case .metadataRefused:
                self.init(
                    .carrierError, .serverError,
                    "The provider's OpenID configuration cannot be used. Try again later, or tell the operator.")
            case .keysUnavailable:
                self.init(
                    .carrierError, .serverError, "The provider's signing keys cannot be fetched. \(advice)")
            case .carrierRefused:
                self = .carrierRefused(error.carrierError, advice: advice)
            case .clientRefused:
                self = .clientRefused(error.carrierError)
            case .invalidIDToken:
                self = .invalidIDToken(error.check)
            case .unusableResponse:
                self.init(
                    .carrierError, .serverError, "The provider's response cannot be used. \(advice)")
            case .timedOut:
                self.init(
                    .carrierTimeout, .requestTimeout, "The provider did not respond in time. \(advice)")
            case .unreachable:
                self.init(.carrierError, .networkFailure, "The provider cannot be reached. \(advice)")
            case .overloaded:
                self.init(
                    .temporarilyUnavailable, .serverError,
                    "Too many requests to this provider are under way. \(advice)", retryAfter: error.retryAfter ?? 5)
            case .suspended:
                self.init(
                    .temporarilyUnavailable, .serverError,
                    "The provider's circuit breaker is open after failed requests. \(advice)",
                    retryAfter: error.retryAfter ?? 5)
            }
        }

        private init(
            _ code: Code, _ errorType: ErrorType, _ description: String, retryAfter: Int64? = nil,
            fault: Fault = .carrier
        ) {
            self.code = code
            self.errorType = errorType
            self.description = description
            self.retryAfter = retryAfter
            self.fault = fault
        }

        private static func unknownNetwork(_ discoveryUI: EndpointURL?) -> Row {
            let place = discoveryUI.map { " Users choose their carrier at \($0.text)." } ?? ""
            return Row(
                .invalidRequest, .discoveryStateError,
                "No carrier is known for this mccmnc. Run carrier discovery again, and sign in with the mccmnc that it "
                    + "returns." + place, fault: .client)
        }

        private static func discoveryRefused(_ carrierError: String?) -> Row {
            let type = carrierError.map { CarrierErrorTable.row(of: $0).type } ?? .serverError
            return Row(
                .carrierError, type == .unknownError ? .serverError : type,
                "Carrier discovery refused the request. Run carrier discovery again; if it persists, the operator "
                    + "must check the client's registration.", fault: type == .configurationError ? .ours : .carrier)
        }

        private static func carrierRefused(_ carrierError: String?, advice: String) -> Row {
            let row = CarrierErrorTable.row(of: carrierError ?? "invalid_grant")
            if row.concernsClient { return clientRefused(row.code) }
            let description = "\(row.cause) \(row.type.remedy) \(advice)"
            if row.isCarriersFault { return Row(.carrierError, row.type, "[\(row.code)] \(description)") }
            return Row(
                .refusedByCarrier(reserved.contains(row.code) ? "invalid_grant" : row.code), row.type, description,
                fault: .client)
        }

        private static func clientRefused(_ carrierError: String?) -> Row {
            let row = CarrierErrorTable.row(of: carrierError ?? "invalid_client")
            return Row(
                .carrierError, .configurationError,
                "[\(row.code)] \(row.cause) \(ErrorType.configurationError.remedy) The operator must check the client's "
                    + "id, its secret or key, and its token_endpoint_auth_method.", fault: .ours)
        }

        private static func invalidIDToken(_ check: IDTokenCheck?) -> Row {
            let demand = check.map { "\($0.demand) (\($0.rawValue)) " } ?? "The ID token is invalid. "
            return Row(
                .invalidIDToken, .unknownError, demand + "Start again with a new authorization request.", fault: .client
            )
        }

        /// Codes that mean something else when this server returns them.
        private static let reserved: Set<String> = ["invalid_api_key", "invalid_token", "invalid_id_token"]
    }
}
