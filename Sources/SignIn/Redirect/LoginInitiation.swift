import OpenIDConnect
import Primitives

/// A request of a third party to sign a user in, whose browser it sends here (OpenID Connect Core section 4).
package struct LoginInitiation: Sendable {
    /// The provider's name in paths.
    package let provider: String
    /// The issuer that the user shall sign in with (`iss`).
    package let issuer: String
    /// Whom the provider may expect to sign in.
    package let loginHint: String?
    /// Where the browser shall arrive; nil for the client's first redirect URI for pages.
    package let targetLinkURI: String?

    package init(provider: String, issuer: String, loginHint: String?, targetLinkURI: String?) {
        self.provider = provider
        self.issuer = issuer
        self.loginHint = loginHint
        self.targetLinkURI = targetLinkURI
    }
}

extension RedirectSignIn {
    /// The start that a third party initiates: for the configured client, by a page whose session is in a cookie.
    ///
    /// Anybody can write such a request. So it decides nothing but whether the sign-in begins, which of the client's
    /// own redirect URIs it ends at, and the hint that the provider gets.
    /// - Parameter callbackURL: This server's redirect URI at the provider.
    /// - Throws: What is wrong with the request: sign-ins are not initiated at this provider, its issuer is another
    ///   one, or the client has no such redirect URI for pages.
    package func start(initiatedBy initiation: LoginInitiation, callbackURL: String) throws(SignInError)
        -> RedirectStart
    {
        let target = try providers.find(withoutOperators: initiation.provider)
        guard let clientID = target.provider.openID?.loginInitiationClient,
            let issuer = target.relyingParty.issuer?.text,
            let client = target.server.clients[clientID]
        else { throw .loginNotInitiated }
        guard initiation.issuer.hasSameBytes(as: issuer) else { throw .initiatedForAnotherIssuer }
        let redirectURI = initiation.targetLinkURI ?? client.redirectURIs.first { client.allows(.web, at: $0) }
        guard let redirectURI, client.mayReceiveBrowsers(at: redirectURI), client.allows(.web, at: redirectURI) else {
            throw .targetNotRegistered
        }
        var start = RedirectStart(
            provider: target.reference, clientType: .web, redirectURI: redirectURI, callbackURL: callbackURL)
        start.clientID = client.id
        start.loginHint = initiation.loginHint
        return start
    }
}
