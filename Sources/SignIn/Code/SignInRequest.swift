public import OpenIDConnect
public import Primitives

/// A sign-in with an authorization code, as an app asks for it.
public struct SignInRequest: Sendable {
    /// The provider's name in ``SignInConfiguration/providers``.
    public var provider: String
    public var clientID: ClientID
    public var code: Secret
    /// The network that picks the carrier; nil where the provider is none.
    public var network: MCCMNC?
    /// As it stood in the authorization request.
    public var redirectURI: String
    public var codeVerifier: CodeVerifier?
    /// As it stood in the authorization request; checked against the ID token when given.
    public var nonce: Secret?
    /// The authentication contexts asked for, any of which will do.
    public var acrValues: [String] = []
    /// The text the user was asked to approve.
    public var context: String?
    /// The scopes asked for.
    public var scopes: [String] = []
    public var state: String?
    /// The app's name for this sign-in; one is made if there is none.
    public var correlationID: CorrelationID?
    /// Whether this server sent the browser to the carrier itself: then the redirect URI and the nonce are its own.
    var wasStartedHere = false
    /// What the user would call the device that asks; for the list of sessions.
    public var device: String?

    /// Of a redirect: whoever ends a registration that comes of it must show the verifier.
    var registrationChallenge: String?

    /// Whether something is asked for that only an ID token can confirm.
    var needsIDToken: Bool { (nonce != nil && !wasStartedHere) || !acrValues.isEmpty || context != nil }

    public init(provider: String, clientID: ClientID, code: Secret, network: MCCMNC?, redirectURI: String) {
        self.provider = provider
        self.clientID = clientID
        self.code = code
        self.network = network
        self.redirectURI = redirectURI
    }
}
