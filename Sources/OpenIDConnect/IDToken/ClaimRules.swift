package import Primitives

extension ClaimValidationContext {
    /// The rules for the claims of an ID token, in the order in which a sign-in is refused by them.
    static let claimRules: [TokenRule<IDTokenCheck, Self>] = [
        .init(.issuer, { $0.hasIssuer }, found: { $0.foundIssuer }),
        .init(.subject, { $0.hasSubject }, found: { "sub is \(DisplayText.shape($0.claims["sub"]))" }),
        .init(.audience, { $0.hasAudience }, found: { $0.foundClient("aud") }),
        .init(
            .authorizedParty, { $0.hasAuthorizedParty },
            found: { $0.claims["azp"] == nil ? "azp is absent" : $0.foundClient("azp") }),
        .init(.idTokenClaims, { $0.hasIDTokenClaims }, found: { $0.foundIDTokenClaims }),
        .init(.expiry, { $0.isNotExpired }, found: { $0.foundExpiry }),
        .init(.issuedAt, { $0.wasIssuedJustNow }, found: { $0.foundIssue }),
        .init(.notBefore, { $0.isValidAlready }, found: { $0.foundTime("nbf") }),
        .init(.nonce, { $0.hasNonce }, hasExpectedValue: { $0.expectation.nonce != nil }, found: { $0.foundNonce }),
        .init(
            .requestID, { $0.hasRequestID },
            hasExpectedValue: { $0.requestID == nil || $0.expectation.requestID != nil },
            found: { "auth_req_id is \(DisplayText.shape($0.requestID))" }),
        .init(
            .acr, { $0.hasACR }, hasExpectedValue: { !$0.expectation.demand.acrValues.isEmpty },
            found: { $0.foundACR }),
        .init(
            .authTime, { $0.hasAuthTime },
            hasExpectedValue: {
                $0.expectation.demand.maximumAge != nil || $0.expectation.demand.since != nil
            },
            found: { $0.foundAuthTime }),
        .init(
            .accessTokenHash, { $0.hasAccessTokenHash },
            hasExpectedValue: { $0.claims["at_hash"] == nil || $0.expectation.accessToken != nil },
            found: { $0.foundAccessTokenHash }),
        .init(
            .context, { $0.hasContext }, hasExpectedValue: { $0.expectation.demand.context != nil },
            found: { $0.foundContext }
        ),
    ]

    /// The further rules for the ID token of a refresh: it is about the same authentication as the sign-in's
    /// (OpenID Connect Core section 12.2).
    static let refreshRules: [TokenRule<IDTokenCheck, Self>] = [
        .init(.issuer, { $0.hasOriginalIssuer }, found: { $0.foundIssuer }),
        .init(.sameUser, { $0.hasOriginalSubject }, found: { "sub is \(DisplayText.shape($0.claims["sub"]))" }),
        .init(.authorizedParty, { $0.hasOriginalAuthorizedParty }, found: { $0.foundClient("azp") }),
        .init(.nonce, { $0.hasOriginalNonceOrNone }, found: { $0.foundNonce }),
        .init(.authTime, { $0.hasOriginalAuthTime }, found: { $0.foundAuthTime }),
    ]
}

/// An ID token's claims and what they are checked against: what ``claimRules`` look at.
struct ClaimValidationContext: IssuedClaims {
    let claims: JSONObject
    /// How the token is marked; nil for another kind of token.
    let type: IDTokenType?
    /// Signs the token; nil if it is not a known one.
    let algorithm: SigningAlgorithm?
    let rules: IDTokenRules
    /// As the provider's metadata spells it.
    let issuer: String
    let expectation: IDTokenExpectation
    let now: Timestamp

    // Read once. Nil if the claim is absent or not a NumericDate.
    package let issuedAt: Timestamp?
    let expiresAt: Timestamp?
    let authTime: Timestamp?

    init(
        _ claims: JSONObject, type: IDTokenType?, algorithm: SigningAlgorithm?, _ validator: IDTokenValidator,
        _ expectation: IDTokenExpectation, now: Timestamp
    ) {
        let claims = validator.rules.isLenient ? claims.withoutNulls(named: Self.optionalClaims) : claims
        self.claims = claims
        self.type = type
        self.algorithm = algorithm
        rules =
            expectation.isNative
            ? validator.rules.ofNativeTokens(trusting: expectation.trustedAudiences) : validator.rules
        issuer = validator.issuer
        self.expectation = altered(expectation) { $0.clientID = expectation.audience(of: claims) }
        self.now = now
        issuedAt = claims["iat"]?.numericDate
        expiresAt = claims["exp"]?.numericDate
        authTime = claims["auth_time"]?.numericDate
    }

    /// Those that may be absent, and are checked if they are not.
    private static let optionalClaims = ["azp", "nbf", "auth_time", "at_hash"]

    var hasSubject: Bool { claims["sub"]?.string?.isVisibleASCII(upTo: 255) == true }

    /// OpenID Connect Core section 3.1.3.7, rule 3: no further audience, unless it is trusted.
    var hasAudience: Bool { claims.isFor(expectation.clientID, and: expectation.requiredAudiences, by: rules) }

    /// Of several audiences, the authorized party tells whose token it is.
    var hasAuthorizedParty: Bool {
        guard let party = claims["azp"] else {
            return !rules.trustsOthers(for: expectation.clientID) || claims.onlyAudience != nil
        }
        return isClient(party.string) || expectation.isNative && party.visibleText != nil && claims.onlyAudience != nil
    }

    func isClient(_ text: String?) -> Bool { text?.hasSameBytes(as: expectation.clientID.text) == true }

    /// The claims that access tokens have (RFC 9068 sections 2.2 and 2.2.3) and ID tokens do not.
    static let accessTokenClaims = ["client_id", "scope"]

    /// A token with the type of access tokens is told apart by its claims. Only an ID token has the nonce of the
    /// sign-in. An access token may have `acr` and `auth_time`, but then also has `client_id` (RFC 9068 section 2.2).
    /// A logout token has `events` (OpenID Connect Back-Channel Logout section 2.4).
    var hasIDTokenClaims: Bool {
        guard claims["events"] == nil else { return false }
        guard type == .accessToken else { return true }
        guard Self.accessTokenClaims.allSatisfy({ claims[$0] == nil }) else { return false }
        if expectation.nonce != nil, claims["nonce"] != nil { return true }
        return claims["acr"]?.string?.isEmpty == false && authTime != nil
    }

    /// A token that expires before it was issued is refused for its expiry, unless its time of issue is wrong too.
    var isNotExpired: Bool {
        guard let expiresAt, now < expiresAt.advanced(bySeconds: rules.clockSkewSeconds) else { return false }
        guard let issuedAt, wasIssuedJustNow else { return true }
        return expiresAt > issuedAt
    }

    var hasNonce: Bool {
        guard let expected = expectation.nonce else { return true }
        if expectation.nonceMayBeMissing || rules.nonceMayBeMissing, claims["nonce"] == nil { return true }
        guard let nonce = claims["nonce"]?.string, !nonce.isEmpty else { return false }
        return nonce.hasSameBytesInConstantTime(as: expected)
            || expectation.hashedNonce.map(nonce.hasSameBytesInConstantTime(as:)) == true
    }

    /// The claim of CIBA Core section 10.3.1.
    var requestID: JSONValue? { claims["urn:openid:params:jwt:claim:auth_req_id"] }

    /// A token that came with a notification need not name its request, and must not name another.
    var hasRequestID: Bool {
        guard let expected = expectation.requestID, let requestID else { return true }
        return requestID.string?.hasSameBytesInConstantTime(as: expected.exposed) == true
    }

    var hasACR: Bool {
        guard !expectation.demand.acrValues.isEmpty else { return true }
        guard let acr = claims["acr"]?.string else { return false }
        return expectation.demand.acrValues.contains(where: acr.hasSameBytes(as:))
    }

    /// If a maximum age was requested, `auth_time` is required (OpenID Connect Core section 2). After `prompt=login` it
    /// may be absent, and must not be before the request.
    var hasAuthTime: Bool {
        guard authTime != nil || claims["auth_time"] == nil else { return false }
        if let since = expectation.demand.since, let authTime {
            guard authTime >= since.advanced(bySeconds: -rules.clockSkewSeconds), !isInFuture(authTime)
            else { return false }
        }
        guard let maximumAge = expectation.demand.maximumAge else { return true }
        let (age, overflow) = maximumAge.addingReportingOverflow(rules.clockSkewSeconds)
        guard let authTime, !overflow, !isInFuture(authTime) else { return false }
        return authTime >= now.advanced(bySeconds: -age)
    }

    /// OpenID Connect Core section 3.1.3.8: base64url of the left half of the access token's hash, by the hash function
    /// of the token's algorithm.
    var hasAccessTokenHash: Bool {
        guard let claim = claims["at_hash"] else { return true }
        guard let named = claim.string else { return false }
        guard let accessToken = expectation.accessToken else { return true }
        // An unknown algorithm is refused by another rule.
        let hash = (algorithm ?? .rs256).hash(of: accessToken)
        return named.hasSameBytes(as: Base64URL.encode(hash.prefix(hash.count / 2)))
    }

    var hasContext: Bool {
        guard let expected = expectation.demand.context else { return true }
        return claims["context"]?.string?.hasSameBytes(as: expected) == true
    }
}

/// The token of a refresh beside the sign-in's. Without one to compare with, each of these is met.
extension ClaimValidationContext {
    /// The provider's metadata may name another issuer by now.
    var hasOriginalIssuer: Bool {
        expectation.original.map { claims["iss"]?.string?.hasSameBytes(as: $0.issuer) == true } ?? true
    }

    var hasOriginalSubject: Bool {
        expectation.original.map { claims["sub"]?.string?.hasSameBytes(as: $0.subject) == true } ?? true
    }

    /// If the token of the sign-in had none, this one must not have one either.
    var hasOriginalAuthorizedParty: Bool {
        guard let original = expectation.original?.claims else { return true }
        return isSame(claims["azp"], original.authorizedParty)
    }

    /// A token of a refresh need not repeat the nonce, and must not have another one.
    var hasOriginalNonceOrNone: Bool {
        guard let original = expectation.original?.claims, let nonce = claims["nonce"] else { return true }
        return isSame(nonce, original.nonce)
    }

    /// The time of the sign-in, not of the refresh; it may be left out.
    var hasOriginalAuthTime: Bool {
        guard let original = expectation.original?.claims?.authTime, claims["auth_time"] != nil else { return true }
        return authTime == original
    }

    private func isSame(_ claim: JSONValue?, _ original: String?) -> Bool {
        guard let claim, let original else { return claim == nil && original == nil }
        return claim.string?.hasSameBytes(as: original) == true
    }
}

/// The claims about a token's issuer and time of issue, and what they are checked against.
package protocol IssuedClaims {
    var claims: JSONObject { get }
    var rules: IDTokenRules { get }
    /// As the provider's metadata spells it.
    var issuer: String { get }
    var now: Timestamp { get }
    /// Nil if the claim is absent or not a NumericDate.
    var issuedAt: Timestamp? { get }
}

/// The claims of a token of which only these are checked by rules.
package struct PlainClaims: IssuedClaims {
    package let claims: JSONObject
    package let rules: IDTokenRules
    package let issuer: String
    package let now: Timestamp

    package init(claims: JSONObject, rules: IDTokenRules, issuer: String, now: Timestamp) {
        self.claims = claims
        self.rules = rules
        self.issuer = issuer
        self.now = now
    }
}

extension IssuedClaims {
    package var issuedAt: Timestamp? { claims["iat"]?.numericDate }

    var hasIssuer: Bool {
        guard let named = claims["iss"]?.string else { return false }
        guard let tenants = rules.tenants else { return named.hasSameBytes(as: issuer) }
        return tenants.tenant(of: named).map { claims["tid"]?.string?.hasSameBytes(as: $0) == true } ?? false
    }

    package var wasIssuedJustNow: Bool {
        guard let issuedAt else { return false }
        return !isInFuture(issuedAt)
            && issuedAt >= now.advanced(bySeconds: -(rules.maximumAgeSeconds + rules.clockSkewSeconds))
    }

    /// For tokens that need no `exp`.
    package var isNotExpiredIfStated: Bool {
        guard let claim = claims["exp"] else { return true }
        guard let expiry = claim.numericDate else { return false }
        return now < expiry.advanced(bySeconds: rules.clockSkewSeconds)
    }

    package var isValidAlready: Bool {
        guard let claim = claims["nbf"] else { return true }
        guard let start = claim.numericDate else { return false }
        return !isInFuture(start)
    }

    func isInFuture(_ time: Timestamp) -> Bool {
        time > now.advanced(bySeconds: rules.clockSkewSeconds)
    }
}

extension JSONValue {
    /// A NumericDate (RFC 7519 section 2): a JSON number, not negative, below 2⁵³; fractions of a second are cut off.
    package var numericDate: Timestamp? {
        guard let seconds = double, seconds >= 0, seconds < 0x1p53,
            let whole = Int64(exactly: seconds.rounded(.down))
        else { return nil }
        return Timestamp(secondsSinceEpoch: whole)
    }

    /// A text of 1 to 255 visible ASCII characters.
    package var visibleText: String? { string.flatMap { $0.isVisibleASCII(upTo: 255) ? $0 : nil } }

    /// A `sid` of 1 to 1024 visible ASCII characters. OpenID Connect sets no limit, and some providers encrypt what
    /// they know of the session into it.
    var sessionIDText: String? { string.flatMap { $0.isVisibleASCII(upTo: 1024) ? $0 : nil } }
}

extension JSONObject {
    /// The `aud` claim if it names one audience, as a text or as an array of one text (RFC 7519 section 4.1.3).
    package var onlyAudience: String? {
        switch self["aud"] {
        case .string(let audience): audience
        case .array(let several) where several.count == 1: several.first?.string
        default: nil
        }
    }

    /// Whether a client is among the audiences.
    func names(_ client: ClientID) -> Bool {
        switch self["aud"] {
        case .array(let several): several.contains { $0.string?.hasSameBytes(as: client.text) == true }
        case let single: single?.string?.hasSameBytes(as: client.text) == true
        }
    }

    /// Whether a client and all required audiences are among the audiences, and each of the others is trusted.
    func isFor(_ client: ClientID, and required: [ClientID] = [], by rules: IDTokenRules) -> Bool {
        if let only = onlyAudience { return required.isEmpty && only.hasSameBytes(as: client.text) }
        guard rules.isLenient || rules.trustsOthers(for: client) || !required.isEmpty,
            let several = self["aud"]?.array
        else { return false }
        return names(client) && required.allSatisfy(names)
            && several.allSatisfy { name in
                guard let id = name.string.flatMap({ ClientID($0) }) else { return false }
                return id == client || required.contains(id) || rules.trusts(id, for: client)
            }
    }
}
