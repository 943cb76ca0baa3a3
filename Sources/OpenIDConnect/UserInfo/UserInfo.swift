public import Primitives

/// A user's attributes (OpenID Connect Core section 5.1).
///
/// Each text is at most 255 bytes (the address 1024) without control characters; other values are left out. It prints
/// and reflects as `‹redacted›`.
public struct UserInfo: Sendable, Hashable, Redacted {
    /// The attributes that a user's profile has, too.
    public var attributes = UserAttributes<String>()
    /// Whether the provider verified an attribute, if it says so.
    public var verified = UserAttributes<Bool>()
    /// Further claims that the user consented to share.
    public var claims = ConsentedClaims()
    /// Whether the provider could not tell all: what is missing here is not withdrawn by the user.
    public var isPartial = false

    public init() {}

    /// Reads the claims of a userinfo response (OpenID Connect Core section 5.3.2) in either of the shapes that
    /// providers use: flat (`"email": "…"`) and nested (`"email": {"value": "…"}`). Attributes of other types or with
    /// control characters are left out.
    ///
    /// - Throws: The check ``IDTokenCheck/userInfoSubject`` unless the response has the subject of the ID token.
    init(_ claims: JSONObject, subject: String, _ members: UserMembers = UserMembers()) throws(OIDCError) {
        // A few providers write the number that is the ID token's text.
        let named = claims["sub"]?.string ?? claims["sub"]?.integer.map { String($0) }
        guard let named, named.hasSameBytes(as: subject) else {
            throw .failed(.userInfoSubject)
        }
        self.init(claims, members)
    }

    /// Reads claims about a user, in either shape. What is not a proper attribute is left out.
    init(_ claims: JSONObject, _ members: UserMembers) {
        self.init()
        for attribute in UserAttribute.claims {
            if let member = members.attributes[attribute] {
                attributes[attribute] = Self.text(member.value(in: claims))
            } else {
                attributes[attribute] = Self.text(claims[attribute.rawValue]) ?? Self.nested(attribute, in: claims)
            }
        }
        for attribute in UserAttribute.verifiable {
            guard let member = members.verified[attribute] else {
                verified[attribute] = Self.verified(attribute, attributes, in: claims, members.attributes)
                continue
            }
            let value = member.value(in: claims)
            // Some write 1.
            let flag = Self.flag(value) ?? value?.integer.map { $0 == 1 }
            verified[attribute] = attributes[attribute] == nil ? nil : flag
        }
        for claim in ConsentedClaim.allCases where claims[claim.rawValue] != nil {
            self.claims[claim] = Self.value(of: claim, in: claims)
        }
    }

    /// Whether the provider verified an attribute. `email_verified` and `phone_number_verified` are about `email` and
    /// `phone_number` (Core section 5.1), and about nothing that was read from another member in their presence.
    private static func verified(
        _ attribute: UserAttribute, _ attributes: UserAttributes<String>, in claims: JSONObject,
        _ renamed: [UserAttribute: UserEndpoint.Member]
    ) -> Bool? {
        guard renamed[attribute].map({ $0.path == [attribute.rawValue] }) ?? true else { return nil }
        if let standard = claims[attribute.rawValue], !standard.isNull, text(standard) != attributes[attribute] {
            return nil
        }
        return flag(claims[attribute.rawValue + "_verified"])
    }

    /// Reads the `user` that Apple sends beside a user's first code: `{"name": {"firstName": "…", "lastName": "…"}}`.
    /// It is not signed, so that nothing of it but the name is used. Nil if it has no proper name.
    package init?(beside user: JSONValue) {
        let object =
            user.object
            ?? user.string.flatMap { text in
                text.utf8.count <= 2048 ? (try? JSONValue(parsing: Array(text.utf8)))?.object : nil
            }
        guard let name = object?["name"] else { return nil }
        self.init()
        attributes[.givenName] = Self.text(name.object?["firstName"])
        attributes[.familyName] = Self.text(name.object?["lastName"])
        let parts = [attributes[.givenName], attributes[.familyName]].compactMap(\.self)
        attributes[.name] = Self.text(name.object == nil ? name : .string(parts.joined(separator: " ")))
        guard !attributes.present.isEmpty else { return nil }
    }

    private static func value(of claim: ConsentedClaim, in claims: JSONObject) -> ConsentedClaims.Value? {
        let value = claims[claim.rawValue]
        switch claim {
        case .address: return addressMembers(claims).map { .address($0) }
        case .birthdate: return text(value).map { .text($0) }
        case .last4Social: return (text(value) ?? fourDigits(value)).map { .text($0) }
        case .isAdult, .isAdult18, .isAdult21, .isOver13: return flag(value).map { .flag($0) }
        case .proofing: return flag(value).map { .flag($0) } ?? text(value).map { .text($0) }
        }
    }

    /// Four digits that were written as a number, and so lost their leading zeros.
    private static func fourDigits(_ value: JSONValue?) -> String? {
        let plain = value?.object.map { $0["value"] } ?? value
        guard case .integer(let number) = plain, (0...9999).contains(number) else { return nil }
        return number.digits(4)
    }

    /// The other places where providers tell an attribute.
    private static func nested(_ attribute: UserAttribute, in claims: JSONObject) -> String? {
        switch attribute {
        case .givenName, .familyName: text(claims["name"]?.object?[attribute.rawValue])
        case .phoneNumber: text(claims["phone"])
        case .postalCode: text(address(claims)?[attribute.rawValue])
        default: nil
        }
    }

    /// A text, or an object's `value` that is a text.
    static func text(_ value: JSONValue?, maximumBytes: Int = 255) -> String? {
        let plain = value?.object.map { $0["value"] } ?? value
        guard let text = plain?.string, (1...maximumBytes).contains(text.utf8.count),
            !text.unicodeScalars.contains(where: isControl)
        else { return nil }
        return text
    }

    /// C0 and C1 controls, DEL, and the two separators that some readers treat as line ends.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00...0x1F, 0x7F...0x9F, 0x2028, 0x2029: true
        default: false
        }
    }

    /// A boolean, which some providers write as a text.
    static func flag(_ value: JSONValue?) -> Bool? {
        switch value {
        case .bool(let flag): flag
        case .string("true"): true
        case .string("false"): false
        case .object(let nested): nested["value"].flatMap { $0.object == nil ? flag($0) : nil }
        default: nil
        }
    }

    private static func address(_ attributes: JSONObject) -> JSONObject? {
        let address = attributes["address"]?.object
        return address?["value"]?.object ?? address
    }

    /// The address as one text, or joined from its parts (Core section 5.1.1).
    private static func addressText(
        _ attributes: JSONObject, _ parts: [ConsentedClaims.AddressMember: String]
    ) -> String? {
        if let whole = text(attributes["address"], maximumBytes: 1024) { return whole }
        let formatted = address(attributes)?["formatted"]?.string.map(oneLine)
        let texts = ConsentedClaims.AddressMember.allCases.compactMap { parts[$0] }
        return text(.string(formatted ?? texts.joined(separator: ", ")), maximumBytes: 1024)
    }

    private static func addressMembers(_ claims: JSONObject) -> [ConsentedClaims.AddressMember: String]? {
        var members: [ConsentedClaims.AddressMember: String] = [:]
        let address = address(claims)
        for member in ConsentedClaims.AddressMember.allCases where member != .formatted {
            members[member] = text(address?[member.rawValue]?.string.map { .string(oneLine($0)) })
        }
        members[.formatted] = addressText(claims, members)
        return members.isEmpty ? nil : members
    }

    /// Core section 5.1.1 allows line ends in an address.
    private static func oneLine(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline).joined(separator: ", ")
    }
}

/// The response of a userinfo endpoint (OpenID Connect Core section 5.3.2).
enum UserInfoResponse: Sendable {
    case plain(JSONObject)
    /// The claims of a JWT that was encrypted for the client and is not signed. Anyone could have encrypted them: like
    /// plain JSON, they are the provider's by their connection only.
    case encrypted(JSONObject)
    /// A signed JWT, which may have been encrypted. It is not verified yet.
    case signed(SignedToken)

    /// - Parameters:
    ///   - algorithm: What the response must be signed with; nil if it need not be signed.
    ///   - usual: What one that need not be signed may be signed with.
    ///   - decryption: How the response must be encrypted; nil if it must not be.
    /// - Throws: ``OIDCError/Code/unusableResponse`` if it is neither, or not what it must be.
    init(
        _ response: OutboundResponse, signedWith algorithm: SigningAlgorithm?,
        orAnyOf usual: Set<SigningAlgorithm> = SigningAlgorithm.standard,
        encryptedAs decryption: ResponseDecryption? = nil, limits: OutboundLimits
    ) throws(OIDCError) {
        if response.status == 200, ProviderResponse.mediaType(response) == "application/jwt" {
            // Some providers add a line break to the token.
            let end = response.body.lastIndex { $0 > 0x20 } ?? -1
            var token = Secret(String(decoding: response.body[...end], as: UTF8.self))
            if let decryption {
                guard let content = decryption.content(of: token, maximumBytes: limits.userInfoBytes) else {
                    // One reason, whatever is wrong, so that a forger learns nothing from the difference.
                    throw .unusable(
                        "The userinfo response must be encrypted for the client's decryption_key with "
                            + "\(decryption.key.algorithm.rawValue) and \(decryption.encryption.rawValue), as the "
                            + "client is registered.")
                }
                token = content
                // Not in the base64url of a signed token.
                if algorithm == nil, token.exposed.utf8.contains(UInt8(ascii: "{")) {
                    self = .encrypted(try Self.claims(Array(token.exposed.utf8)))
                    return
                }
            }
            self = .signed(try Self.signedToken(token, algorithm.map { [$0] } ?? usual, limits))
            return
        }
        let claims = try ProviderResponse.okObject(
            response, upTo: \.userInfoBytes, of: limits,
            otherwise: "The userinfo response is not status 200 with a JSON object.")
        if let decryption {
            throw .unusable(
                "The userinfo response is not encrypted, but the client is registered for "
                    + "\(decryption.key.algorithm.rawValue).")
        }
        if let algorithm {
            throw .unusable(
                "The userinfo response is not signed, but the client is registered for \(algorithm.rawValue).")
        }
        self = .plain(claims)
    }

    /// - Parameter algorithms: What the provider may sign it with.
    /// - Throws: ``OIDCError/Code/unusableResponse``.
    private static func signedToken(
        _ text: Secret, _ algorithms: Set<SigningAlgorithm>, _ limits: OutboundLimits
    ) throws(OIDCError) -> SignedToken {
        do throws(OIDCError) {
            return try SignedToken(text, maximumBytes: limits.userInfoBytes, signedWith: algorithms)
        } catch {
            let accepted = algorithms.map(\.rawValue).sorted().joined(separator: " or ")
            throw .unusable(
                error.check == .algorithm
                    ? "The userinfo response must be signed with \(accepted), as the client is registered."
                    : "The userinfo response is a JWT that is encrypted, or not a signed one in compact form.")
        }
    }

    /// The claims of a response that is a JWT, which are not checked yet.
    /// - Throws: ``OIDCError/Code/unusableResponse``.
    static func claims(_ payload: [UInt8]) throws(OIDCError) -> JSONObject {
        guard let claims = JSONObject(claims: payload) else {
            throw .unusable("The claims of the userinfo response are not a JSON object without duplicate names.")
        }
        return claims
    }

    /// Checks `iss`, `aud` and the times of a response that is a JWT. They are recommended only, and count where they
    /// are present.
    /// - Throws: ``OIDCError/Code/unusableResponse`` if they are another provider's or for another client, or over.
    static func check(
        _ claims: JSONObject, issuer: String, clientID: ClientID, rules: IDTokenRules, now: Timestamp
    ) throws(OIDCError) {
        let context = PlainClaims(claims: claims, rules: rules, issuer: issuer, now: now)
        guard claims["iss"].map({ $0.string?.hasSameBytes(as: issuer) == true }) ?? true else {
            throw .unusable("The iss of the userinfo response must be the provider's issuer.")
        }
        let audiences = claims["aud"].map { $0.array?.compactMap(\.string) ?? [$0.string].compactMap(\.self) }
        guard audiences?.contains(where: clientID.text.hasSameBytes(as:)) ?? true else {
            throw .unusable("The aud of the userinfo response must contain this client.")
        }
        guard context.isNotExpiredIfStated, context.isValidAlready else {
            throw .unusable("The userinfo response has expired, or is not valid yet.")
        }
    }
}

extension RelyingParty {
    /// The attributes of an ID token's user (OpenID Connect Core section 5.3). A provider's endpoint receives the
    /// correlation id as the query item `correlation_id`, because proxies drop header fields with an underscore. An
    /// OpenID provider without a userinfo endpoint has put the attributes into the ID token.
    ///
    /// - Parameters:
    ///   - algorithm: The client's `userinfo_signed_response_alg` (OpenID Connect Dynamic Client Registration section
    ///     2). A response that is not signed with it is refused. Nil if the client is registered with none: then a
    ///     response is plain JSON, or signed with one of the usual ones.
    ///   - client: The client of the access token, for the certificate that the token may be bound to, and for how its
    ///     userinfo is encrypted.
    ///   - fallBack: Is called with the failure where the attributes of the ID token are returned instead: there are no
    ///     claims, or they have no `sub`. Nil to throw it. Where the client's userinfo must be signed or encrypted, or
    ///     is a JWT that is not good, it is thrown in any case.
    /// - Throws: ``OIDCError/Code/invalidIDToken`` with ``IDTokenCheck/userInfoSubject`` if the response has another
    ///   subject; ``OIDCError/Code/metadataRefused`` if a provider has no userinfo endpoint;
    ///   ``OIDCError/Code/unusableResponse``, or a transport code. The code is spent in every case.
    public func userInfo(
        accessToken: Secret, boundTo key: DPoPKey? = nil, about idToken: VerifiedIDToken,
        signedWith algorithm: SigningAlgorithm? = nil,
        orAnyOf usual: Set<SigningAlgorithm> = SigningAlgorithm.standard, client: ClientCredentials? = nil,
        provider: ProviderMetadata, correlationID: CorrelationID, orElse fallBack: ((OIDCError) -> Void)? = nil
    ) async throws(OIDCError) -> UserInfo {
        let fallBack = algorithm == nil && client?.userInfoDecryption == nil ? fallBack : nil
        let clientTLS = clientTLS(of: client, at: provider)
        let known = try provider.userInfoEndpoint.map { (usual) throws(OIDCError) in
            try mappingErrors(
                provider.mutualTLSAliases.endpoint(.userInfo, insteadOf: usual, presenting: clientTLS)
            ) { (error: OIDCError) in
                OIDCError(error.code, codeMayBeSpent: true, reason: error.reason).at(.init(to: provider.tokenEndpoint))
            }
        }
        guard let endpoint = known else {
            guard usesNetworkDiscovery else { return idToken.attributes(configuration.userMembers) }
            throw OIDCError(.metadataRefused, codeMayBeSpent: true, reason: "The provider has no userinfo endpoint.")
                .at(.init(to: provider.tokenEndpoint))
        }
        let url = usesNetworkDiscovery ? endpoint.appending(query: [("correlation_id", correlationID.text)]) : endpoint
        let response: UserInfoResponse
        var isToken = false
        do throws(OIDCError) {
            response = try await send(
                "The userinfo request", with: accessToken, key, clientTLS, to: url, of: provider, .userInfo,
                upTo: configuration.limits.userInfoBytes,
                accepting: algorithm == nil && client?.userInfoDecryption == nil
                    ? "application/json" : "application/jwt", correlationID, codeMayBeSpent: true
            ) { (response) throws(OIDCError) in
                isToken = response.status == 200 && ProviderResponse.mediaType(response) == "application/jwt"
                return try UserInfoResponse(
                    response, signedWith: algorithm, orAnyOf: usual, encryptedAs: client?.userInfoDecryption,
                    limits: configuration.limits)
            }
        } catch {
            guard let fallBack, !isToken else { throw error }
            fallBack(error)
            return idToken.attributes(configuration.userMembers, isPartial: true)
        }
        do throws(OIDCError) {
            let claims: JSONObject
            switch response {
            case .plain(let plain):
                if let fallBack, plain["sub"]?.isNull ?? true {
                    fallBack(.unusable("The userinfo response has no sub.").at(.init(to: url, status: 200)))
                    return idToken.attributes(configuration.userMembers, isPartial: true)
                }
                return try UserInfo(plain, subject: idToken.subject, configuration.userMembers)
            case .encrypted(let decrypted): claims = decrypted
            case .signed(let signed): claims = try await verified(signed, provider, correlationID)
            }
            try UserInfoResponse.check(
                claims, issuer: idToken.issuer, clientID: idToken.clientID, rules: configuration.idTokenRules,
                now: clock.now())
            return try UserInfo(claims, subject: idToken.subject, configuration.userMembers)
        } catch {
            throw error.at(.init(to: url, status: 200))
        }
    }

    /// The claims of a signed response, by the provider's keys, which are fetched again if none of them fits.
    private func verified(
        _ signed: SignedToken, _ provider: ProviderMetadata, _ correlationID: CorrelationID
    ) async throws(OIDCError) -> JSONObject {
        let cache = try keyCaches.cache(of: provider)
        let held = try await cache.current(for: correlationID)
        try await cache.check(with: held, for: correlationID) { (keys) throws(OIDCError) in
            guard SignatureValidationContext(signed, keys: keys).verifies else {
                throw .unusable("The signature of the userinfo response does not verify with the provider's keys.")
            }
        }
        return try UserInfoResponse.claims(signed.payload)
    }
}
