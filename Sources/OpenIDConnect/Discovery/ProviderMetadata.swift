/// A provider's OpenID configuration (OpenID Connect Discovery 1.0 section 3), as far as a sign-in needs it; for a
/// provider without ID tokens, what was configured in its place.
///
/// It is checked: the issuer and every endpoint are on trusted hosts, and the provider supports what a sign-in needs.
public struct ProviderMetadata: Sendable, Hashable {
    /// As the provider spells it. An ID token's `iss` must be the same, byte for byte.
    public let issuer: String
    /// Where browsers are sent to sign in.
    public let authorizationEndpoint: EndpointURL
    /// Where codes are exchanged for tokens.
    public let tokenEndpoint: EndpointURL
    /// Where a user's attributes are; nil if the provider has none.
    public let userInfoEndpoint: EndpointURL?
    /// Where the signing keys are; nil for a provider without ID tokens.
    public let jwksURI: EndpointURL?
    /// The endpoint that names the user; nil for a provider with ID tokens.
    public let userEndpoint: UserEndpoint?
    /// ZenKey's server-initiated authorization endpoint; nil if the carrier has none.
    public let backchannelAuthenticationEndpoint: EndpointURL?
    /// The supported algorithms that the provider signs with.
    public let signingAlgorithms: Set<SigningAlgorithm>
    /// The client authentication methods that the provider lists and this module supports. Nil without a list, which by
    /// Discovery section 3 means `client_secret_basic`; but carriers that accept others leave the list out, too.
    public let clientAuthenticationMethods: Set<ClientAuthenticationMethod>?
    /// The algorithms for client assertions that the provider lists and this module supports; nil without a list.
    public let assertionAlgorithms: Set<SigningAlgorithm>?
    /// Whether every authorization response names its issuer (RFC 9207 section 3).
    public let namesIssuerInResponses: Bool
    /// Where browsers are sent to end their session with the provider (RP-Initiated Logout section 2.1).
    public let endSessionEndpoint: EndpointURL?
}
