import Primitives

/// An ID token's claims about time, checked against the present.
struct IDTokenTimes {
    let issuedAt: Timestamp
    let expiresAt: Timestamp
    let authTime: Timestamp?

    init(_ claims: JSONObject, rules: IDTokenRules, now: Timestamp) throws(OIDCError) {
        guard let expiry = Self.numericDate(claims["exp"]), now < expiry.advanced(bySeconds: rules.clockSkewSeconds)
        else { throw .failed(.expiry) }
        guard let issued = Self.numericDate(claims["iat"]), !Self.isInFuture(issued, rules, now),
            issued >= now.advanced(bySeconds: -(rules.maximumAgeSeconds + rules.clockSkewSeconds))
        else { throw .failed(.issuedAt) }
        guard expiry > issued else { throw .failed(.expiry) }
        if let claim = claims["nbf"] {
            guard let start = Self.numericDate(claim), !Self.isInFuture(start, rules, now) else {
                throw .failed(.notBefore)
            }
        }
        authTime = try Self.authTime(claims)
        issuedAt = issued
        expiresAt = expiry
    }

    /// When the user's authentication may be only so old, it must be known how old it is.
    func checkAuthentication(maximumAge: Int64?, rules: IDTokenRules, now: Timestamp) throws(OIDCError) {
        guard let maximumAge else { return }
        let (age, overflow) = maximumAge.addingReportingOverflow(rules.clockSkewSeconds)
        guard let authTime, !overflow, !Self.isInFuture(authTime, rules, now),
            authTime >= now.advanced(bySeconds: -age)
        else { throw .failed(.authTime) }
    }

    private static func authTime(_ claims: JSONObject) throws(OIDCError) -> Timestamp? {
        guard let claim = claims["auth_time"] else { return nil }
        guard let time = numericDate(claim) else { throw .failed(.authTime) }
        return time
    }

    private static func isInFuture(_ time: Timestamp, _ rules: IDTokenRules, _ now: Timestamp) -> Bool {
        time > now.advanced(bySeconds: rules.clockSkewSeconds)
    }

    /// A NumericDate (RFC 7519 section 2): a JSON number, not negative, below 2⁵³; fractions of a second are cut off.
    private static func numericDate(_ value: JSONValue?) -> Timestamp? {
        guard let seconds = value?.double, seconds >= 0, seconds < 0x1p53,
            let whole = Int64(exactly: seconds.rounded(.down))
        else { return nil }
        return Timestamp(secondsSinceEpoch: whole)
    }
}
