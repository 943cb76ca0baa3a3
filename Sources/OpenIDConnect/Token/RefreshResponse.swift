/// The response to a refresh (RFC 6749 section 6, OpenID Connect Core section 12.1).
public struct RefreshResponse: Sendable {
    /// The new tokens.
    public let tokens: TokenResponse
    /// Why the ID token of the response could not be validated; nil if it is valid, or if there is none. The tokens
    /// must be kept then, because the earlier refresh token may be spent, and must not be used before
    /// ``RelyingParty/validate(refreshed:accessToken:receivedAt:client:of:signedWith:provider:correlationID:)`` accepts
    /// the ID token.
    public let unverified: OIDCError?

    init(_ tokens: TokenResponse, unverified: OIDCError? = nil) {
        self.tokens = tokens
        self.unverified = unverified
    }
}
