public import Primitives

/// The authorization request that a browser takes to a provider (OpenID Connect Core section
/// 3.1.2.1, RFC 7636 section 4.3, and ZenKey's parameters).
public struct AuthorizationRequest: Sendable {
    public var clientID: ClientID
    /// Where the provider sends the browser back to.
    public var redirectURI: String
    /// What is asked of the provider.
    public var demand: AuthenticationDemand
    /// Comes back with the response, and binds it to the browser (RFC 6749 section 10.12).
    public var state: Secret
    /// Comes back in the ID token; nil for a provider without ID tokens.
    public var nonce: Secret?
    /// The S256 challenge of the code verifier (RFC 7636 section 4.2); nil for a provider without PKCE.
    public var codeChallenge: String?
    /// For carriers; nil for a provider that does not accept one.
    public var correlationID: CorrelationID?
    /// The carrier's token for the user, from the discovery of a secondary device.
    public var loginHintToken: String?
    /// How the response comes back. A request for ``AuthorizationResponseMode/query``, the default, does not name it.
    public var responseMode = AuthorizationResponseMode.query
    /// The key that the code is bound to: its thumbprint is `dpop_jkt` (RFC 9449 section 10); nil for none.
    public var dpopKey: DPoPKey?
    /// Parameters of the provider's own, by name. They replace none of the others.
    public var parameters: [String: String] = [:]
    /// Whether a signed request has its redirect URI outside of the request object, too, as mobile operators demand
    /// (CAMARA Security and Interoperability Profile r4.2, section "Signed Authentication Requests").
    public var repeatsRedirectURI = false

    /// A request without optional parameters.
    public init(
        clientID: ClientID, redirectURI: String, demand: AuthenticationDemand, state: Secret, nonce: Secret?,
        codeChallenge: String?, correlationID: CorrelationID? = nil
    ) {
        self.clientID = clientID
        self.redirectURI = redirectURI
        self.demand = demand
        self.state = state
        self.nonce = nonce
        self.codeChallenge = codeChallenge
        self.correlationID = correlationID
    }

    /// The URL for the browser. Its only secrets are `state` and `nonce`, which are sent this way by design.
    public func url(at endpoint: EndpointURL) -> EndpointURL { endpoint.appending(query: items) }

    /// The URL for the browser with a signed request. Its parameters can be read there, and not changed. Outside of the
    /// request object are those that OAuth and OpenID Connect demand there (RFC 9101 section 5, OpenID Connect Core
    /// section 6.1).
    func url(at endpoint: EndpointURL, signedAs requestObject: Secret) -> EndpointURL {
        var items = [(name: "client_id", value: clientID.text), ("response_type", Self.responseType)]
        if repeatsRedirectURI { items.append(("redirect_uri", redirectURI)) }
        if let scope = demand.scopes.spaceSeparated { items.append(("scope", scope)) }
        return endpoint.appending(query: items + [("request", requestObject.exposed)])
    }

    /// The URL for the browser after the request was pushed: it names the client and the pushed request only (RFC 9126
    /// section 4).
    func url(at endpoint: EndpointURL, pushedAs requestURI: String) -> EndpointURL {
        endpoint.appending(query: [("client_id", clientID.text), ("request_uri", requestURI)])
    }

    /// The parameters that Latchkey sets or reads itself: those of requests and responses of the authorization endpoint
    /// and the token endpoint by the names of every dialect, and the claims of request objects. Apps and the
    /// configuration may not give them.
    package static let ownParameters: Set<String> = [
        "client_id", "client_key", "appid", "client_secret", "secret", "client_assertion", "client_assertion_type",
        "redirect_uri", "response_type", "response_mode", "state", "nonce", "code", "code_verifier", "code_challenge",
        "code_challenge_method", "scope", "request", "request_uri", "dpop_jkt", "login_hint", "login_hint_token",
        "id_token_hint", "context", "correlation_id", "grant_type", "error", "iss", "sub", "aud", "exp", "nbf", "iat",
        "jti",
    ]
    /// Further parameters of ``demand``, which a configuration may give where the app does not.
    package static let demandParameters: Set<String> = ["acr_values", "max_age", "prompt"]

    private static let responseType = "code"

    var items: [(name: String, value: String)] {
        var items: [(name: String, value: String)] = [
            ("client_id", clientID.text), ("redirect_uri", redirectURI), ("response_type", Self.responseType),
            ("state", state.exposed),
        ]
        if let codeChallenge { items += [("code_challenge", codeChallenge), ("code_challenge_method", "S256")] }
        for (name, value) in [
            ("scope", demand.scopes.spaceSeparated), ("nonce", nonce?.exposed), ("correlation_id", correlationID?.text),
            ("acr_values", demand.acrValues.spaceSeparated), ("login_hint_token", loginHintToken),
            ("login_hint", demand.loginHint), ("context", demand.context),
            ("prompt", demand.prompt.map(\.rawValue).spaceSeparated),
            ("max_age", demand.maximumAge.map(String.init)),
            ("response_mode", responseMode == .query ? nil : responseMode.rawValue),
            ("dpop_jkt", dpopKey?.thumbprint),
        ] {
            if let value { items.append((name, value)) }
        }
        guard !parameters.isEmpty else { return items }
        let others = parameters.filter { name, _ in !items.contains { $0.name == name } }
        return items + others.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}

/// How a provider returns the browser (OAuth 2.0 Multiple Response Type Encoding Practices section 2.1).
public enum AuthorizationResponseMode: String, Sendable, Hashable, CaseIterable {
    /// By a redirect, the default; requests then have no `response_mode`.
    case query
    /// By a form (OAuth 2.0 Form Post Response Mode).
    case formPost = "form_post"
    /// As a signed JWT in the way that is usual for the response type: by a redirect (JARM section 2.3.4).
    case jwt
    /// As a signed JWT by a redirect (JARM section 2.3.1).
    case queryJWT = "query.jwt"
    /// As a signed JWT in a form (JARM section 2.3.3).
    case formPostJWT = "form_post.jwt"

    /// Whether responses are signed. One that is not is refused then.
    package var isSigned: Bool { [.jwt, .queryJWT, .formPostJWT].contains(self) }

    /// Whether a provider that lists other modes supports this one.
    package func isSupported(by modes: Set<AuthorizationResponseMode>) -> Bool {
        // Two names of one mode, because the response type is always `code`.
        modes.contains(self) || (self == .jwt && modes.contains(.queryJWT))
            || (self == .queryJWT && modes.contains(.jwt))
    }
}

extension EndpointURL {
    /// The URL of this discovery UI for a browser: the user chooses the carrier there, and comes back with `state`.
    package func choosingCarrier(clientID: ClientID, redirectURI: String, state: Secret) -> EndpointURL {
        appending(query: [("client_id", clientID.text), ("redirect_uri", redirectURI), ("state", state.exposed)])
    }
}

/// What a provider is asked to show the user (the `prompt` of OpenID Connect Core section 3.1.2.1).
public enum Prompt: String, Sendable, Hashable, CaseIterable {
    /// `none`: no page at all. The provider responds with an error if it must show one.
    case noInteraction = "none"
    /// The user authenticates again, even if signed in at the provider.
    case login
    /// The user is asked for consent again.
    case consent
    /// The user selects an account.
    case selectAccount = "select_account"

    /// The values of a request; nil if one is unknown, or if `none` is beside others.
    public static func values(_ words: [String]) -> [Prompt]? {
        let prompts = words.compactMap(Prompt.init(rawValue:))
        guard prompts.count == words.count else { return nil }
        return prompts.contains(.noInteraction) && prompts.count > 1 ? nil : prompts
    }
}

extension [String] {
    var spaceSeparated: String? { isEmpty ? nil : joined(separator: " ") }
}
