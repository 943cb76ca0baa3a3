import Primitives

/// A client assertion as it came (RFC 7523 section 3), not yet believed.
struct ReceivedAssertion: Sendable {
    /// The claim that is not as it must be.
    enum Fault: String, Sendable {
        case iss, aud, iat, exp, nbf, jti
    }

    static let maximumBytes = 16 * 1024
    /// How far ahead the end of an assertion may lie, in seconds.
    static let maximumLifetime: Int64 = 300
    static let clockSkew: Int64 = 60

    private let jws: ReceivedJWS

    /// Nil if the text is no ``ReceivedJWS``.
    init?(_ text: String) {
        guard let jws = ReceivedJWS(text, maximumBytes: Self.maximumBytes) else { return nil }
        self.jws = jws
    }

    var keyID: String? { jws.keyID }
    private var claims: JSONObject { jws.claims }

    var subject: String? { claims["sub"]?.string }

    /// 1 to 255 bytes.
    var id: String? {
        claims["jti"]?.string.flatMap { (1...255).contains($0.utf8.count) ? $0 : nil }
    }

    func isSigned(byKeyInPEM pem: String) -> Bool { jws.isSigned(byKeyInPEM: pem) }

    /// The first claim that is not as RFC 7523 section 3 and OpenID Connect Core section 9 want it. An `aud` of several
    /// is refused: another of them could use the assertion here.
    func fault(audiences: [String], now: Timestamp) -> Fault? {
        let seconds = now.secondsSinceEpoch
        guard let issuer = claims["iss"]?.string, issuer == subject else { return .iss }
        guard let audience = audience, audiences.contains(where: audience.hasSameBytes(as:)) else { return .aud }
        guard let issuedAt = claims["iat"]?.integer, issuedAt <= seconds + Self.clockSkew else { return .iat }
        guard let expiry = claims["exp"]?.integer, seconds < expiry, expiry <= seconds + Self.maximumLifetime
        else { return .exp }
        if let notBefore = claims["nbf"] {
            guard let start = notBefore.integer, start <= seconds + Self.clockSkew else { return .nbf }
        }
        return id == nil ? .jti : nil
    }

    private var audience: String? {
        guard case .array(let audiences) = claims["aud"] else { return claims["aud"]?.string }
        return audiences.count == 1 ? audiences[0].string : nil
    }
}
