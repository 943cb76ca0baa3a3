import Primitives

/// The JWT that authenticates a client (RFC 7523 sections 2.2 and 3, OpenID Connect Core section 9).
enum ClientAssertion {
    static let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    /// In seconds. Short, because it is sent with one request at once.
    static let lifetime: Int64 = 60

    /// - Parameters:
    ///   - tokenType: The header's `typ`.
    ///   - id: Unique: a provider refuses a second use.
    static func make(
        _ clientID: ClientID, type tokenType: String, audience: String, id: String, now: Timestamp, key: ClientKey
    ) throws(OIDCError) -> Secret {
        var claims = JSONObjectWriter()
        claims.add("iss", clientID.text)
        claims.add("sub", clientID.text)
        // Not in the specification: ZenKey's carriers require it.
        claims.add("client_id", clientID.text)
        claims.add("aud", audience)
        claims.add("jti", id)
        claims.add("iat", now.secondsSinceEpoch)
        claims.add("exp", now.advanced(bySeconds: lifetime).secondsSinceEpoch)
        return try key.token(type: tokenType, claims: claims.finish())
    }
}
