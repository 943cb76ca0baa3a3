package import OpenIDConnect
package import Primitives

/// The tokens that a provider issued for a user, with which its resources are fetched.
package struct ProviderTokens: Sendable, Hashable {
    package var accessToken: Secret
    /// The key that the access token is bound to (RFC 9449); nil for a Bearer token, and for tokens that an earlier
    /// version stored.
    package var accessTokenKey: DPoPKey?
    /// Nil if the provider issued none.
    package var refreshToken: Secret?
    /// The key that the refresh token may be bound to. It is another one than the access token's if the refresh
    /// token is of an earlier sign-in.
    package var refreshTokenKey: DPoPKey?
    /// When the access token expires, if the provider said so.
    var expiresAt: Timestamp?
    /// From when the access token is not sent any more, because it could expire on the way; nil if it does not expire.
    package var refreshAt: Timestamp?
    /// The granted scopes, if the provider named them.
    package var scope: String?
    /// The claims of the sign-in's ID token that those of refreshes are compared with; nil if they are not known: from
    /// a provider without ID tokens, and for tokens that an earlier version stored.
    package var original: OriginalIDToken.Claims?
    /// The ID token that came with these tokens, if it could not be validated yet.
    package var unverified: UnverifiedIDToken?

    /// An ID token of a refresh whose validation waits for the provider's keys.
    package struct UnverifiedIDToken: Sendable, Hashable {
        package let token: Secret
        package let receivedAt: Timestamp

        package init(token: Secret, receivedAt: Timestamp) {
            self.token = token
            self.receivedAt = receivedAt
        }
    }

    /// For how many seconds before its end an access token is not sent, if it lives two minutes or more.
    private static let longestMargin: Int64 = 30
    /// The upper bound of a stated lifetime: ten years, in seconds.
    private static let longestLife: Int64 = 315_360_000

    /// - Parameter idToken: The ID token of the same response, if the provider has ID tokens.
    package init(_ response: TokenResponse, _ idToken: VerifiedIDToken? = nil, at now: Timestamp) {
        original = idToken?.claimsForRefresh
        accessToken = response.accessToken
        accessTokenKey = response.accessTokenKey
        refreshToken = response.refreshToken
        refreshTokenKey = response.proofKey
        if let lifetime = response.expiresIn.map({ min($0, Self.longestLife) }) {
            expiresAt = now.advanced(bySeconds: lifetime)
            // A token of a shorter life would be stale when it comes, and each request would need a refresh.
            refreshAt = now.advanced(bySeconds: lifetime - min(Self.longestMargin, lifetime / 4))
        }
        scope = response.scope
    }

    /// The tokens with an earlier sign-in's refresh token, if they have none: its refreshes have the ID tokens of that
    /// sign-in. One that came with an ID token that is not validated may be another user's.
    func withRefreshToken(of earlier: ProviderTokens?) -> ProviderTokens {
        guard refreshToken == nil, let earlier, earlier.unverified == nil, let refreshToken = earlier.refreshToken
        else { return self }
        var tokens = self
        tokens.refreshToken = refreshToken
        tokens.refreshTokenKey = earlier.refreshTokenKey
        tokens.original = earlier.original
        return tokens
    }
}

extension ProviderTokens {
    package init?(_ json: JSONObject) {
        guard let accessToken = json["access_token"]?.string else { return nil }
        self.accessToken = Secret(accessToken)
        accessTokenKey = json["access_token_key"]?.string.flatMap { DPoPKey(secret: Secret($0)) }
        refreshToken = json["refresh_token"]?.string.map { Secret($0) }
        refreshTokenKey = json["refresh_token_key"]?.string.flatMap { DPoPKey(secret: Secret($0)) }
        expiresAt = json["expires_at"]?.integer.map { Timestamp(secondsSinceEpoch: $0) }
        // Earlier versions did not store it.
        refreshAt =
            json["refresh_at"]?.integer.map { Timestamp(secondsSinceEpoch: $0) }
            ?? expiresAt?.advanced(bySeconds: -Self.longestMargin)
        scope = json["scope"]?.string
        original = json["id_token_claims"]?.object.map { OriginalIDToken.Claims($0) }
        if let json = json["unverified_id_token"] {
            guard let unverified = json.object.flatMap({ UnverifiedIDToken($0) }) else { return nil }
            self.unverified = unverified
        }
    }

    package func write(to json: inout JSONObjectWriter) {
        json.add("access_token", accessToken.exposed)
        json.add("access_token_key", ifPresent: accessTokenKey?.secret.exposed)
        json.add("refresh_token", ifPresent: refreshToken?.exposed)
        json.add("refresh_token_key", ifPresent: refreshTokenKey?.secret.exposed)
        if let expiresAt { json.add("expires_at", expiresAt.secondsSinceEpoch) }
        if let refreshAt { json.add("refresh_at", refreshAt.secondsSinceEpoch) }
        json.add("scope", ifPresent: scope)
        if let original { json.add("id_token_claims", object: original.write) }
        if let unverified { json.add("unverified_id_token", object: unverified.write) }
    }
}

extension ProviderTokens.UnverifiedIDToken {
    fileprivate init?(_ json: JSONObject) {
        guard let token = json["token"]?.string, let receivedAt = json["received_at"]?.integer else { return nil }
        self.init(token: Secret(token), receivedAt: Timestamp(secondsSinceEpoch: receivedAt))
    }

    fileprivate func write(to json: inout JSONObjectWriter) {
        json.add("token", token.exposed)
        json.add("received_at", receivedAt.secondsSinceEpoch)
    }
}

extension OriginalIDToken.Claims {
    fileprivate init(_ json: JSONObject) {
        self.init(
            authTime: json["auth_time"]?.integer.map { Timestamp(secondsSinceEpoch: $0) }, nonce: json["nonce"]?.string,
            authorizedParty: json["azp"]?.string)
    }

    fileprivate func write(to json: inout JSONObjectWriter) {
        if let authTime { json.add("auth_time", authTime.secondsSinceEpoch) }
        json.add("nonce", ifPresent: nonce)
        json.add("azp", ifPresent: authorizedParty)
    }
}
