public import Primitives

/// A successful response of the token endpoint (RFC 6749 section 5.1, OpenID Connect Core section 3.1.3.3).
public struct TokenResponse: Sendable, Hashable {
    /// The access token, of type Bearer.
    public let accessToken: Secret
    /// In compact form, not validated yet. Nil only from a provider without ID tokens, or for a refresh.
    public let idToken: Secret?
    /// The refresh token, if the provider issued one.
    public let refreshToken: Secret?
    /// Seconds until the access token expires, if the provider says so.
    public let expiresIn: Int64?
    /// The granted scopes, if the provider names them.
    public let scope: String?
}
