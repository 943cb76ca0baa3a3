package import OpenIDConnect
package import Primitives
package import StorageModel

/// An app's request for a sign-in with an authorization code.
package struct SignInRequest: Sendable {
    package var provider: ProviderReference
    package var clientID: ClientID
    /// The authorization code, or what stands in for it.
    package var code: Secret
    /// Whether ``code`` is a TS.43 temporary token of a mobile operator.
    package var isOperatorToken = false
    /// The network of the carrier; nil for a provider that is no carrier.
    package var network: MCCMNC?
    /// The redirect URI of the authorization request.
    package var redirectURI: String
    package var codeVerifier: CodeVerifier?
    /// The key that the authorization request named (RFC 9449 section 10); nil if it named none.
    var dpopKey: DPoPKey?
    /// The nonce of the authorization request; if given, the ID token must have it.
    package var nonce: Secret?
    /// What the authorization request asked of the provider.
    package var demand = AuthenticationDemand()
    package var state: String?
    /// The app's id for this sign-in; a random one if nil.
    package var correlationID: CorrelationID?
    /// The names under which the client sent fields, by their names in RFC 6749, if they differ.
    package var sentNames: [String: String] = [:]
    /// Whether this server sent the browser to the carrier: the redirect URI and the nonce are its own then.
    var wasStartedHere = false
    /// Identifies the caller, by a hash of its API key or origin. Nil for a browser, which has a `state` instead, and
    /// for a link, which has a session.
    package var caller: TokenHash?
    /// Whether it came without an API key, as from a page. For the limit of capsules.
    package var isKeyless = false
    /// A name for the user's device; for the list of sessions.
    package var device: String?

    /// The challenge of a redirect's start: a registration that follows must present its verifier.
    var registrationChallenge: String?

    /// Whether the redirect URI is this server's own, or there is none.
    var hasOwnRedirectURI: Bool { wasStartedHere || isOperatorToken }

    /// Whether the request needs an ID token to confirm it.
    var needsIDToken: Bool { nonce != nil && !wasStartedHere || demand.needsIDToken }

    /// A sign-in with a TS.43 temporary token, at an operator.
    package init(operatorToken: Secret, provider: ProviderReference, clientID: ClientID) {
        self.init(provider: provider, clientID: clientID, code: operatorToken, network: nil, redirectURI: "")
        isOperatorToken = true
    }

    package init(
        provider: ProviderReference, clientID: ClientID, code: Secret, network: MCCMNC?, redirectURI: String
    ) {
        self.provider = provider
        self.clientID = clientID
        self.code = code
        self.network = network
        self.redirectURI = redirectURI
    }
}
