import OpenIDConnect
import Primitives

/// Which redirect URIs are a client's.
extension SignInConfiguration.Client {
    /// Whether the app may have named a redirect URI to the carrier: a registered one, to the byte; any, where none is
    /// registered. This server sends nobody there.
    func mayHaveNamed(_ redirectURI: String) -> Bool {
        redirectURIs.isEmpty || redirectURIs.contains(where: redirectURI.hasSameBytes(as:))
    }

    /// Whether a browser may be sent to a place with the outcome of a sign-in, or after a sign-out: a registered one, or
    /// anybody could be sent anywhere.
    package func mayReceiveBrowsers(at redirectURI: String) -> Bool {
        AppRedirectURI.isRegistered(redirectURI, among: redirectURIs)
    }
}
