import Primitives

/// A client secret that is a JWT signed by the client, as in Sign in with Apple. It is sent in the form like any
/// secret.
///
/// A new one is made for each request, so that none has to be renewed before it expires.
public struct SignedClientSecret: Sendable, Hashable {
    /// In seconds.
    static let lifetime: Int64 = 300

    /// Its `iss`: the provider's id of the signer (with Apple, the team's id).
    public let issuer: String
    /// Its `aud`: the provider.
    public let audience: String
    /// Signs it.
    public let key: ClientKey

    /// The parameters of the secrets.
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
