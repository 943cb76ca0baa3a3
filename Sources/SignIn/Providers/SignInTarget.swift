package import OpenIDConnect
import Primitives

/// Whom a sign-in is with: a provider, or one of its mobile operators.
///
/// A class, because it is large: each function that waits would have copies of it in its frame.
package final class SignInTarget: Sendable {
    package let provider: Provider
    /// Nil for a provider without operators.
    let mobileOperator: MobileOperator?
    /// The provider's own one, or the operator's.
    package let server: AuthorizationServer

    /// Nil for a provider with mobile operators, of which none is chosen.
    init?(_ provider: Provider) {
        guard let server = provider.server else { return nil }
        self.provider = provider
        self.server = server
        mobileOperator = nil
    }

    init(_ mobileOperator: MobileOperator, of provider: Provider) {
        self.provider = provider
        self.mobileOperator = mobileOperator
        server = mobileOperator.server
    }

    /// Its name in requests and records.
    package var reference: ProviderReference {
        ProviderReference(provider: provider.name, operatorName: mobileOperator?.settings.name)
    }

    package var relyingParty: RelyingParty { server.relyingParty }

    /// Whether the network of a user decides which carrier it is.
    package var usesNetworkDiscovery: Bool { provider.carriers != nil }

    /// Whether ID tokens confirm sign-ins.
    var hasIDTokens: Bool { provider.kindName != .oauth2 }

    /// The metadata of the carrier of a network, or of the one provider.
    package func discover(
        _ network: MCCMNC?, for clientID: ClientID, _ correlationID: CorrelationID
    ) async throws(SignInError) -> ProviderMetadata {
        try await mappingProviderErrors(
            await relyingParty.provider(for: network, clientID: clientID, correlationID: correlationID),
            discoveryUI: provider.carriers?.discoveryUI)
    }
}
