import Primitives

/// A client secret that is a JWT which we sign, as Sign in with Apple has it: sent like any other secret, in the form.
///
/// A new one is made for each request; providers allow longer ones, and this way there is none to be renewed.
public struct SignedClientSecret: Sendable, Hashable {
    /// In seconds.
    static let lifetime: Int64 = 300

    /// Its `iss`: who signs, in the provider's words (with Apple, the team's id).
    public let issuer: String
    /// Its `aud`: the provider.
    public let audience: String
    public let key: ClientKey

    public init(issuer: String, audience: String, key: ClientKey) {
        self.issuer = issuer
        self.audience = audience
        self.key = key
    }

    func text(for clientID: ClientID, now: Timestamp) throws(OIDCError) -> Secret {
        var claims = JSONObjectWriter()
        claims.add("iss", issuer)
        claims.add("sub", clientID.text)
        claims.add("aud", audience)
        claims.add("iat", now.secondsSinceEpoch)
        claims.add("exp", now.advanced(bySeconds: Self.lifetime).secondsSinceEpoch)
        return try key.token(claims: claims.finish())
    }
}
