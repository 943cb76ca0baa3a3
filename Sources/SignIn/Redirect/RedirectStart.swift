public import OpenIDConnect

/// A sign-in by redirects, as a frontend asks for it.
public struct RedirectStart: Sendable {
    public var provider: String
    /// The app; may be left out where the provider has one client only.
    public var clientID: ClientID?
    public var clientType: ClientType
    /// Where the browser ends up: one of the client's registered redirect URIs.
    public var redirectURI: String
    /// This server's own place for the carrier to come back to, registered with the carrier.
    public var callbackURL: String
    /// The network, where the frontend knows it; otherwise the user is asked for the carrier.
    public var network: MCCMNC?
    /// Those of the client, if there are none.
    public var scopes: [String] = []
    public var acrValues: [String] = []
    public var context: String?
    public var prompt: String?
    public var loginHint: String?
    /// The S256 challenge of the verifier that an app will show for its session; not the one the carrier sees.
    public var codeChallenge: String?
    /// Handed back with a success, as it came.
    public var trackingID: String?
    public var correlationID: CorrelationID?
    /// The id of the session whose user adds a way to sign in.
    var linkingSession: String?

    public init(provider: String, clientType: ClientType, redirectURI: String, callbackURL: String) {
        self.provider = provider
        self.clientType = clientType
        self.redirectURI = redirectURI
        self.callbackURL = callbackURL
    }
}
