/// A provider's OpenID configuration (OpenID Connect Discovery 1.0 section 3), as far as a sign-in needs it; or, of a
/// provider without ID tokens, what was configured in its place.
///
/// What has one was checked: the issuer and every endpoint are on trusted hosts, and the provider can do what we need.
public struct ProviderMetadata: Sendable, Hashable {
    /// As the provider spells it; an ID token's `iss` must be the same to the byte.
    public let issuer: String
    public let authorizationEndpoint: EndpointURL
    public let tokenEndpoint: EndpointURL
    public let userInfoEndpoint: EndpointURL?
    /// Nil for a provider without ID tokens.
    public let jwksURI: EndpointURL?
    /// What says who a user is where no ID token does; nil for a provider with ID tokens.
    public let userEndpoint: UserEndpoint?
    public let backchannelAuthenticationEndpoint: EndpointURL?
    /// The algorithms both sides know.
    public let signingAlgorithms: Set<SigningAlgorithm>
    /// How a client may prove who it is at the token endpoint: the listed ones that we know. Nil if none are listed,
    /// which to the letter means `client_secret_basic`; carriers that take others leave the list out all the same.
    public let clientAuthenticationMethods: Set<ClientAuthenticationMethod>?
    /// How client assertions may be signed: the listed ones that we know; nil if none are listed.
    public let assertionAlgorithms: Set<SigningAlgorithm>?
    /// Whether every authorization response names its issuer (RFC 9207 section 3).
    public let namesIssuerInResponses: Bool
    /// Where a browser goes to end its session with the provider (RP-Initiated Logout section 2.1).
    public let endSessionEndpoint: EndpointURL?
}
