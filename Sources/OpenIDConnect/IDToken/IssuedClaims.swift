import Primitives

/// The claims about a token's issuer and time of issue, and what they are checked against.
protocol IssuedClaims {
    var claims: JSONObject { get }
    var rules: IDTokenRules { get }
    /// As the provider's metadata spells it.
    var issuer: String { get }
    var now: Timestamp { get }
}

/// The claims of a token of which only these are checked by rules.
struct PlainClaims: IssuedClaims {
    let claims: JSONObject
    let rules: IDTokenRules
    let issuer: String
    let now: Timestamp
}

extension IssuedClaims {
    /// Nil if the claim is absent or not a NumericDate.
    var issuedAt: Timestamp? { ClaimValidationContext.numericDate(claims["iat"]) }

    var hasIssuer: Bool { claims["iss"]?.string?.hasSameBytes(as: issuer) == true }

    var wasIssuedJustNow: Bool {
        guard let issuedAt else { return false }
        return !isInFuture(issuedAt)
            && issuedAt >= now.advanced(bySeconds: -(rules.maximumAgeSeconds + rules.clockSkewSeconds))
    }

    /// For tokens that need no `exp`.
    var isNotExpiredIfStated: Bool {
        guard let claim = claims["exp"] else { return true }
        guard let expiry = ClaimValidationContext.numericDate(claim) else { return false }
        return now < expiry.advanced(bySeconds: rules.clockSkewSeconds)
    }

    var isValidAlready: Bool {
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
