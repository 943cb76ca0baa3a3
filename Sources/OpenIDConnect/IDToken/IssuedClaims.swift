package import Primitives

/// The claims about a token's issuer and time of issue, and what they are checked against.
package protocol IssuedClaims {
    var claims: JSONObject { get }
    var rules: IDTokenRules { get }
    /// As the provider's metadata spells it.
    var issuer: String { get }
    var now: Timestamp { get }
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
    /// Nil if the claim is absent or not a NumericDate.
    package var issuedAt: Timestamp? { ClaimValidationContext.numericDate(claims["iat"]) }

    var hasIssuer: Bool { claims["iss"]?.string?.hasSameBytes(as: issuer) == true }

    package var wasIssuedJustNow: Bool {
        guard let issuedAt else { return false }
        return !isInFuture(issuedAt)
            && issuedAt >= now.advanced(bySeconds: -(rules.maximumAgeSeconds + rules.clockSkewSeconds))
    }

    /// For tokens that need no `exp`.
    package var isNotExpiredIfStated: Bool {
        guard let claim = claims["exp"] else { return true }
        guard let expiry = ClaimValidationContext.numericDate(claim) else { return false }
        return now < expiry.advanced(bySeconds: rules.clockSkewSeconds)
    }

    package var isValidAlready: Bool {
        guard let claim = claims["nbf"] else { return true }
        guard let start = ClaimValidationContext.numericDate(claim) else { return false }
        return !isInFuture(start)
    }

    func isInFuture(_ time: Timestamp) -> Bool {
        time > now.advanced(bySeconds: rules.clockSkewSeconds)
    }
}

// What an explanation shows of them.
extension IssuedClaims {
    var foundIssuer: String {
        let named = "iss is \(DisplayText.value(claims["iss"]))"
        return hasIssuer ? named : "\(named); the provider's issuer is «\(DisplayText.line(issuer))»"
    }

    var foundIssue: String {
        "\(foundTime("iat")); at most \(rules.maximumAgeSeconds) s ago, and \(rules.clockSkewSeconds) s of clock skew, "
            + "are allowed"
    }

    /// `exp is 2026-11-21T01:02:03Z, 360 s ago`
    func foundTime(_ name: String) -> String {
        guard let value = claims[name] else { return "\(name) is absent" }
        guard let moment = ClaimValidationContext.numericDate(value) else {
            return "\(name) is not a NumericDate: \(DisplayText.value(value))"
        }
        let (difference, overflow) = moment.secondsSinceEpoch.subtractingReportingOverflow(now.secondsSinceEpoch)
        let text = "\(name) is \(UTCTime.text(moment))"
        if overflow { return text }
        return difference > 0 ? "\(text), in \(difference) s" : "\(text), \(difference.magnitude) s ago"
    }
}
