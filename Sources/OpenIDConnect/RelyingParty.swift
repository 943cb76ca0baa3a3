public import Primitives

/// The relying party's side of a sign-in with mobile carriers: discovery, token request, ID token, userinfo.
///
/// Safe to share; keeps providers' metadata and keys.
public final class RelyingParty: Sendable {
    public struct Configuration: Sendable {
        /// Where a network's OpenID configuration is asked for, with `client_id` and `mccmnc`.
        public var discoveryURL: EndpointURL
        /// What the carriers' URLs may be besides https.
        public var urlPolicy: EndpointURL.Policy = .httpsOnly
        /// The hosts that carriers' issuers and endpoints may be on.
        public var trustedHosts: TrustedHosts = .zenKeyCarriers
        /// Issuers known beforehand. Others are held to the issuer first seen.
        public var pinnedIssuers: [MCCMNC: String] = [:]
        public var idTokenRules = IDTokenRules()
        public var limits = OutboundLimits()

        public init(discoveryURL: EndpointURL) {
            self.discoveryURL = discoveryURL
        }
    }

    private let configuration: Configuration
    private let http: any HTTPClient
    private let clock: WallClock

    public init(configuration: Configuration, http: any HTTPClient, clock: WallClock) {
        self.configuration = configuration
        self.http = http
        self.clock = clock
    }

    /// The carrier that serves a network: from the cache, or by discovery.
    public func provider(
        for network: MCCMNC, clientID: ClientID, correlationID: CorrelationID
    ) async throws(OIDCError) -> ProviderMetadata {
        throw OIDCError(.unreachable, reason: "")
    }

    /// Exchanges an authorization code for tokens, by one request that is never repeated.
    public func exchange(
        code: Secret, redirectURI: String, codeVerifier: CodeVerifier?, client: ClientCredentials,
        provider: ProviderMetadata, correlationID: CorrelationID
    ) async throws(OIDCError) -> TokenResponse {
        throw OIDCError(.unreachable, reason: "")
    }

    /// Checks an ID token with the provider's keys, which are fetched when they are not at hand.
    public func validate(
        idToken: Secret, expecting expectation: IDTokenExpectation, provider: ProviderMetadata
    ) async throws(OIDCError) -> VerifiedIDToken {
        throw OIDCError(.unreachable, reason: "")
    }

    /// The attributes of the user an ID token is about.
    public func userInfo(
        accessToken: Secret, about idToken: VerifiedIDToken, provider: ProviderMetadata, correlationID: CorrelationID
    ) async throws(OIDCError) -> UserInfo {
        throw OIDCError(.unreachable, reason: "")
    }
}
