import HTTPTypes
import Primitives

extension CarrierSimulator {
    /// Something that is wrong with a logout token. Its raw value is its name on the wire.
    public enum LogoutDefect: String, Sendable, CaseIterable {
        case algNone = "alg-none"
        /// HS256 by the client's secret.
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
        case nobody = "no-sub-no-sid"
        case emptySession = "empty-sid"
    }

    static let logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

    /// A logout token (OpenID Connect Back-Channel Logout section 2.4) of a provider.
    /// - Parameters:
    ///   - user: The id of the user whose sessions are over; nil to name nobody.
    ///   - sessionID: The `sid` of the session that is over; nil to name none.
    public func logoutToken(
        of provider: String, clientID: String, user: String? = nil, sessionID: String? = nil,
        defect: LogoutDefect? = nil
    ) async throws -> String {
        guard let site = withState({ $0.site(provider) }), let client = clients[clientID] else {
            throw Refusal("not_found", "There is no such provider or client.", status: .notFound)
        }
        let keys = CarrierKeys(site: site, pool: keyPool)
        let (key, now) = (try await keys.signing(), clock.now())
        var draft = IDTokenDraft(
            header: ["typ": "logout+jwt", "alg": .text(key.algorithm), "kid": .text(key.keyID)],
            claims: [
                "iss": .text(site.issuer), "aud": .text(clientID), "iat": .number(now.secondsSinceEpoch),
                "exp": .number(now.advanced(bySeconds: 120).secondsSinceEpoch), "jti": .text(random.token(bytes: 16)),
                "events": [Self.logoutEvent: [:]],
            ], key: key, now: now)
        draft.claims["sub"] = user.map {
            .text(Subject.identifier(mccmnc: provider, clientID: clientID, userID: $0))
        }
        draft.claims["sid"] = sessionID.map(JSON.text)
        if let defect {
            if defect == .notJWT { return "a logout token that is none" }
            draft.spoil(defect, stranger: try await keys.stranger(), secret: client.secret)
        }
        return try draft.serialized()
    }

    /// Posts a logout token to a relying party on this machine, as a provider does.
    /// - Returns: The status of the answer.
    @discardableResult
    public func sendLogout(_ token: String, to url: String) async throws -> Int {
        guard let url = NotificationURL(url) else {
            throw Refusal("invalid_request", "The url must be http on 127.0.0.1, with a port.")
        }
        let form = "logout_token=" + FormCoding.encode(token)
        return try await NotificationSender.post(
            Array(form.utf8), as: "application/x-www-form-urlencoded", to: url)
    }

    /// The `sid` of the ID token that a provider issued last.
    public func latestSessionID(at provider: String) -> String? { withState { $0.latestSessionIDs[provider] } }
}

extension IDTokenDraft {
    mutating func spoil(_ defect: CarrierSimulator.LogoutDefect, stranger: SigningKey, secret: Secret) {
        switch defect {
        case .algNone:
            header = ["alg": "none"]
            signature = .empty
        case .hs256BySecret:
            header["alg"] = "HS256"
            signature = .hmac(key: Array(secret.exposed.utf8))
        case .badSignature: signature = .changed
        case .strangerKey: key = stranger
        case .idTokenType: header["typ"] = "at+jwt"
        case .critical: header["crit"] = ["exp"]
        case .notJWT: break
        case .otherIssuer: claims["iss"] = "https://example.org"
        case .missingIssuer: claims["iss"] = nil
        case .otherAudience: claims["aud"] = "another-client"
        case .extraAudience: claims["aud"] = .array([claims["aud"] ?? .null, "another-client"])
        case .missingIssuedAt: claims["iat"] = nil
        case .old: claims["iat"] = moment(plus: -86_400)
        case .future: claims["iat"] = moment(plus: 3600)
        case .expired: claims["exp"] = moment(plus: -61)
        case .notYetValid: claims["nbf"] = moment(plus: 3600)
        case .missingID: claims["jti"] = nil
        case .noEvent: claims["events"] = nil
        case .otherEvent: claims["events"] = ["http://schemas.openid.net/event/foobar": [:]]
        case .eventNotObject: claims["events"] = [CarrierSimulator.logoutEvent: true]
        case .withNonce: claims["nonce"] = "n-1"
        case .nobody:
            claims["sub"] = nil
            claims["sid"] = nil
        case .emptySession: claims["sid"] = ""
        }
    }
}
