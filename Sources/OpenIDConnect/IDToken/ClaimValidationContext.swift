import Primitives

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

    // Nil if the claim is absent or not a NumericDate.
    var expiresAt: Timestamp? { Self.numericDate(claims["exp"]) }
    var authTime: Timestamp? { Self.numericDate(claims["auth_time"]) }

    /// A NumericDate (RFC 7519 section 2): a JSON number, not negative, below 2⁵³; fractions of a second are cut off.
    static func numericDate(_ value: JSONValue?) -> Timestamp? {
        guard let seconds = value?.double, seconds >= 0, seconds < 0x1p53,
            let whole = Int64(exactly: seconds.rounded(.down))
        else { return nil }
        return Timestamp(secondsSinceEpoch: whole)
    }

    var hasSubject: Bool { claims["sub"]?.string?.isVisibleASCII(upTo: 255) == true }

    /// Stricter than OpenID Connect Core section 3.1.3.7: no second audience, trusted or not.
    var hasAudience: Bool { isClient(claims.onlyAudience) }

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
        if expectation.nonceMayBeMissing, claims["nonce"] == nil { return true }
        guard let nonce = claims["nonce"]?.string, !nonce.isEmpty else { return false }
        return nonce.hasSameBytesInConstantTime(as: expected)
    }

    /// The claim of CIBA Core section 10.3.1.
    var requestID: JSONValue? { claims["urn:openid:params:jwt:claim:auth_req_id"] }

    /// A token that came with a notification need not name its request, and must not name another.
    var hasRequestID: Bool {
        guard let expected = expectation.requestID, let requestID else { return true }
        return requestID.string?.hasSameBytesInConstantTime(as: expected.exposed) == true
    }

    var hasACR: Bool {
        guard !expectation.acrValues.isEmpty else { return true }
        guard let acr = claims["acr"]?.string else { return false }
        return expectation.acrValues.contains(where: acr.hasSameBytes(as:))
    }

    /// If a maximum age was requested, `auth_time` is required (OpenID Connect Core section 2). After `prompt=login` it
    /// may be absent, and must not be before the request.
    var hasAuthTime: Bool {
        guard claims["auth_time"] == nil || authTime != nil else { return false }
        if let since = expectation.authenticatedSince, let authTime {
            guard authTime >= since.advanced(bySeconds: -rules.clockSkewSeconds), !isInFuture(authTime)
            else { return false }
        }
        guard let maximumAge = expectation.maximumAuthenticationAge else { return true }
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
        let hash = (algorithm?.hash ?? .sha256).bytes(of: accessToken)
        return named.hasSameBytes(as: Base64URL.encode(hash.prefix(hash.count / 2)))
    }

    var hasContext: Bool {
        guard let expected = expectation.context else { return true }
        return claims["context"]?.string?.hasSameBytes(as: expected) == true
    }
}

/// The token of a refresh beside the sign-in's. Without one to compare with, each of these is met.
extension ClaimValidationContext {
    /// The provider's metadata may name another issuer by now.
    var hasOriginalIssuer: Bool { expectation.original.map { issuer.hasSameBytes(as: $0.issuer) } ?? true }

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
