public import Primitives

/// The authorization request that a browser takes to a carrier or another provider (OpenID Connect Core section
/// 3.1.2.1, RFC 7636 section 4.3, and ZenKey's parameters).
public struct AuthorizationRequest: Sendable {
    /// The client.
    public var clientID: ClientID
    /// Where the provider sends the browser back to.
    public var redirectURI: String
    /// The requested scopes.
    public var scopes: [String]
    /// Comes back with the response, and binds it to the browser (RFC 6749 section 10.12).
    public var state: Secret
    /// Comes back in the ID token; nil for a provider without ID tokens.
    public var nonce: Secret?
    /// The S256 challenge of the code verifier (RFC 7636 section 4.2).
    public var codeChallenge: String
    /// For carriers; nil for a provider that does not accept one.
    public var correlationID: CorrelationID?
    /// The carrier's token for the user, from the discovery of a secondary device.
    public var loginHintToken: String?
    /// Which user to ask.
    public var loginHint: String?
    /// The requested authentication contexts.
    public var acrValues: [String] = []
    /// The text the user is asked to approve.
    public var context: String?
    /// Whether to ask the user again, such as `login`.
    public var prompt: String?
    /// How the response comes back: `form_post`, or the provider's default if nil.
    public var responseMode: String?

    /// A request without optional parameters.
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

    /// The URL for the browser. Its only secrets are `state` and `nonce`, which are sent this way by design.
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

/// The request that a browser takes to the discovery UI, where the user chooses the carrier.
public struct CarrierChoiceRequest: Sendable {
    /// The client.
    public var clientID: ClientID
    /// Where the discovery UI sends the browser back to.
    public var redirectURI: String
    /// Comes back with the response.
    public var state: Secret

    /// A request.
    public init(clientID: ClientID, redirectURI: String, state: Secret) {
        self.clientID = clientID
        self.redirectURI = redirectURI
        self.state = state
    }

    /// The URL for the browser.
    public func url(at discoveryUI: EndpointURL) -> EndpointURL {
        discoveryUI.appending(query: [
            ("client_id", clientID.text), ("redirect_uri", redirectURI), ("state", state.exposed),
        ])
    }
}
