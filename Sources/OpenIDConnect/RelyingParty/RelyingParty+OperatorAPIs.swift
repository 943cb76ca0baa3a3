public import Primitives

/// The CAMARA APIs of a mobile operator. Each access token is for one call: it is asked for, used and forgotten.
extension RelyingParty {
    /// Exchanges a TS.43 temporary token for tokens (RFC 7523 section 2.1), by one request that is never repeated. The
    /// response may have no ID token.
    ///
    /// - Parameters:
    ///   - scopes: With exactly one purpose.
    /// - Throws: As ``exchange(code:redirectURI:codeVerifier:client:boundTo:provider:correlationID:)``.
    public func exchange(
        operatorToken: Secret, scopes: [String], client: ClientCredentials, provider: ProviderMetadata,
        correlationID: CorrelationID
    ) async throws(OIDCError) -> TokenResponse {
        try await post(
            .operatorToken(operatorToken, scopes: scopes), client, boundTo: nil, provider, correlationID,
            idToken: idTokenPresence(at: provider))
    }

    /// Asks the operator to authenticate the device of a TS.43 temporary token, without a page (CIBA Core section 7.1),
    /// by one request that is never repeated. ``poll(_:client:boundTo:requiresIDToken:provider:correlationID:)`` gets
    /// the tokens.
    ///
    /// - Parameters:
    ///   - key: The client's private key, for operators that demand signed requests.
    /// - Throws: As ``authenticate(_:client:signedWith:provider:correlationID:)``.
    public func authenticate(
        operatorToken: Secret, scopes: [String], client: ClientCredentials, signedWith key: ClientKey?,
        provider: ProviderMetadata, correlationID: CorrelationID
    ) async throws(OIDCError) -> BackchannelAuthenticationResponse {
        let hint = BackchannelAuthenticationRequest.Hint.loginHint(Secret(AuthorizationAssertion.hint(operatorToken)))
        return try await authenticate(
            BackchannelAuthenticationRequest(scopes: scopes, hint: hint), client: client, signedWith: key,
            provider: provider, correlationID: correlationID)
    }

    /// Asks for the number of the device that an access token is for, once.
    ///
    /// - Parameter tokens: Have the scope ``OperatorScope/devicePhoneNumber``. They must not be used again.
    /// - Throws: ``OIDCError/Code/apiRefused``, ``OIDCError/Code/unusableResponse`` or a transport code. The access
    ///   token is spent in every case.
    public func devicePhoneNumber(
        at apis: OperatorAPIs, with tokens: TokenResponse, provider: ProviderMetadata, correlationID: CorrelationID
    ) async throws(OIDCError) -> MSISDN {
        try await call(
            "The request for the device's number", .get, apis.devicePhoneNumber, with: tokens, .numberVerification,
            provider, correlationID, read: OperatorAPIResponse.devicePhoneNumber)
    }

    /// Asks, once, whether the device that an access token is for has a given number.
    ///
    /// - Parameters:
    ///   - hashed: Whether only the SHA-256 of the number is sent.
    ///   - tokens: Have the scope ``OperatorScope/verify``. They must not be used again.
    /// - Throws: As ``devicePhoneNumber(at:with:provider:correlationID:)``.
    public func isDevicePhoneNumber(
        _ number: MSISDN, hashed: Bool, at apis: OperatorAPIs, with tokens: TokenResponse, provider: ProviderMetadata,
        correlationID: CorrelationID
    ) async throws(OIDCError) -> Bool {
        var body = JSONObjectWriter(capacity: 96)
        if hashed { body.add("hashedPhoneNumber", number.hashed) } else { body.add("phoneNumber", number.text) }
        return try await call(
            "The verification of the number", .post, apis.verify, body: body.finish(), with: tokens,
            .numberVerification, provider, correlationID,
            // The schema NumberVerificationMatchResponse.
            read: OperatorAPIResponse.flag("devicePhoneNumberVerified"))
    }

    /// Asks whether the SIM of a number was changed, with an access token of the client's own (RFC 6749 section 4.4).
    ///
    /// - Parameters:
    ///   - hours: How far back, from 1 to 2400.
    ///   - purpose: Of the call.
    /// - Throws: ``OIDCError/Code/apiRefused``; what a token request throws; ``OIDCError/Code/unusableResponse``; a
    ///   transport code.
    public func isSIMSwapped(
        of number: MSISDN, withinHours hours: Int, for purpose: Purpose, at apis: OperatorAPIs,
        client: ClientCredentials, provider: ProviderMetadata, correlationID: CorrelationID
    ) async throws(OIDCError) -> Bool {
        let tokens = try await ownTokens(
            for: [purpose.scope, OperatorScope.checkSIMSwap], client, provider, correlationID)
        var body = JSONObjectWriter(capacity: 96)
        body.add("phoneNumber", number.text)
        body.add("maxAge", Int64(hours))
        return try await call(
            "The SIM swap check", .post, apis.checkSIMSwap, body: body.finish(), with: tokens, .simSwap, provider,
            // The schema CheckSimSwapInfo.
            correlationID, read: OperatorAPIResponse.flag("swapped"))
    }

    /// Asks Telco Finder for the operator of a number, with an access token of the client's own.
    ///
    /// - Parameters:
    ///   - client: This server at Telco Finder.
    ///   - provider: Telco Finder's metadata.
    /// - Throws: As ``isSIMSwapped(of:withinHours:for:at:client:provider:correlationID:)``. A number that Telco Finder
    ///   does not know is ``OperatorAPIRefusal/unknownNumber``.
    public func findOperator(
        of number: MSISDN, at finder: TelcoFinder, client: ClientCredentials, provider: ProviderMetadata,
        correlationID: CorrelationID
    ) async throws(OIDCError) -> FoundOperator {
        let tokens = try await ownTokens(for: finder.scopes, client, provider, correlationID)
        var body = JSONObjectWriter(capacity: 192)
        body.add("target") { $0.add("phoneNumber", number.text) }
        body.add("includeApiRoot", true)
        body.add("includeAuthProviderConfiguration", true)
        body.add("portabilitySearchMode", finder.portabilitySearch.mode)
        return try await call(
            "The search of Telco Finder", .post, finder.apis.searchOperator, body: body.finish(), with: tokens,
            .telcoFinder, provider, correlationID, read: OperatorAPIResponse.foundOperator)
    }

    /// An access token of the client itself, for one call (RFC 6749 section 4.4).
    private func ownTokens(
        for scopes: [String], _ client: ClientCredentials, _ provider: ProviderMetadata,
        _ correlationID: CorrelationID
    ) async throws(OIDCError) -> TokenResponse {
        try await post(
            .clientCredentials(scopes: scopes), client, boundTo: nil, provider, correlationID, idToken: .ignored)
    }

    private func call<Value>(
        _ what: StaticString, _ method: OutboundRequest.Method, _ url: EndpointURL, body: [UInt8] = [],
        with tokens: TokenResponse, _ step: OutboundRequest.Destination.Step, _ provider: ProviderMetadata,
        _ correlationID: CorrelationID,
        read: (OutboundResponse, OutboundLimits) throws(OIDCError) -> Value
    ) async throws(OIDCError) -> Value {
        let limits = configuration.limits
        var request = request(
            url, with: tokens.accessToken, tokens.accessTokenKey, nil, from: provider, step: step,
            upTo: limits.userInfoBytes, correlationID)
        request.method = method
        request.headers.append((XCorrelator.name, XCorrelator.text(of: correlationID)))
        if method == .post { request.headers.append(("Content-Type", "application/json")) }
        request.body = body
        return try await send(
            what, provingPossessionOf: tokens.accessTokenKey, at: provider, accessToken: tokens.accessToken,
            codeMayBeSpent: true, { request }
        ) { (response) throws(OIDCError) in try read(response, limits) }
    }
}
