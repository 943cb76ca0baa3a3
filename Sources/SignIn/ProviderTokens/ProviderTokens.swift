import OpenIDConnect
import Primitives

/// The tokens that a provider issued for a user, with which its resources are fetched.
struct ProviderTokens: Sendable, Hashable {
    var accessToken: Secret
    /// Nil if the provider issued none.
    var refreshToken: Secret?
    /// When the access token expires, if the provider said so.
    var expiresAt: Timestamp?
    /// The granted scopes, if the provider named them.
    var scope: String?

    /// An access token that expires within so many seconds is not sent: it could expire on the way.
    static let margin: Int64 = 30
    /// The upper bound of a stated lifetime: ten years, in seconds.
    private static let longestLife: Int64 = 315_360_000

    init(_ response: TokenResponse, at now: Timestamp) {
        accessToken = response.accessToken
        refreshToken = response.refreshToken
        expiresAt = response.expiresIn.map { now.advanced(bySeconds: min($0, Self.longestLife)) }
        scope = response.scope
    }

    /// The tokens after a refresh. What the response leaves out stays (RFC 6749 section 6).
    func renewed(by response: TokenResponse, at now: Timestamp) -> ProviderTokens {
        var tokens = ProviderTokens(response, at: now)
        tokens.refreshToken = tokens.refreshToken ?? refreshToken
        tokens.scope = tokens.scope ?? scope
        return tokens
    }

    /// Whether the access token must be refreshed before it is sent.
    /// - Parameter refused: An access token that the provider refused.
    func areStale(at now: Timestamp, refused: Secret?) -> Bool {
        if let refused, refused == accessToken { return true }
        return expiresAt.map { $0 <= now.advanced(bySeconds: Self.margin) } ?? false
    }
}

extension ProviderTokens {
    init?(_ json: JSONObject) {
        guard let accessToken = json["access_token"]?.string else { return nil }
        self.accessToken = Secret(accessToken)
        refreshToken = json["refresh_token"]?.string.map { Secret($0) }
        expiresAt = json["expires_at"]?.integer.map { Timestamp(secondsSinceEpoch: $0) }
        scope = json["scope"]?.string
    }

    func write(to json: inout JSONObjectWriter) {
        json.add("access_token", accessToken.exposed)
        json.add("refresh_token", ifPresent: refreshToken?.exposed)
        if let expiresAt { json.add("expires_at", expiresAt.secondsSinceEpoch) }
        json.add("scope", ifPresent: scope)
    }
}
