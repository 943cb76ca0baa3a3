public import Primitives

/// A successful answer of the token endpoint (RFC 6749 section 5.1, OpenID Connect Core section 3.1.3.3).
public struct TokenResponse: Sendable, Hashable {
    public let accessToken: Secret
    /// In compact form; not yet validated. Nil from a provider without ID tokens, and from no other.
    public let idToken: Secret?
    public let refreshToken: Secret?
    /// Seconds until the access token ends, if the provider says.
    public let expiresIn: Int64?
    /// The scopes granted, if the provider says.
    public let scope: String?
}
