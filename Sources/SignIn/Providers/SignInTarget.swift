package import OpenIDConnect
package import Primitives

/// Whom a sign-in is with: a provider, or one server of its group.
///
/// A class, because it is large: each function that waits would have copies of it in its frame.
package final class SignInTarget: Sendable {
    package let provider: Provider
    /// Its name in requests and records.
    package let reference: ProviderReference
    /// The provider's own one, or the one of its group.
    package let server: AuthorizationServer

    /// - Parameter name: The server's in its group; nil without a group.
    init(_ provider: Provider, _ server: AuthorizationServer, named name: String? = nil) {
        self.provider = provider
        self.server = server
        reference = ProviderReference(provider: provider.name, operatorName: name)
    }

    package var relyingParty: RelyingParty { server.relyingParty }

    /// Whether the network of a user decides which carrier it is.
    package var usesNetworkDiscovery: Bool { provider.carriers != nil }

    /// Whether ID tokens confirm sign-ins.
    package var hasIDTokens: Bool { provider.kindName != .oauth2 }

    /// The metadata of the carrier of a network, or of the one provider.
    package func discover(
        _ network: MCCMNC?, for clientID: ClientID, _ correlationID: CorrelationID
    ) async throws(SignInError) -> ProviderMetadata {
        try await mappingProviderErrors(
            await relyingParty.provider(for: network, clientID: clientID, correlationID: correlationID),
            discoveryUI: provider.carriers?.discoveryUI)
    }
}
