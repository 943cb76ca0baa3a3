import Primitives

/// The JWT that stands for a user's device at the token endpoint, and for the client itself (RFC 7523 section 2.1, with
/// the claims of the CAMARA Security and Interoperability Profile r4.2, section "JWT Bearer Flow").
enum AuthorizationAssertion {
    static let grantType = GrantType.jwtBearer.rawValue
    /// In seconds. The profile allows 300 at most.
    static let lifetime: Int64 = 60

    /// - Parameters:
    ///   - operatorToken: The TS.43 temporary token that the app got from the operator.
    ///   - scopes: With exactly one purpose.
    ///   - endpoint: The URL that the request goes to, which is the audience.
    ///   - id: Unique: an operator refuses a second use.
    static func make(
        _ clientID: ClientID, operatorToken: Secret, scopes: [String], endpoint: EndpointURL, id: String,
        now: Timestamp, key: ClientKey
    ) throws(OIDCError) -> Secret {
        var claims = JSONObjectWriter()
        claims.add("iss", clientID.text)
        claims.add("sub", OperatorToken.hint(operatorToken))
        claims.add("aud", endpoint.text)
        claims.add("jti", id)
        claims.add("iat", now.secondsSinceEpoch)
        claims.add("exp", now.advanced(bySeconds: lifetime).secondsSinceEpoch)
        claims.add("scope", scopes.joined(separator: " "))
        return try key.token(type: "JWT", claims: claims.finish())
    }
}
