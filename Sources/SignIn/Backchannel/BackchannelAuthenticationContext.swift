import OpenIDConnect
import Primitives
import StorageModel

/// One backchannel authentication with its client and provider.
struct BackchannelAuthenticationContext: Sendable {
    let terms: BackchannelAuthenticationRecord.Terms
    let client: SignInConfiguration.Client
    let relyingParty: RelyingParty
    let carrier: ProviderMetadata
    /// Nil for a provider that is no carrier.
    let network: MCCMNC?
    /// How a provider that is no carrier delivers the tokens; nil for a carrier, whose notification has them.
    let deliveryMode: BackchannelTokenDeliveryMode?
    let correlationID: CorrelationID
    /// Whether the provider's tokens are stored for later use.
    let storesTokens: Bool

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
    func context(
        of terms: BackchannelAuthenticationRecord.Terms
    ) async throws(SignInError) -> BackchannelAuthenticationContext {
        try await .find(terms, configuration, relyingParties)
    }
}

extension BackchannelAuthenticationContext {
    /// Checks a sign-in and finds its carrier.
    static func find(
        _ terms: BackchannelAuthenticationRecord.Terms, _ configuration: SignInConfiguration,
        _ relyingParties: [String: RelyingParty]
    ) async throws(SignInError) -> BackchannelAuthenticationContext {
        guard let provider = configuration.providers[terms.provider],
            let relyingParty = relyingParties[terms.provider]
        else { throw .unknownProvider(in: configuration) }
        guard let id = ClientID(terms.clientID), let client = provider.clients[id] else { throw .unknownClient }
        // The record has them as this server wrote them.
        let network = MCCMNC(terms.network)
        guard let correlationID = CorrelationID(terms.correlationID) else { throw .internalFault }
        if provider.kind == .zenkey {
            guard client.mayHaveNamed(terms.redirectURI) else {
                throw .redirectURINotRegistered(terms.redirectURI, among: client.redirectURIs)
            }
            guard network != nil else { throw .internalFault }
        } else {
            guard provider.backchannelTokenDeliveryMode != nil else { throw .backchannelOff }
            guard client.authentication != .publicClient else { throw .clientCannotAuthenticate }
        }
        let carrier = try await asked(
            await relyingParty.provider(for: network, clientID: id, correlationID: correlationID),
            discoveryUI: provider.discoveryUI)
        return BackchannelAuthenticationContext(
            terms: terms, client: client, relyingParty: relyingParty, carrier: carrier, network: network,
            deliveryMode: provider.kind == .zenkey ? nil : provider.backchannelTokenDeliveryMode,
            correlationID: correlationID, storesTokens: provider.storesTokens)
    }
}
