import OpenIDConnect
import Primitives

extension SignInConfiguration.Client {
    /// Whether the app may have named a redirect URI to the carrier: a registered one, byte for byte; any, if none is
    /// registered. This server sends no browser there.
    func mayHaveNamed(_ redirectURI: String) -> Bool {
        redirectURIs.isEmpty || redirectURIs.contains(where: redirectURI.hasSameBytes(as:))
    }

    /// Whether a browser may be sent to a redirect URI after a sign-in or a sign-out: only to a registered one, because
    /// this server must not be an open redirector.
    package func mayReceiveBrowsers(at redirectURI: String) -> Bool {
        AppRedirectURI.isRegistered(redirectURI, among: redirectURIs)
    }
}

extension SignInConfiguration.Provider {
    /// The client of an id; without an id, the only client.
    func client(_ id: ClientID?) -> SignInConfiguration.Client? {
        id.map { clients[$0] } ?? (clients.count == 1 ? clients.first?.value : nil)
    }
}
