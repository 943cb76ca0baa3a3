public import OpenIDConnect
public import SignIn

extension Configuration {
    /// An app that is registered with carriers or a provider.
    public typealias Client = SignInConfiguration.Client

    /// The clients of the carriers and of all providers. Clients of two providers may have the same id.
    public var allClients: [Client] { zenkey.clients + providers.flatMap(\.clients) }

    /// The Telco Finders of providers of verified phone numbers, by their name in paths.
    public var telcoFinders: [String: TelcoFinderRules] {
        Dictionary(
            providers.compactMap { provider in provider.telcoFinder.map { (provider.path, $0) } },
            uniquingKeysWith: { first, _ in first })
    }

    /// All clients whose keys are published: those of sign-ins, and this server at each Telco Finder.
    public var keyHolders: [Client] {
        allClients + telcoFinders.sorted { $0.key < $1.key }.map(\.value.client)
    }

    /// The keys whose public halves are published, each once.
    public var publishedKeys: [ClientKey] {
        var seen: Set<ClientKey> = []
        return keyHolders.flatMap(\.publishedKeys).filter { seen.insert($0).inserted }
    }

    /// The keys for encrypted responses whose public halves are published, each once.
    public var publishedDecryptionKeys: [DecryptionKey] {
        var seen: Set<DecryptionKey> = []
        return allClients.compactMap(\.decryptionKey).filter { seen.insert($0).inserted }
    }

    /// The self-signed certificates that are published for providers.
    public var publishedCertificates: [ClientTLS] { allClients.compactMap(\.publishedCertificate) }

    /// The mobile carriers behind ZenKey's discovery.
    public struct ZenKey: Sendable {
        /// The name of the carriers in paths.
        public static let name = "zenkey"

        /// ``name``, if the carriers are configured.
        public var names: [String] { discoveryURL == nil ? [] : [Self.name] }

        /// Returns the OpenID configuration of a network's carrier. Set in every configuration loaded for serving that
        /// has no other providers.
        public var discoveryURL: EndpointURL?
        /// Where clients send users whose network is not known.
        public var discoveryUIURL: EndpointURL?
        /// Takes authorization requests for any carrier (optimized discovery); nil where the carrier is found first.
        public var authorizationURL: EndpointURL?
        /// The apps registered with the carriers.
        public var clients: [Client] = []
        /// Host patterns (`login.example.com`, `*.example.com`) that carriers' issuers and endpoints must match.
        public var trustedIssuers = ["*.att.com", "*.verizon.com", "*.t-mobile.com", "*.myzenkey.com", "*.xcijv.com"]
        /// How the carriers may mark their ID tokens.
        public var idTokenTypes = IDTokenType.zenKeyCarriers
        /// Whether the `typ` of port tokens must be `port_token+jwt`; otherwise it may also be absent.
        public var requiresPortTokenType = true
        /// Whether authorization requests are pushed to the carriers.
        public var pushedAuthorizationRequests = FeatureUse.auto
        /// Whether carriers' tokens are bound to a key.
        public var dpop = FeatureUse.auto
        /// Whether carriers' tokens are bound to the client's certificate.
        public var mutualTLS = FeatureUse.auto
        /// Whether authorization requests to the carriers are signed.
        public var signedRequestObjects = FeatureUse.auto
        /// Issuers known in advance, by network.
        public var issuers: [MCCMNC: EndpointURL] = [:]

        /// The defaults.
        public init() {}

        /// ``trustedIssuers`` as a matcher; texts that are no pattern are left out.
        public var trustedHosts: TrustedHosts { TrustedHosts(trustedIssuers.compactMap(TrustedHosts.Pattern.init)) }
    }

    /// A way to sign in other than the mobile carriers.
    public struct Provider: Sendable {
        /// How the provider is found.
        public typealias Kind = ProviderKind

        /// The endpoints of a provider without ID tokens, which publishes no metadata.
        public struct Endpoints: Sendable, Hashable {
            /// The authorization endpoint (RFC 6749 section 3.1).
            public var authorization: EndpointURL
            /// The token endpoint (RFC 6749 section 3.2).
            public var token: EndpointURL
            /// Answers an access token with the user.
            public var user: UserEndpoint

            /// All three are needed.
            public init(authorization: EndpointURL, token: EndpointURL, user: UserEndpoint) {
                self.authorization = authorization
                self.token = token
                self.user = user
            }
        }

        /// Its name in paths, `/auth/{id}/start`; for a mobile operator the name of its provider and its own.
        public var id: String
        /// ``Kind/oidc``, ``Kind/oauth2`` or ``Kind/camara``.
        public var kind: Kind
        /// The name that users see; by default ``id``.
        public var name: String
        /// The issuer as the provider spells it in its metadata and ID tokens; the issuer in the identities of a
        /// provider without ID tokens.
        public var issuer: EndpointURL
        /// For ``Kind/oauth2`` only.
        public var endpoints: Endpoints?
        /// The security profile whose demands the other settings meet.
        public var profile: SecurityProfile?
        /// How the provider sends the browser back.
        public var responseMode = AuthorizationResponseMode.query
        /// Whether every authorization response must name its issuer; nil if it must where the metadata promises it.
        public var requiresIssuer: Bool?
        /// The client whose sign-ins a third party may initiate (OpenID Connect Core section 4); nil if nobody may. For
        /// ``Kind/oidc`` only.
        public var loginInitiationClient: ClientID?
        /// Whether authorization requests are pushed; for ``Kind/oidc`` only.
        public var pushedAuthorizationRequests = FeatureUse.auto
        /// Whether tokens are bound to a key; for ``Kind/oidc`` only.
        public var dpop = FeatureUse.auto
        /// Whether tokens are bound to the client's certificate; for ``Kind/oidc`` only.
        public var mutualTLS = FeatureUse.auto
        /// Whether authorization requests are signed; for ``Kind/oidc`` only.
        public var signedRequestObjects = FeatureUse.auto
        /// How the provider delivers the tokens of backchannel authentications (CIBA); for ``Kind/oidc`` only.
        public var backchannelTokenDelivery = BackchannelTokenDeliverySetting.off
        /// Whether backchannel authentication requests must be signed (FAPI-CIBA section 5.2.2).
        public var mustSignBackchannelRequests: Bool { backchannelTokenDelivery != .off && profile != nil }
        /// Whether the provider may end sessions (OpenID Connect Back-Channel Logout); for ``Kind/oidc`` only.
        public var backchannelLogout = true
        /// Whether logout at the provider sends the ID token of the sign-in (OpenID Connect RP-Initiated Logout section
        /// 2), which is stored with the session, encrypted; for ``Kind/oidc`` only.
        public var idTokenHint = true
        /// How the provider may mark its ID tokens; for ``Kind/oidc`` only.
        public var idTokenTypes = IDTokenType.standard
        /// The apps registered with the provider.
        public var clients: [Client]
        /// Whether the access and refresh tokens of its sign-ins are stored, encrypted.
        public var storesTokens = false
        /// The URLs that users' tokens may be used to fetch, by name.
        public var resources: [String: EndpointURL] = [:]
        /// The operator that this is; for ``Kind/camara`` only. ``id`` is its key then.
        public var mobileOperator: MobileOperator.Settings?

        /// The Telco Finder of its provider; for ``Kind/camara`` only.
        public var telcoFinder: TelcoFinderRules?

        /// Its name in paths. That of an operator ends before the slash in ``id``.
        public var path: String { ProviderReference(text: id).provider }

        /// - Parameter name: By default the id.
        public init(id: String, kind: Kind = .oidc, name: String? = nil, issuer: EndpointURL, clients: [Client]) {
            self.id = id
            self.kind = kind
            self.name = name ?? id
            self.issuer = issuer
            self.clients = clients
        }
    }
}
