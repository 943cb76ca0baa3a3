import Primitives

/// The JWT that stands for a user at the token endpoint, and for the client itself (RFC 7523 section 2.1, with the
/// claims of the CAMARA Security and Interoperability Profile r4.2, section "JWT Bearer Flow").
enum AuthorizationAssertion {
    /// In seconds. The profile allows 300 at most.
    static let lifetime: Int64 = 60

    /// - Parameters:
    ///   - endpoint: The URL that the request goes to, which is the audience.
    ///   - id: Unique: an operator refuses a second use.
    /// - Throws: ``OIDCError/Code/clientRefused`` if the client has no key, or its key cannot sign.
    static func make(
        of subject: Secret, for client: ClientCredentials, scopes: [String], to endpoint: EndpointURL, id: String,
        now: Timestamp
    ) throws(OIDCError) -> Secret {
        guard case .privateKeyJWT(let key, _) = client.authentication else {
            throw OIDCError(.clientRefused, reason: "An operator token needs a client with private_key_jwt.")
        }
        var claims = JSONObjectWriter()
        claims.add("iss", client.clientID.text)
        claims.add("sub", subject.exposed)
        claims.add("aud", endpoint.text)
        claims.add("jti", id)
        claims.add("iat", now.secondsSinceEpoch)
        claims.add("exp", now.advanced(bySeconds: lifetime).secondsSinceEpoch)
        claims.add("scope", scopes.joined(separator: " "))
        return try key.token(claims: claims.finish())
    }
}
