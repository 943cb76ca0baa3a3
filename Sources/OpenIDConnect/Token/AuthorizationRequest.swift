public import Primitives

/// What a browser is sent to a carrier or another provider with, to ask its user for a sign-in (OpenID Connect Core
/// section 3.1.2.1, RFC 7636 section 4.3, and ZenKey's parameters).
public struct AuthorizationRequest: Sendable {
    public var clientID: ClientID
    /// Where the provider sends the browser back to.
    public var redirectURI: String
    public var scopes: [String]
    public var state: Secret
    /// Nil for a provider without ID tokens, which would not repeat it.
    public var nonce: Secret?
    /// The S256 challenge of the code verifier.
    public var codeChallenge: String
    /// For carriers; nil for a provider that knows none.
    public var correlationID: CorrelationID?
    /// The carrier's own word for the user, from the discovery of a secondary device.
    public var loginHintToken: String?
    public var loginHint: String?
    public var acrValues: [String] = []
    /// The text the user is asked to approve.
    public var context: String?
    public var prompt: String?
    /// How the answer comes back: `form_post`, or the provider's own way if nil.
    public var responseMode: String?

    public init(
        clientID: ClientID, redirectURI: String, scopes: [String], state: Secret, nonce: Secret?, codeChallenge: String,
        correlationID: CorrelationID? = nil
    ) {
        self.clientID = clientID
        self.redirectURI = redirectURI
        self.scopes = scopes
        self.state = state
        self.nonce = nonce
        self.codeChallenge = codeChallenge
        self.correlationID = correlationID
    }

    /// The URL for the browser. It names no secret but `state` and `nonce`, which travel this way by design.
    public func url(at endpoint: EndpointURL) -> EndpointURL {
        var items: [(name: String, value: String)] = [
            ("client_id", clientID.text), ("redirect_uri", redirectURI), ("response_type", "code"),
            ("state", state.exposed),
            ("code_challenge", codeChallenge), ("code_challenge_method", "S256"),
        ]
        if !scopes.isEmpty { items.append(("scope", scopes.joined(separator: " "))) }
        if let nonce { items.append(("nonce", nonce.exposed)) }
        if let correlationID { items.append(("correlation_id", correlationID.text)) }
        if !acrValues.isEmpty { items.append(("acr_values", acrValues.joined(separator: " "))) }
        for (name, value) in [
            ("login_hint_token", loginHintToken), ("login_hint", loginHint), ("context", context), ("prompt", prompt),
            ("response_mode", responseMode),
        ] {
            if let value { items.append((name, value)) }
        }
        return endpoint.appending(query: items)
    }
}

/// What a browser is sent to the discovery UI with, where its user says which carrier is theirs.
public struct CarrierChoiceRequest: Sendable {
    public var clientID: ClientID
    public var redirectURI: String
    public var state: Secret

    public init(clientID: ClientID, redirectURI: String, state: Secret) {
        self.clientID = clientID
        self.redirectURI = redirectURI
        self.state = state
    }

    public func url(at discoveryUI: EndpointURL) -> EndpointURL {
        discoveryUI.appending(query: [
            ("client_id", clientID.text), ("redirect_uri", redirectURI), ("state", state.exposed),
        ])
    }
}
