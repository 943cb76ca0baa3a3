import Crypto
import Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An ID token's claims beside all that they are held against: what a ``ClaimRule`` looks at.
struct ClaimValidationContext: IssuedClaims {
    let claims: JSONObject
    let rules: IDTokenRules
    /// The provider's, as its metadata spells it.
    let issuer: String
    let expectation: IDTokenExpectation
    let now: Timestamp

    // Nil where the claim is absent or no NumericDate.
    let expiresAt: Timestamp?
    let issuedAt: Timestamp?
    let authTime: Timestamp?

    init(
        _ claims: JSONObject, rules: IDTokenRules, issuer: String, expectation: IDTokenExpectation, now: Timestamp
    ) {
        self.claims = claims
        self.rules = rules
        self.issuer = issuer
        self.expectation = expectation
        self.now = now
        expiresAt = Self.numericDate(claims["exp"])
        issuedAt = Self.numericDate(claims["iat"])
        authTime = Self.numericDate(claims["auth_time"])
    }

    /// A NumericDate (RFC 7519 section 2): a JSON number, not negative, below 2⁵³; fractions of a second are cut off.
    static func numericDate(_ value: JSONValue?) -> Timestamp? {
        guard let seconds = value?.double, seconds >= 0, seconds < 0x1p53,
            let whole = Int64(exactly: seconds.rounded(.down))
        else { return nil }
        return Timestamp(secondsSinceEpoch: whole)
    }

    var hasSubject: Bool {
        guard let subject = claims["sub"]?.string else { return false }
        return (1...255).contains(subject.utf8.count) && subject.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Stricter than the specification on purpose: no second audience, trusted or not.
    var hasAudience: Bool {
        var audience = claims["aud"]
        if case .array(let several) = audience { audience = several.count == 1 ? several.first : nil }
        return isClient(audience)
    }

    func isClient(_ value: JSONValue?) -> Bool {
        value?.string?.hasSameBytes(as: expectation.clientID.text) == true
    }

    /// A token that ends before it begins is refused by its expiry, if its issue is not what is wrong with it.
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

    /// A token of a notification need not name its request, and names no other.
    var hasRequestID: Bool {
        guard let expected = expectation.requestID, let requestID else { return true }
        return requestID.string?.hasSameBytesInConstantTime(as: expected.exposed) == true
    }

    var hasACR: Bool {
        guard !expectation.acrValues.isEmpty else { return true }
        guard let acr = claims["acr"]?.string else { return false }
        return expectation.acrValues.contains(where: acr.hasSameBytes(as:))
    }

    /// When the user's authentication may be only so old, it must be known how old it is.
    var hasAuthTime: Bool {
        guard claims["auth_time"] == nil || authTime != nil else { return false }
        guard let maximumAge = expectation.maximumAuthenticationAge else { return true }
        let (age, overflow) = maximumAge.addingReportingOverflow(rules.clockSkewSeconds)
        guard let authTime, !overflow, !isInFuture(authTime) else { return false }
        return authTime >= now.advanced(bySeconds: -age)
    }

    /// OpenID Connect Core section 3.1.3.8: base64url of the left half of the access token's hash, SHA-256 for both
    /// algorithms we know.
    var hasAccessTokenHash: Bool {
        guard let claim = claims["at_hash"] else { return true }
        guard let named = claim.string else { return false }
        guard let accessToken = expectation.accessToken else { return true }
        let half = Array(SHA256.hash(data: Array(accessToken.exposed.utf8))).prefix(16)
        return named.hasSameBytes(as: Base64URL.encode(half))
    }

    var hasContext: Bool {
        guard let expected = expectation.context else { return true }
        return claims["context"]?.string?.hasSameBytes(as: expected) == true
    }
}
