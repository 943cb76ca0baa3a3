import OpenIDConnect
import Primitives
import StorageModel

/// One backchannel authentication with its client and provider.
struct BackchannelAuthenticationContext: Sendable {
    let terms: BackchannelAuthenticationRecord.Terms
    let client: SignInConfiguration.Client
    let target: SignInTarget
    let carrier: ProviderMetadata
    /// Nil for a provider that is no carrier.
    let network: MCCMNC?
    let correlationID: CorrelationID

    var relyingParty: RelyingParty { target.relyingParty }
    /// How a provider that is no carrier delivers the tokens; nil for a carrier, whose notification has them.
    var deliveryMode: BackchannelTokenDeliveryMode? { target.provider.openID?.backchannelTokenDelivery.mode }
    /// Whether the provider's tokens are stored for later use.
    var storesTokens: Bool { target.server.rules.storesTokens }
    var scopes: [String] { Self.words(terms.scope) }
    var acrValues: [String] { Self.words(terms.acrValues) }
    var prompt: [Prompt] { terms.prompt.map(Prompt.stored) ?? [] }
    /// Whether the user's attributes are asked for.
    var wantsAttributes: Bool { (scopes + client.scopes).contains { $0 != "openid" } }

    private static func words(_ text: String?) -> [String] {
        (text ?? "").split(ascii: " ").map(String.init)
    }
}

extension BackchannelAuthentication {
    /// Checks a sign-in and finds its carrier.
    func context(
        of terms: BackchannelAuthenticationRecord.Terms
    ) async throws(SignInError) -> BackchannelAuthenticationContext {
        let target = try providers.find(ProviderReference(text: terms.provider))
        guard let id = ClientID(terms.clientID), let client = target.server.clients[id] else { throw .unknownClient }
        // The record has them as this server wrote them.
        let network = MCCMNC(terms.network)
        guard let correlationID = CorrelationID(terms.correlationID) else { throw .internalFault }
        if target.usesNetworkDiscovery {
            guard client.mayHaveNamed(terms.redirectURI) else {
                throw .redirectURINotRegistered(terms.redirectURI, among: client.redirectURIs)
            }
            guard network != nil else { throw .internalFault }
        } else {
            guard target.provider.openID?.backchannelTokenDelivery.mode != nil else { throw .backchannelOff }
            guard client.authentication != .publicClient else { throw .clientCannotAuthenticate }
        }
        let carrier = try await target.discover(network, for: id, correlationID)
        return BackchannelAuthenticationContext(
            terms: terms, client: client, target: target, carrier: carrier, network: network,
            correlationID: correlationID)
    }
}
