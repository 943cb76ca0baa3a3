/// A grant type of the token endpoint, as a provider lists it in `grant_types_supported` (RFC 8414 section 2).
public enum GrantType: String, Sendable, Hashable, CaseIterable {
    /// RFC 6749 section 4.1.
    case authorizationCode = "authorization_code"
    /// RFC 6749 section 4.4.
    case clientCredentials = "client_credentials"
    /// RFC 6749 section 6.
    case refreshToken = "refresh_token"
    /// RFC 7523 section 2.1.
    case jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    /// CIBA Core section 10.1.
    case backchannelAuthentication = "urn:openid:params:grant-type:ciba"
}
