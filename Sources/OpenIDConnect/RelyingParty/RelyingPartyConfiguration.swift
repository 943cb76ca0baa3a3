public import Primitives

extension RelyingParty {
    /// Which provider, and by which rules.
    public struct Configuration: Sendable {
        /// How a provider's metadata is found.
        public enum Discovery: Sendable, Hashable {
            /// From this discovery service, with `client_id` and `mccmnc`: carriers.
            case byNetwork(EndpointURL)
            /// From the issuer itself (OpenID Connect Discovery section 4): one OpenID provider.
            case ofIssuer(EndpointURL)
            /// Configured: a provider that publishes no metadata.
            case fixed(ProviderMetadata)
        }

        /// How a provider's metadata is found.
        public var discovery: Discovery
        /// Where the issuer's metadata is; nil for the place of OpenID Connect Discovery section 4.1.
        public var metadataURL: EndpointURL?
        /// Endpoints that win over those of the metadata, by their names there.
        public var endpoints: [String: EndpointURL] = [:]
        /// The parameters of logout requests, by name, in place of those of OpenID Connect RP-Initiated Logout section
        /// 2. A value `{state}` stands for what the request else has under that name. Empty for the usual ones.
        public var logoutParameters: [String: String] = [:]
        /// Where users' attributes are.
        public var userMembers = UserMembers()
        /// Which schemes the providers' URLs may have.
        public var urlPolicy: EndpointURL.Policy = .httpsOnly
        /// The hosts that carriers' issuers and endpoints may be on.
        public var trustedHosts: TrustedHosts = .zenKeyCarriers
        /// The issuers of networks, and the word of the administrator that their metadata is right. A network that is
        /// not listed keeps the issuer first seen, and its metadata is verified with the issuer.
        public var pinnedIssuers: [MCCMNC: String] = [:]
        /// What any of the clients accepts its tokens to be signed with. A provider that lists none of it cannot be
        /// used.
        public var signingAlgorithms = SigningAlgorithm.standard
        /// What is demanded of ID tokens.
        public var idTokenRules = IDTokenRules()
        /// Timeouts and sizes of requests.
        public var limits = OutboundLimits()
        /// How long metadata and keys are kept.
        public var cache = CacheRules()
        /// Which extensions of the protocols are used.
        public var extensions = ProtocolExtensions()
        /// How requests to a provider without ID tokens are written.
        public var dialect = OAuthDialect.standard
        /// Whether ``ExtensionUse/auto`` for ``ProtocolExtensions/dpop`` binds tokens wherever the provider supports
        /// it: because they are stored, where a thief could find them; or because the provider may demand bound tokens
        /// of this client alone, which its metadata does not tell (`dpop_bound_access_tokens` of a client's
        /// registration).
        public var prefersBoundTokens = false
        /// Whether the response to a code must have an ID token. Only where a further request with the access token
        /// names the user may it be left out.
        public var requiresIDTokens = true
        /// Whether backchannel authentication requests are signed.
        public var signedBackchannelRequests = ExtensionUse.auto
        /// How many requests a provider may keep under way, and when its circuit breakers open.
        public var bulkhead = CarrierBulkheadRules()

        /// Whether the providers are carriers: they are found by network, accept correlation ids, and vouch for each
        /// other's users.
        public var usesNetworkDiscovery: Bool {
            guard case .byNetwork = discovery else { return false }
            return true
        }

        /// For carriers.
        public init(discoveryURL: EndpointURL) {
            discovery = .byNetwork(discoveryURL)
            idTokenRules.types = IDTokenType.zenKeyCarriers
        }

        /// For one server that publishes no metadata.
        /// - Parameters:
        ///   - issuer: Names the provider in identities, because its responses do not name it.
        ///   - authorizationEndpoint: Nil if no browser signs in there.
        ///   - userEndpoint: Of a provider without ID tokens; nil for one whose ID tokens apps bring, and for one with
        ///     access tokens for this server itself.
        ///   - jwksURI: The keys of the ID tokens that devices get; nil if there are none.
        public init(
            issuer: EndpointURL, authorizationEndpoint: EndpointURL? = nil, tokenEndpoint: EndpointURL,
            userEndpoint: UserEndpoint? = nil, jwksURI: EndpointURL? = nil
        ) {
            discovery = .fixed(
                ProviderMetadata(
                    issuer: issuer.text, authorizationEndpoint: authorizationEndpoint, tokenEndpoint: tokenEndpoint,
                    userEndpoint: userEndpoint, jwksURI: jwksURI,
                    signingAlgorithms: jwksURI == nil ? [] : SigningAlgorithm.standard))
        }

        /// For one OpenID provider. Its endpoints may be on any host, because the issuer itself names them.
        public init(issuer: EndpointURL) {
            discovery = .ofIssuer(issuer)
            trustedHosts = .all
        }

        /// For one issuer of ID tokens that apps bring. It publishes its keys alone, and nothing else is requested.
        public init(issuer: EndpointURL, jwksURI: EndpointURL) {
            self.init(issuer: issuer, tokenEndpoint: jwksURI, jwksURI: jwksURI)
        }

        /// What metadata must satisfy.
        var metadataRequirements: ProviderMetadata.Requirements {
            .init(
                urlPolicy: urlPolicy, trustedHosts: trustedHosts, signingAlgorithms: signingAlgorithms,
                endpoints: endpoints, tenants: idTokenRules.tenants)
        }
    }
}

/// How long an outbound request may take in all, and how long its response body may be, in bytes.
public struct OutboundLimits: Sendable, Hashable {
    /// For metadata.
    public var discoveryTimeout: Duration = .seconds(5)
    /// For key sets.
    public var keysTimeout: Duration = .seconds(5)
    /// For token requests, and for pushed authorization requests. Longer than the others: the code is spent on this one
    /// request, and there is no second try.
    public var tokenTimeout: Duration = .seconds(10)
    /// For userinfo, user endpoints and resources.
    public var userInfoTimeout: Duration = .seconds(5)

    /// Of metadata.
    public var discoveryBytes = 64 * 1024
    /// Of key sets.
    public var keysBytes = 256 * 1024
    /// Of token responses, and of responses to pushed authorization requests.
    public var tokenBytes = 128 * 1024
    /// Of userinfo and of a user endpoint's response.
    public var userInfoBytes = 64 * 1024
    /// Of a resource that is passed on.
    public var resourceBytes = 64 * 1024
    /// Whether JSON with the faults of ``ProviderResponse`` is read: of all providers but carriers.
    var isLenient = false

    /// The defaults.
    public init() {}
}

/// Whether an extension of OAuth 2.0 is used at a provider, whose metadata may demand it. The raw value is its name in
/// the configuration.
public enum ExtensionUse: String, Sendable, Hashable, CaseIterable {
    /// If the provider's metadata demands it. Some extensions are also used where the metadata supports them; their
    /// settings say so.
    case auto
    /// Always, whatever the provider's metadata says.
    case always
    /// Not even if the provider's metadata demands it.
    case never

    /// Whether an extension is used that ``auto`` uses only where the metadata demands it.
    package func applies(ifDemanded isDemanded: Bool) -> Bool {
        switch self {
        case .auto: isDemanded
        case .always: true
        case .never: false
        }
    }
}

/// Which extensions of OAuth 2.0 are used at a provider, as it is configured.
public struct ProtocolExtensions: Sendable, Hashable {
    /// Whether authorization requests are pushed to the provider before the browser goes there (RFC 9126).
    public var pushedAuthorizationRequests = ExtensionUse.auto
    /// Whether tokens are bound to a key that only this server has (DPoP, RFC 9449).
    public var dpop = ExtensionUse.auto
    /// Whether tokens are bound to the client's certificate (RFC 8705 section 3).
    public var mutualTLS = ExtensionUse.auto
    /// Whether authorization requests are signed (RFC 9101).
    public var signedRequestObjects = ExtensionUse.auto

    /// What the provider's metadata demands.
    public init() {}
}

/// Is called when a relying party's requests to providers end. The closures must return quickly.
public struct RelyingPartyObserver: Sendable {
    /// How a request to a provider ended.
    public enum Ending: Sendable, Hashable {
        /// With a response of this status.
        case answered(Int)
        /// Without a response.
        case failed(OutboundError.Code)
    }

    /// A request ended after some nanoseconds, or was not sent because of the provider's limit or circuit breaker.
    public var request: @Sendable (_ destination: OutboundRequest.Destination, Ending, _ nanoseconds: UInt64) -> Void =
        { _, _, _ in }
    /// An issuer's keys were fetched, or the fetch failed.
    public var keyRefresh: @Sendable (_ issuer: String, _ wentWell: Bool) -> Void = { _, _ in }
    /// A network's metadata was refused because of the issuer that it names.
    public var metadataRefusal: @Sendable (_ network: MCCMNC, _ issuer: String, MetadataRefusal) -> Void = { _, _, _ in
    }
    /// An ID token of a sign-in was validated: the result of every check, also of those after one that failed. Nil, as
    /// it is by default, spares the checks that validation does not need.
    public var idToken: (@Sendable (IDTokenExplanation, CorrelationID?) -> Void)?

    /// Why a network may not name an issuer.
    public enum MetadataRefusal: String, Sendable, Hashable, CaseIterable {
        /// Another issuer is configured for the network.
        case notConfigured = "not_configured"
        /// The keys or endpoints are on hosts of another operator.
        case otherOperator = "other_operator"
        /// The network has named another issuer before.
        case issuerChanged = "issuer_changed"
        /// The issuer is known with other keys or hosts, and does not confirm these.
        case keysChanged = "keys_changed"
        /// The issuer's own OpenID configuration says otherwise.
        case contradicted
        /// The issuer is new, and its own OpenID configuration is not available.
        case unverified
        /// There is no room for another network or issuer.
        case tooMany = "too_many"
    }

    /// Observes nothing.
    public init() {}
}

/// How the parts of a relying party reach its providers.
struct ProviderAccess: Sendable {
    let configuration: RelyingParty.Configuration
    let http: CarrierBulkhead
    let clock: WallClock
    let random: RandomSource
    let observer: RelyingPartyObserver
}
