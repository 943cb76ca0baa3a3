import Crypto
import OpenIDConnect
import Primitives

/// The CAMARA APIs of a mobile operator. Each access token is for one call: it is asked for, used and forgotten.
extension RelyingParty {
    /// Asks for the number of the device that an access token is for, once (Number Verification r3.2).
    ///
    /// - Parameter tokens: Have the scope ``OperatorScope/devicePhoneNumber``. They must not be used again.
    /// - Throws: ``OIDCError/Code/apiRefused``, ``OIDCError/Code/unusableResponse`` or a transport code. The access
    ///   token is spent in every case.
    func devicePhoneNumber(
        at apis: OperatorAPIs, with tokens: TokenResponse, provider: ProviderMetadata, correlationID: CorrelationID
    ) async throws(OIDCError) -> MSISDN {
        try await call(
            "The request for the device's number", .get, apis.numberVerification("device-phone-number"),
            apis.headers(correlationID), body: [], with: tokens, .numberVerification, of: provider, correlationID,
            read: OperatorAPIResponse.devicePhoneNumber)
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
            "The verification of the number", .post, apis.numberVerification("verify"),
            apis.headers(correlationID), body: body.finish(), with: tokens, .numberVerification, of: provider,
            correlationID,
            // The schema NumberVerificationMatchResponse.
            read: OperatorAPIResponse.flag("devicePhoneNumberVerified"))
    }

    /// Asks whether the SIM of a number was changed, with an access token of the client's own (RFC 6749 section 4.4).
    ///
    /// - Parameters:
    ///   - hours: How far back, from 1 to 2400.
    ///   - scopes: Of the access token: the operation ``OperatorScope/checkSIMSwap``, with its purpose.
    /// - Throws: ``OIDCError/Code/apiRefused``; what a token request throws; ``OIDCError/Code/unusableResponse``; a
    ///   transport code.
    func isSIMSwapped(
        of number: MSISDN, withinHours hours: Int, scopes: [String], at apis: OperatorAPIs,
        client: ClientCredentials, provider: ProviderMetadata, correlationID: CorrelationID
    ) async throws(OIDCError) -> Bool {
        let tokens = try await clientTokens(
            for: scopes, client: client, provider: provider, correlationID: correlationID)
        var body = JSONObjectWriter(capacity: 96)
        body.add("phoneNumber", number.text)
        body.add("maxAge", Int64(hours))
        return try await call(
            "The SIM swap check", .post, apis.checkSIMSwap, apis.headers(correlationID), body: body.finish(),
            with: tokens, .simSwap, of: provider, correlationID,
            // The schema CheckSimSwapInfo (SIM Swap r3.3).
            read: OperatorAPIResponse.flag("swapped"))
    }

    /// Asks Telco Finder for the operator of a subscriber, with an access token of the client's own.
    ///
    /// - Parameters:
    ///   - client: This server at Telco Finder.
    ///   - provider: Telco Finder's metadata.
    /// - Throws: As ``isSIMSwapped(of:withinHours:for:at:client:provider:correlationID:)``. A number or an address
    ///   that Telco Finder does not know is ``OperatorAPIRefusal/unknownNumber``.
    func findOperator(
        of subscriber: SoughtSubscriber, at finder: TelcoFinder, client: ClientCredentials, provider: ProviderMetadata,
        correlationID: CorrelationID
    ) async throws(OIDCError) -> FoundOperator {
        let tokens = try await clientTokens(
            for: finder.scopes, client: client, provider: provider, correlationID: correlationID)
        var body = JSONObjectWriter(capacity: 192)
        body.add("target") { target in
            switch subscriber {
            case .number(let number): target.add("phoneNumber", number.text)
            case .ipv4(let address, let port):
                target.add("ipv4Address") {
                    $0.add("publicAddress", address.text)
                    $0.add("publicPort", Int64(port))
                }
            case .ipv6(let address): target.add("ipv6Address", address.text)
            }
        }
        body.add("includeApiRoot", true)
        body.add("includeAuthProviderConfiguration", true)
        body.add("portabilitySearchMode", finder.portabilitySearch.rawValue.uppercased())
        return try await call(
            "The search of Telco Finder", .post, finder.apis.root.appending(path: "/telco-finder/v1/search"),
            correlationID.correlator, body: body.finish(), with: tokens, .telcoFinder, of: provider, correlationID,
            read: OperatorAPIResponse.foundOperator)
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
        number == nil ? scopes : ["openid"] + scopes(for: .verify)
    }
}

/// Where the operations of the APIs are, and what requests to all of them have.
extension OperatorAPIs {
    fileprivate func numberVerification(_ operation: String) -> EndpointURL {
        below("number-verification/\(deployment.numberVerification)/\(operation)")
    }

    fileprivate var checkSIMSwap: EndpointURL { below("sim-swap/\(deployment.simSwap)/check") }

    private func below(_ path: String) -> EndpointURL { root.appending(path: "\(deployment.prefix)/\(path)") }

    /// Those of Telco Finder are at another server, and have no more than the correlator.
    fileprivate func headers(_ correlationID: CorrelationID) -> [(name: String, value: String)] {
        correlationID.correlator + deployment.headers.map { (name: $0.key, value: $0.value.exposed) }
    }
}

extension IPAddress {
    /// Four numbers, or eight in hexadecimal (RFC 4291 section 2.2).
    var text: String {
        guard !isIPv4 else { return [24, 16, 8, 0].map { "\(low >> $0 & 0xFF)" }.joined(separator: ".") }
        return [high, low].flatMap { half in [48, 32, 16, 0].map { String(half >> $0 & 0xFFFF, radix: 16) } }
            .joined(separator: ":")
    }
}

extension MSISDN {
    /// The SHA-256 of ``text`` in hexadecimal (the property `hashedPhoneNumber`).
    var hashed: String { SHA256.hash(data: Array(text.utf8)).hexadecimal }
}

extension CorrelationID {
    /// As the header field `x-correlator` of the CAMARA APIs, which has up to 256 letters, digits and `-_:;./<>{}`:
    /// itself, or its SHA-256 in hexadecimal if it has other characters.
    fileprivate var correlator: [(name: String, value: String)] {
        let isAllowed = text.utf8.allSatisfy { $0.isASCIILetterOrDigit || "-_:;./<>{}".utf8.contains($0) }
        return [("x-correlator", isAllowed ? text : SHA256.hash(data: Array(text.utf8)).hexadecimal)]
    }
}

/// Reads the responses of the CAMARA APIs, strictly: an answer that does not have the schema is none.
enum OperatorAPIResponse {
    /// The number of the device (schema `NumberVerificationShareResponse`).
    /// - Throws: What ``object(_:limits:)`` throws; ``OIDCError/Code/unusableResponse`` without a valid number.
    static func devicePhoneNumber(
        _ response: OutboundResponse, limits: OutboundLimits
    ) throws(OIDCError) -> MSISDN {
        guard let number = try object(response, limits: limits)["devicePhoneNumber"]?.string.flatMap(MSISDN.init) else {
            throw .unusable("The mobile operator's response has no valid devicePhoneNumber.")
        }
        return number
    }

    /// A member of a response. Only `true` and `false` are answers.
    static func flag(
        _ name: String
    ) -> (_ response: OutboundResponse, _ limits: OutboundLimits) throws(OIDCError) -> Bool {
        { (response, limits) throws(OIDCError) in
            guard let flag = try object(response, limits: limits)[name]?.bool else {
                throw .unusable("The mobile operator's response has no \(name) that is true or false.")
            }
            return flag
        }
    }

    /// Codes of the CAMARA APIs have no digits, and one that has could be the number, which must not be in the log.
    private static func isErrorCode(_ text: String) -> Bool {
        OIDCError.isErrorCode(text) && !text.utf8.contains(where: \.isASCIIDigit)
    }

    /// In seconds. Apps are told to wait for so long, and an operator has no longer word for them.
    private static let longestRetry: Int64 = 3600

    /// The operator of a number. Only `operatorId` is mandatory.
    static func foundOperator(
        _ response: OutboundResponse, limits: OutboundLimits
    ) throws(OIDCError) -> FoundOperator {
        let object = try object(response, limits: limits)
        guard let id = object["operatorId"]?.string, id.isVisibleASCII(), id.utf8.count <= FoundOperator.maximumIDBytes
        else { throw .unusable("Telco Finder's response has no valid operatorId.") }
        return FoundOperator(
            id: id, apiRoot: try url("apiRoot", object), metadataURL: try url("authProviderConfiguration", object),
            lifetime: FoundOperator.lifetime(cacheControl: response.cacheControl))
    }

    /// A URL that may be missing. It is compared only.
    private static func url(_ name: String, _ object: JSONObject) throws(OIDCError) -> String? {
        guard let value = object[name], !value.isNull else { return nil }
        guard let text = value.string, text.isVisibleASCII(), text.utf8.count <= FoundOperator.maximumURLBytes else {
            throw .unusable("Telco Finder's response has a \(name) that is not a URL.")
        }
        return text
    }

    /// The object in a response of status 200.
    /// - Throws: ``OIDCError/Code/apiRefused`` with the `code` of the schema `ErrorInfo`;
    ///   ``OIDCError/Code/unusableResponse`` for everything else.
    private static func object(
        _ response: OutboundResponse, limits: OutboundLimits
    ) throws(OIDCError) -> JSONObject {
        let object = ProviderResponse.object(response, upTo: \.userInfoBytes, of: limits)
        if response.status == 200, let object { return object }
        guard (400..<500).contains(response.status), let code = object?["code"]?.string, isErrorCode(code) else {
            throw OIDCError(
                .unusableResponse, codeMayBeSpent: true,
                reason: "The mobile operator's API responded with status \(response.status), and neither with 200 and "
                    + "a JSON object nor with an error of the CAMARA APIs.")
        }
        throw OIDCError(
            .apiRefused, carrierError: code, codeMayBeSpent: true,
            retryAfter: response.retryAfter.flatMap { $0.isDecimal ? Int64($0) : nil }.map { min($0, longestRetry) },
            reason: "The mobile operator's API refused the request.")
    }
}

/// What the error codes of the CAMARA APIs mean for a sign-in (the schemas `ErrorInfo` of number-verification.yaml r3.2
/// and sim-swap.yaml r3.3, and the codes that the API Design Guide adds).
enum OperatorAPIRefusal: Sendable, Hashable {
    /// The user was not authenticated by the network or the SIM.
    case notAuthenticatedByNetwork
    /// The access token is for no phone number.
    case noNumberInToken
    /// The access token is missing, has expired, or was used before.
    case unauthenticated
    /// The client may not call the API, or the scope is missing.
    case permissionDenied
    case tooManyRequests
    /// The operator does not know the number, or does not serve it.
    case unknownNumber
    case other

    init(code: String) { self = Self.meanings[code] ?? .other }

    static let meanings: [String: OperatorAPIRefusal] = [
        "NUMBER_VERIFICATION.USER_NOT_AUTHENTICATED_BY_MOBILE_NETWORK": .notAuthenticatedByNetwork,
        "NUMBER_VERIFICATION.INVALID_TOKEN_CONTEXT": .noNumberInToken,
        "INVALID_TOKEN_CONTEXT": .noNumberInToken,
        "UNAUTHENTICATED": .unauthenticated,
        "AUTHENTICATION_REQUIRED": .unauthenticated,
        "PERMISSION_DENIED": .permissionDenied,
        "QUOTA_EXCEEDED": .tooManyRequests,
        "TOO_MANY_REQUESTS": .tooManyRequests,
        "NOT_FOUND": .unknownNumber,
        "IDENTIFIER_NOT_FOUND": .unknownNumber,
        "SERVICE_NOT_APPLICABLE": .unknownNumber,
    ]
}

/// What Telco Finder says of a number.
struct FoundOperator: Sendable, Hashable {
    /// The longest `operatorId`, in bytes.
    static let maximumIDBytes = 256
    /// The longest URL in an answer, in bytes.
    static let maximumURLBytes = 2048
    /// The longest time that an answer is kept, in seconds, because numbers move between operators.
    static let maximumLifetime: Int64 = 3600

    /// The operator's id at Telco Finder (`operatorId`).
    let id: String
    /// The root of its APIs, if Telco Finder says it (`apiRoot`).
    var apiRoot: String?
    /// Where its metadata is, if Telco Finder says it (`authProviderConfiguration`).
    var metadataURL: String?
    /// How many seconds the answer may be kept (RFC 9111 section 5.2.2.1); 0 if it does not say so.
    var lifetime: Int64 = 0

    /// The lifetime by a response's Cache-Control field: none unless the field allows one.
    static func lifetime(cacheControl: String?) -> Int64 {
        var rules = CacheRules()
        (rules.minimumLifetime, rules.maximumLifetime, rules.defaultLifetime) = (0, maximumLifetime, 0)
        return rules.lifetime(cacheControl: cacheControl)
    }

    /// Whether the answer says nothing else of an operator than is known of it. It never leads to another host: what
    /// it says is compared, and not followed.
    ///
    /// - Parameters:
    ///   - issuer: The operator's issuer.
    ///   - apis: The operator's APIs.
    func agrees(issuer: EndpointURL, apis: OperatorAPIs) -> Bool {
        let metadata = Self.trimmed(issuer.text) + "/.well-known/openid-configuration"
        return apiRoot.map { Self.trimmed($0).hasSameBytes(as: Self.trimmed(apis.root.text)) } ?? true
            && metadataURL.map { $0.hasSameBytes(as: metadata) } ?? true
    }

    /// A URL without the slash at its end.
    private static func trimmed(_ url: String) -> String {
        url.hasSuffix("/") ? String(url.dropLast()) : url
    }
}
