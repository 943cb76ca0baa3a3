import Primitives

/// A client assertion as received (RFC 7523 section 3).
extension ReceivedJWS {
    static let maximumAssertionBytes = 16 * 1024

    /// The `jti`, of 1 to 255 bytes.
    var assertionID: String? {
        claims["jti"]?.string.flatMap { (1...255).contains($0.utf8.count) ? $0 : nil }
    }

    /// The first claim that violates RFC 7523 section 3 or OpenID Connect Core section 9; nil if there is none. An
    /// `aud` of several audiences is refused, because another audience could replay the assertion here.
    func assertionFault(audiences: [String], now: Timestamp) -> String? {
        let seconds = now.secondsSinceEpoch
        guard let issuer = claims["iss"]?.string, issuer == claims["sub"]?.string else { return "iss" }
        guard let audience, audiences.contains(where: audience.hasSameBytes(as:)) else { return "aud" }
        guard let issuedAt = claims["iat"]?.integer, issuedAt <= seconds + Self.clockSkew else { return "iat" }
        // At most five minutes ahead.
        guard let expiry = claims["exp"]?.integer, seconds < expiry, expiry <= seconds + 300 else { return "exp" }
        if let notBefore = claims["nbf"] {
            guard let start = notBefore.integer, start <= seconds + Self.clockSkew else { return "nbf" }
        }
        return assertionID == nil ? "jti" : nil
    }

    private var audience: String? {
        guard case .array(let audiences) = claims["aud"] else { return claims["aud"]?.string }
        return audiences.count == 1 ? audiences[0].string : nil
    }
}
