package import OpenIDConnect

/// What signs users in at a provider: the relying party there, with the clients that are registered. All carriers
/// behind one discovery service are one.
package struct AuthorizationServer: Sendable {
    /// Discovers it, and sends it requests.
    package var relyingParty: RelyingParty
    /// The clients that are registered with it, by their id.
    package var clients: [ClientID: SignInConfiguration.Client]
    /// The `response_mode` of authorization requests.
    package var responseMode = AuthorizationResponseMode.query
    /// Whether every authorization response must name its issuer (RFC 9207 section 2.4), whatever the metadata says;
    /// nil if it must where the metadata promises it. One that is named must be right in any case.
    package var requiresIssuer: Bool?
    /// Whether its access and refresh tokens are stored, encrypted with ``SignInConfiguration/vaultKeys``.
    package var storesTokens = false
    /// The resources that are fetched with a user's tokens, by their name in paths.
    package var resources: [String: EndpointURL] = [:]

    /// - Parameter clients: Of two with one id, the first counts.
    package init(_ relyingParty: RelyingParty, clients: [SignInConfiguration.Client]) {
        self.relyingParty = relyingParty
        self.clients = Dictionary(clients.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The client of an id; without an id, the only client.
    package func client(_ id: ClientID?) -> SignInConfiguration.Client? {
        id.map { clients[$0] } ?? (clients.count == 1 ? clients.first?.value : nil)
    }
}
