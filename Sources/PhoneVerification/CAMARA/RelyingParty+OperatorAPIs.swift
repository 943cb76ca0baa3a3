import Crypto
import LatchkeyConfiguration
import OpenIDConnect
import Primitives

/// The CAMARA APIs of a mobile operator. Each access token is for one call: it is asked for, used and forgotten.
extension RelyingParty {
    /// Exchanges a TS.43 temporary token for tokens, by one request that is never repeated. The response may have no ID
    /// token.
    ///
    /// - Parameter scopes: With exactly one purpose.
    func exchange(
        operatorToken: Secret, scopes: [String], client: ClientCredentials, provider: ProviderMetadata,
        correlationID: CorrelationID
    ) async throws(OIDCError) -> TokenResponse {
        try await tokens(
            about: Secret(Self.hint(operatorToken)), scopes: scopes, client: client, provider: provider,
            correlationID: correlationID)
    }

    /// Asks the operator to authenticate the device of a TS.43 temporary token, without a page (CIBA Core section 7.1),
    /// by one request that is never repeated. ``poll(_:client:boundTo:requiresIDToken:provider:correlationID:)`` gets
    /// the tokens.
    ///
    /// - Parameters:
    ///   - key: The client's private key, for operators that demand signed requests.
    /// - Throws: As ``authenticate(_:client:signedWith:provider:correlationID:)``.
    func authenticate(
        operatorToken: Secret, scopes: [String], client: ClientCredentials, signedWith key: ClientKey?,
        provider: ProviderMetadata, correlationID: CorrelationID
    ) async throws(OIDCError) -> BackchannelAuthenticationResponse {
        let hint = BackchannelAuthenticationRequest.Hint.loginHint(Secret(Self.hint(operatorToken)))
        return try await authenticate(
            BackchannelAuthenticationRequest(scopes: scopes, hint: hint), client: client, signedWith: key,
            provider: provider, correlationID: correlationID)
    }

    /// A TS.43 temporary token, which an app gets from the operator by the SIM of the device, as the hint for a user
    /// (CAMARA Security and Interoperability Profile r4.2, section "Format of login_hint").
    private static func hint(_ operatorToken: Secret) -> String { "operatortoken:" + operatorToken.exposed }

    /// Asks for the number of the device that an access token is for, once (Number Verification r3.2).
    ///
    /// - Parameter tokens: Have the scope ``OperatorScope/devicePhoneNumber``. They must not be used again.
    /// - Throws: ``OIDCError/Code/apiRefused``, ``OIDCError/Code/unusableResponse`` or a transport code. The access
    ///   token is spent in every case.
    func devicePhoneNumber(
        at apis: OperatorAPIs, with tokens: TokenResponse, provider: ProviderMetadata, correlationID: CorrelationID
    ) async throws(OIDCError) -> MSISDN {
        try await call(
            "The request for the device's number", .get,
            apis.root.appending(path: "/number-verification/v2/device-phone-number"), with: tokens,
            .numberVerification, provider, correlationID, read: OperatorAPIResponse.devicePhoneNumber)
    }

    /// Asks, once, whether the device that an access token is for has a given number (Number Verification r3.2).
    ///
    /// - Parameters:
    ///   - hashed: Whether only the SHA-256 of the number is sent.
    ///   - tokens: Have the scope ``OperatorScope/verify``. They must not be used again.
    /// - Throws: As ``devicePhoneNumber(at:with:provider:correlationID:)``.
    func isDevicePhoneNumber(
        _ number: MSISDN, hashed: Bool, at apis: OperatorAPIs, with tokens: TokenResponse, provider: ProviderMetadata,
        correlationID: CorrelationID
    ) async throws(OIDCError) -> Bool {
        var body = JSONObjectWriter(capacity: 96)
        if hashed { body.add("hashedPhoneNumber", number.hashed) } else { body.add("phoneNumber", number.text) }
        return try await call(
            "The verification of the number", .post, apis.root.appending(path: "/number-verification/v2/verify"),
            body: body.finish(), with: tokens, .numberVerification, provider, correlationID,
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
    func isSIMSwapped(
        of number: MSISDN, withinHours hours: Int, for purpose: Purpose, at apis: OperatorAPIs,
        client: ClientCredentials, provider: ProviderMetadata, correlationID: CorrelationID
    ) async throws(OIDCError) -> Bool {
        let tokens = try await clientTokens(
            for: [purpose.scope, OperatorScope.checkSIMSwap], client: client, provider: provider,
            correlationID: correlationID)
        var body = JSONObjectWriter(capacity: 96)
        body.add("phoneNumber", number.text)
        body.add("maxAge", Int64(hours))
        return try await call(
            "The SIM swap check", .post, apis.root.appending(path: "/sim-swap/v2/check"), body: body.finish(),
            // The schema CheckSimSwapInfo (SIM Swap r3.3).
            with: tokens, .simSwap, provider, correlationID, read: OperatorAPIResponse.flag("swapped"))
    }

    /// Asks Telco Finder for the operator of a number, with an access token of the client's own.
    ///
    /// - Parameters:
    ///   - client: This server at Telco Finder.
    ///   - provider: Telco Finder's metadata.
    /// - Throws: As ``isSIMSwapped(of:withinHours:for:at:client:provider:correlationID:)``. A number that Telco Finder
    ///   does not know is ``OperatorAPIRefusal/unknownNumber``.
    func findOperator(
        of number: MSISDN, at finder: TelcoFinder, client: ClientCredentials, provider: ProviderMetadata,
        correlationID: CorrelationID
    ) async throws(OIDCError) -> FoundOperator {
        let tokens = try await clientTokens(
            for: finder.scopes, client: client, provider: provider, correlationID: correlationID)
        var body = JSONObjectWriter(capacity: 192)
        body.add("target") { $0.add("phoneNumber", number.text) }
        body.add("includeApiRoot", true)
        body.add("includeAuthProviderConfiguration", true)
        body.add("portabilitySearchMode", finder.portabilitySearch.rawValue.uppercased())
        return try await call(
            "The search of Telco Finder", .post, finder.apis.root.appending(path: "/telco-finder/v1/search"),
            body: body.finish(), with: tokens, .telcoFinder, provider, correlationID,
            read: OperatorAPIResponse.foundOperator)
    }

    private func call<Value>(
        _ what: StaticString, _ method: OutboundRequest.Method, _ url: EndpointURL, body: [UInt8] = [],
        with tokens: TokenResponse, _ step: OutboundRequest.Destination.Step, _ provider: ProviderMetadata,
        _ correlationID: CorrelationID,
        read: (OutboundResponse, OutboundLimits) throws(OIDCError) -> Value
    ) async throws(OIDCError) -> Value {
        try await call(
            what, method, url, [("x-correlator", correlationID.correlator)], body: body, with: tokens, step,
            of: provider, correlationID, read: read)
    }
}

extension ProviderMetadata {
    /// How an operator token becomes tokens, as far as the operator's metadata tells: by a JWT, unless the operator
    /// lists grant types without it and has backchannel authentication in the mode poll.
    var takesOperatorTokensByBackchannel: Bool {
        guard let backchannelAuthentication, backchannelAuthentication.mayDeliver(by: .poll) else { return false }
        return !(grantTypes?.contains(.jwtBearer) ?? true)
    }
}

extension MobileOperatorSettings {
    /// The scopes to verify a number: to compare it, or without one to ask for it.
    func scopes(toVerify number: MSISDN?) -> [String] {
        number == nil ? scopes : ["openid", purpose.scope, OperatorScope.verify]
    }
}

extension MSISDN {
    /// The SHA-256 of ``text`` in hexadecimal (the property `hashedPhoneNumber`).
    var hashed: String { SHA256.hash(data: Array(text.utf8)).hexadecimal }
}

extension CorrelationID {
    /// As the header field `x-correlator` of the CAMARA APIs, which has up to 256 letters, digits and `-_:;./<>{}`:
    /// itself, or its SHA-256 in hexadecimal if it has other characters.
    fileprivate var correlator: String {
        let isAllowed = text.utf8.allSatisfy { $0.isASCIILetterOrDigit || "-_:;./<>{}".utf8.contains($0) }
        return isAllowed ? text : SHA256.hash(data: Array(text.utf8)).hexadecimal
    }
}
