import HTTPTypes
import Primitives

extension CarrierSimulator {
    /// A defect of a logout token. The raw value is its wire name.
    public enum LogoutDefect: String, Sendable, CaseIterable {
        case algNone = "alg-none"
        case hs256BySecret = "hs256-by-secret"
        case badSignature = "bad-signature"
        case strangerKey = "stranger-key"
        case idTokenType = "at-jwt-type"
        case critical = "crit"
        case notJWT = "not-jwt"
        case otherIssuer = "other-issuer"
        case missingIssuer = "missing-issuer"
        case otherAudience = "other-audience"
        case extraAudience = "extra-audience"
        case missingIssuedAt = "missing-issued-at"
        case old
        case future
        case expired
        case notYetValid = "not-yet-valid"
        case missingID = "missing-jti"
        case noEvent = "no-event"
        case otherEvent = "other-event"
        case eventNotObject = "event-not-object"
        case withNonce = "with-nonce"
        case noSubject = "no-sub-no-sid"
        case emptySession = "empty-sid"
    }

    static let logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

    /// Makes a logout token of a provider (OpenID Connect Back-Channel Logout section 2.4).
    /// - Parameters:
    ///   - user: The id of the user whose sessions end; nil leaves `sub` out.
    ///   - sessionID: The `sid` of the session that ends; nil leaves it out.
    /// - Returns: The token in compact form.
    /// - Throws: ``OAuthError`` with `not_found` for an unknown provider or client.
    public func logoutToken(
        of provider: String, clientID: String, user: String? = nil, sessionID: String? = nil,
        defect: LogoutDefect? = nil
    ) async throws -> String {
        guard let site = withState({ $0.site(provider) }), let client = clients[clientID]
        else { throw OAuthError("not_found", "There is no such provider or client.", status: .notFound) }
        let keys = CarrierKeys(site: site)
        let (key, now) = (try await keys.signing(), clock.now())
        var draft = TokenDraft(
            .logoutToken, type: "logout+jwt",
            claims: [
                "iss": .string(site.issuer), "aud": .string(clientID), "iat": .time(now),
                "exp": .time(now.advanced(bySeconds: 120)), "jti": .string(random.token(bytes: 16)),
                "events": [Self.logoutEvent: [:]],
            ], key: key, now: now)
        draft.claims["sub"] = user.map {
            .string(Subject.identifier(mccmnc: provider, clientID: clientID, userID: $0))
        }
        draft.claims["sid"] = .string(sessionID)
        if let defect {
            if defect == .notJWT { return "a logout token that is none" }
            draft.apply(
                defect.rawValue, .init(site: site, unpublishedKey: try await keys.unpublished(), secret: client.secret))
        }
        return try draft.serialized()
    }

    /// Posts a logout token to a relying party on this machine, as a provider does.
    /// - Parameter url: `http` on 127.0.0.1, with a port.
    /// - Returns: The status of the response.
    /// - Throws: ``OAuthError`` for another URL; ``NotificationError`` if there is no response.
    @discardableResult
    public func sendLogout(_ token: String, to url: String) async throws -> Int {
        guard let url = NotificationSender.url(url)
        else { throw OAuthError.invalidRequest("The url must be http on 127.0.0.1, with a port.") }
        let form = PercentEncoding.form([("logout_token", token)])
        return try await notifications.post(form, as: "application/x-www-form-urlencoded", to: url)
    }

    /// The `sid` of the ID token that a provider issued last; nil if it has issued none.
    public func latestSessionID(at provider: String) -> String? { withState { $0.latestSessionIDs[provider] } }

    /// The ID token that a provider issued last for a code; nil if it has issued none.
    public func latestIDToken(at provider: String) -> String? { withState { $0.latestIDTokens[provider] } }
}
