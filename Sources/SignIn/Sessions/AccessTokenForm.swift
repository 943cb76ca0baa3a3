package import Primitives
package import StorageModel

/// Session tokens that are not opaque, for the clients that are configured so. One feature has them.
///
/// Such a session has an opaque token as every other one, which its app never gets. What the app gets names that
/// token's hash, under which the session is stored.
package protocol AccessTokenForm: AnyObject, Sendable {
    /// The token for the app of a session; nil for a client with opaque tokens.
    /// - Parameter key: The thumbprint of the key that the session's tokens are bound to.
    /// - Throws: `temporarily_unavailable`; `server_error` if it cannot be signed.
    func token(
        of holder: SessionAndUser, under hash: TokenHash, boundTo key: String?, in sessions: Sessions
    ) async throws(SignInError) -> Secret?

    /// The session of a token, with its hash; nil for a token that this server did not issue, that has expired, or
    /// whose session has ended. One that is bound to a key is shown with the key in front (`SessionTokenFormat`).
    /// - Throws: `temporarily_unavailable`.
    func holder(
        of token: Secret, in sessions: Sessions
    ) async throws(SignInError) -> (hash: TokenHash, found: SessionAndUser)?
}

extension Sessions {
    /// Whether the tokens of some clients are bound to keys, or not opaque.
    package var hasOtherTokens: Bool { accessTokenForm != nil || !keyRules.isEmpty }

    /// A session as its app gets it. The token is opaque for most clients, and if the session has ended since.
    /// - Throws: `temporarily_unavailable`; `server_error` if a token cannot be signed.
    package func given(_ signedIn: SignedIn) async throws(SignInError) -> SignedIn {
        guard let accessTokenForm else { return signedIn }
        let hash = TokenHash(ofSessionToken: signedIn.tokens.token.exposed)
        guard let holder = try await holder(under: hash),
            let token = try await accessTokenForm.token(of: holder, under: hash, boundTo: signedIn.tokens.key, in: self)
        else { return signedIn }
        return altered(signedIn) { $0.tokens.token = token }
    }

    /// The hash under which the session of a token is stored.
    /// - Throws: `temporarily_unavailable`.
    package func hash(of token: Secret) async throws(SignInError) -> TokenHash {
        try await accessTokenForm?.holder(of: token, in: self)?.hash ?? TokenHash(ofSessionToken: token.exposed)
    }
}
