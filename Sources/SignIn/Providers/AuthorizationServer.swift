public import OpenIDConnect
public import Primitives

/// What signs users in at a provider: the relying party there, with the clients that are registered. All carriers
/// behind one discovery service are one.
///
/// A class, because each sign-in passes it on.
package final class AuthorizationServer: Sendable {
    /// Discovers it, and sends it requests.
    package let relyingParty: RelyingParty
    /// The clients that are registered with it, by their id.
    package let clients: [ClientID: SignInConfiguration.Client]
    /// What is configured of sign-ins there.
    package let rules: ServerRules

    /// - Parameter clients: Of two with one id, the first counts.
    package init(
        _ relyingParty: RelyingParty, clients: [SignInConfiguration.Client], _ rules: ServerRules = ServerRules()
    ) {
        self.relyingParty = relyingParty
        self.rules = rules
        self.clients = Dictionary(clients.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The client of an id; without an id, the only client.
    package func client(_ id: ClientID?) -> SignInConfiguration.Client? {
        id.map { clients[$0] } ?? (clients.count == 1 ? clients.values.first : nil)
    }
}

/// What the configuration says of sign-ins at a provider. The members after ``resources`` are for OpenID providers
/// only.
public struct ServerRules: Sendable, Hashable {
    /// The `response_mode` of authorization requests.
    public var responseMode = AuthorizationResponseMode.query
    /// Whether every authorization response must name its issuer (RFC 9207 section 2.4), whatever the metadata says;
    /// nil if it must where the metadata promises it. One that is named must be right in any case.
    public var requiresIssuer: Bool?
    /// Whether its access and refresh tokens are stored, encrypted with ``SignInConfiguration/vaultKeys``.
    public var storesTokens = false
    /// The resources that are fetched with a user's tokens, by their name in paths.
    public var resources: [String: EndpointURL] = [:]
    /// The client whose sign-ins a third party may initiate (OpenID Connect Core section 4); nil if none may.
    public var loginInitiationClient: ClientID?
    /// How the provider delivers the tokens of backchannel authentications (CIBA Core section 5), as the clients'
    /// registrations say.
    public var backchannelTokenDelivery = BackchannelTokenDeliverySetting.off
    /// Whether each backchannel authentication must have a text that the user compares on both devices (FAPI-CIBA
    /// section 5.2.2).
    public var requiresBindingMessage = false
    /// Whether the provider may end sessions (OpenID Connect Back-Channel Logout).
    public var endsSessions = true
    /// Whether logout at the provider names the provider's session by the ID token of the sign-in (`id_token_hint`,
    /// OpenID Connect RP-Initiated Logout section 2), which is kept with the session, encrypted.
    public var keepsIDTokens = true

    /// The defaults.
    public init() {}
}
