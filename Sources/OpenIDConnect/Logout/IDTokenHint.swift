public import Primitives

/// The ID token of a sign-in, for the logout at its provider: `id_token_hint` (OpenID Connect RP-Initiated Logout
/// section 2). It tells the provider which of its sessions to end.
///
/// It has the user's claims, so that it prints as redacted, and goes to its issuer only.
public struct IDTokenHint: Sendable, Hashable, Redacted {
    public let issuer: String
    /// The token as the issuer signed it, in compact form.
    public let token: Secret

    /// The longest URL of a logout, in bytes. Many servers and proxies do not accept longer ones.
    public static let maximumURLBytes = 8192

    /// Nil if no URL could have the token, or if either text has other characters than visible ASCII, as no issuer and
    /// no token in compact form has.
    public init?(issuer: String, token: Secret) {
        guard token.exposed.isVisibleASCII(upTo: Self.maximumURLBytes - 1), issuer.isVisibleASCII() else { return nil }
        self.issuer = issuer
        self.token = token
    }
}
