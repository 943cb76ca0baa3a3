public import Primitives

/// A sign-in that this server starts at a carrier, without a browser: the user is asked on their phone, and the carrier
/// tells us at the notification endpoint (ZenKey's server-initiated flow, `response_type=async_token`).
public struct BackchannelAuthenticationRequest: Sendable {
    public var clientID: ClientID
    public var redirectURI: String
    /// The user's phone number, or the carrier's subject of theirs.
    public var loginHint: Secret
    public var scopes: [String]
    /// Comes back with the notification.
    public var state: Secret
    /// Comes back in the ID token.
    public var nonce: Secret
    public var acrValues: [String] = []
    /// The text the user is asked to approve.
    public var context: String?
    public var prompt: [String] = []
    /// How the carrier's pages look: `dark` or `light`.
    public var options: String?
    public var correlationID: CorrelationID
    public var notificationEndpoint: EndpointURL
    /// What the carrier has to show there.
    public var notificationToken: Secret

    public init(
        clientID: ClientID, redirectURI: String, loginHint: Secret, scopes: [String], state: Secret, nonce: Secret,
        correlationID: CorrelationID, notificationEndpoint: EndpointURL, notificationToken: Secret
    ) {
        self.clientID = clientID
        self.redirectURI = redirectURI
        self.loginHint = loginHint
        self.scopes = scopes
        self.state = state
        self.nonce = nonce
        self.correlationID = correlationID
        self.notificationEndpoint = notificationEndpoint
        self.notificationToken = notificationToken
    }

    /// How long the request object holds, in seconds: it is sent at once.
    static let lifetime: Int64 = 300

    /// The request object's claims (OpenID Connect Core section 6.1).
    ///
    /// The notification address stands under two names: `client_notification_endpoint` as in CIBA's metadata, and
    /// `notification_uri` as in Mobile Connect's server-initiated profile.
    func claims(audience: String, tokenID: String, now: Timestamp) -> [UInt8] {
        var json = JSONObjectWriter(capacity: 1024)
        json.add("iss", clientID.text)
        json.add("aud", audience)
        json.add("iat", now.secondsSinceEpoch)
        json.add("exp", now.advanced(bySeconds: Self.lifetime).secondsSinceEpoch)
        json.add("jti", tokenID)
        json.add("client_id", clientID.text)
        json.add("response_type", Self.responseType)
        json.add("redirect_uri", redirectURI)
        json.add("scope", scopes.joined(separator: " "))
        json.add("login_hint", loginHint.exposed)
        json.add("state", state.exposed)
        json.add("nonce", nonce.exposed)
        if !acrValues.isEmpty { json.add("acr_values", acrValues.joined(separator: " ")) }
        json.add("context", ifPresent: context)
        if !prompt.isEmpty { json.add("prompt", prompt.joined(separator: " ")) }
        json.add("options", ifPresent: options)
        json.add("correlation_id", correlationID.text)
        json.add("client_notification_endpoint", notificationEndpoint.text)
        json.add("notification_uri", notificationEndpoint.text)
        json.add("client_notification_token", notificationToken.exposed)
        return json.finish()
    }

    /// The request, in JSON: beside the request object what OAuth wants outside of it (OpenID Connect Core section 6.1).
    func outbound(
        to endpoint: EndpointURL, requestObject: Secret, limits: OutboundLimits
    ) -> OutboundRequest {
        var json = JSONObjectWriter(capacity: 2048)
        json.add("client_id", clientID.text)
        json.add("response_type", Self.responseType)
        json.add("scope", scopes.joined(separator: " "))
        json.add("correlation_id", correlationID.text)
        json.add("request", requestObject.exposed)
        return OutboundRequest(
            method: .post, url: endpoint,
            headers: [("Content-Type", "application/json"), ("Accept", "application/json")],
            body: json.finish(), timeout: limits.tokenTimeout, maximumBodyBytes: limits.tokenBytes)
    }

    private static let responseType = "async_token"
}
