package import Primitives
package import StorageModel

/// Session tokens that are not opaque, for the clients that are configured so. One feature has them.
///
/// The session has an opaque token as every other one has, which its app never gets: what it gets names the hash of
/// that token, under which the session is stored.
package protocol AccessTokenForm: Sendable {
    /// The token for the app of a session; nil for a client with opaque tokens.
    /// - Parameter hash: Of the session's opaque token.
    /// - Throws: `temporarily_unavailable`; `server_error` if it cannot be signed.
    func token(
        of holder: SessionAndUser, under hash: TokenHash, signedWith keys: SigningKeys, at now: Timestamp
    ) async throws(SignInError) -> Secret?

    /// Reads a token; nil for one that this server did not issue, or that has expired.
    /// - Throws: `temporarily_unavailable`.
    func read(_ token: Secret, signedWith keys: SigningKeys, at now: Timestamp) async throws(SignInError)
        -> AccessToken?
}

/// What a token says of its session, which may have ended.
package struct AccessToken: Sendable {
    package let hash: TokenHash
    let isOf: @Sendable (SessionAndUser) -> Bool

    package init(hash: TokenHash, isOf: @escaping @Sendable (SessionAndUser) -> Bool) {
        (self.hash, self.isOf) = (hash, isOf)
    }
}

/// A class, so that each copy of ``Sessions`` retains one object.
final class AccessTokens: Sendable {
    private let form: any AccessTokenForm
    private let keys: SigningKeys
    private let clock: WallClock

    init(form: any AccessTokenForm, keys: SigningKeys, clock: WallClock) {
        (self.form, self.keys, self.clock) = (form, keys, clock)
    }

    func read(_ token: Secret) async throws(SignInError) -> AccessToken? {
        try await form.read(token, signedWith: keys, at: clock.now())
    }

    func holder(of token: Secret, in sessions: Sessions) async throws(SignInError) -> SessionAndUser? {
        guard let token = try await read(token), let holder = try await sessions.holder(under: token.hash) else {
            return nil
        }
        return token.isOf(holder) ? holder : nil
    }

    func token(of holder: SessionAndUser, under hash: TokenHash) async throws(SignInError) -> Secret? {
        try await form.token(of: holder, under: hash, signedWith: keys, at: clock.now())
    }
}

extension Sessions {
    /// A session as its app gets it. The token stays opaque for most clients, and for a session that has ended since.
    /// - Throws: `temporarily_unavailable`; `server_error` if a token cannot be signed.
    package func given(_ signedIn: SignedIn) async throws(SignInError) -> SignedIn {
        let hash = TokenHash(ofSessionToken: signedIn.tokens.token.exposed)
        guard let accessTokens, let holder = try await holder(under: hash),
            let token = try await accessTokens.token(of: holder, under: hash)
        else { return signedIn }
        return signedIn.with(token)
    }

    /// The hash under which the session of a token is stored.
    /// - Throws: `temporarily_unavailable`.
    package func hash(of token: Secret) async throws(SignInError) -> TokenHash {
        try await accessTokens?.read(token)?.hash ?? TokenHash(ofSessionToken: token.exposed)
    }
}
