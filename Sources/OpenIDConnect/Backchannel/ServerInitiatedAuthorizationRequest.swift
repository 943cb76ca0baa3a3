public import Primitives

/// A sign-in that the server starts at a carrier, without a browser: the carrier asks the user on the phone, and sends
/// the result to the notification endpoint (ZenKey's server-initiated flow, `response_type=async_token`).
public struct ServerInitiatedAuthorizationRequest: Sendable {
    public var clientID: ClientID
    /// The client's registered redirect URI. No browser is sent there.
    public var redirectURI: String
    /// The user's phone number, or the carrier's subject of the user.
    public var loginHint: Secret
    /// What is asked of the carrier.
    public var demand: AuthenticationDemand
    /// Comes back with the notification.
    public var state: Secret
    /// Comes back in the ID token.
    public var nonce: Secret
    /// How the carrier's pages look: `dark` or `light`.
    public var options: String?
    /// Names the sign-in in the carrier's logs.
    public var correlationID: CorrelationID
    /// Where the carrier sends the result.
    public var notificationEndpoint: EndpointURL
    /// The bearer token that the carrier must send there.
    public var notificationToken: Secret

    /// A request without optional parameters.
    public init(
        clientID: ClientID, redirectURI: String, loginHint: Secret, demand: AuthenticationDemand, state: Secret,
        nonce: Secret, correlationID: CorrelationID, notificationEndpoint: EndpointURL, notificationToken: Secret
    ) {
        self.clientID = clientID
        self.redirectURI = redirectURI
        self.loginHint = loginHint
        self.demand = demand
        self.state = state
        self.nonce = nonce
        self.correlationID = correlationID
        self.notificationEndpoint = notificationEndpoint
        self.notificationToken = notificationToken
    }

    /// The signed request object (OpenID Connect Core section 6.1).
    ///
    /// The notification endpoint has two names: `client_notification_endpoint` as in CIBA's metadata, and
    /// `notification_uri` as in Mobile Connect's server-initiated profile.
    func object(
        signedWith key: ClientKey, audience: String, id: String, now: Timestamp
    ) throws(OIDCError) -> Secret {
        try RequestObject.make(of: clientID, signedWith: key, audience: audience, id: id, now: now) { json in
            json.add("client_id", clientID.text)
            json.add("response_type", Self.responseType)
            json.add("redirect_uri", redirectURI)
            json.add("scope", demand.scopes.joined(separator: " "))
            json.add("login_hint", loginHint.exposed)
            json.add("state", state.exposed)
            json.add("nonce", nonce.exposed)
            json.add("acr_values", ifPresent: demand.acrValues.spaceSeparated)
            json.add("context", ifPresent: demand.context)
            json.add("prompt", ifPresent: demand.prompt.map(\.rawValue).spaceSeparated)
            json.add("options", ifPresent: options)
            json.add("correlation_id", correlationID.text)
            json.add("client_notification_endpoint", notificationEndpoint.text)
            json.add("notification_uri", notificationEndpoint.text)
            json.add("client_notification_token", notificationToken.exposed)
        }
    }

    /// The request, in JSON: the request object, and the parameters that OAuth requires outside it (OpenID Connect Core
    /// section 6.1).
    func outbound(to endpoint: EndpointURL, requestObject: Secret, limits: OutboundLimits) -> OutboundRequest {
        var json = JSONObjectWriter(capacity: 2048)
        json.add("client_id", clientID.text)
        json.add("response_type", Self.responseType)
        json.add("scope", demand.scopes.joined(separator: " "))
        json.add("correlation_id", correlationID.text)
        json.add("request", requestObject.exposed)
        return OutboundRequest(
            method: .post, url: endpoint,
            headers: [("Content-Type", "application/json"), ("Accept", "application/json")],
            body: json.finish(), timeout: limits.tokenTimeout, maximumBodyBytes: limits.tokenBytes)
    }

    private static let responseType = "async_token"
}
