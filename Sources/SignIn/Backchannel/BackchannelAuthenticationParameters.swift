package import OpenIDConnect

/// A sign-in that a client wants this server to start at the user's carrier.
package struct BackchannelAuthenticationParameters: Sendable {
    /// The provider's name in ``SignInConfiguration/providers``.
    package var provider: String
    package var clientID: ClientID
    /// The user.
    package var loginHint: LoginHint
    package var scopes: [String]
    package var network: MCCMNC
    package var redirectURI: String
    package var acrValues: [String] = []
    /// The text the user is asked to approve.
    package var context: String?
    package var prompt: [Prompt] = []
    package var options: String?
    /// The client's id for this sign-in; a random one if nil.
    package var correlationID: CorrelationID?

    package init(
        provider: String, clientID: ClientID, loginHint: LoginHint, scopes: [String], network: MCCMNC,
        redirectURI: String
    ) {
        self.provider = provider
        self.clientID = clientID
        self.loginHint = loginHint
        self.scopes = scopes
        self.network = network
        self.redirectURI = redirectURI
    }
}
