public import OpenIDConnect
public import Primitives
public import SignIn

extension Configuration {
    /// An app that is registered with a provider.
    public typealias Client = SignInConfiguration.Client

    /// The carriers as one, if they are configured, and the other providers, each mobile operator by itself.
    public var allProviders: [Provider] { [zenkey.provider].compactMap(\.self) + providers }

    /// The clients of the carriers and of all providers. Clients of two providers may have the same id.
    public var allClients: [Client] { zenkey.clients + providers.flatMap(\.clients) }

    /// Whether browsers can sign in, which needs no API key.
    package var hasBrowserSignIns: Bool {
        providers.filter { !$0.kind.takesProofs }.flatMap(\.clients).contains { client in
            client.redirectURIs.contains { client.allows(.web, at: $0) }
        }
    }

    /// Those of the ``Provider/others`` of all providers.
    private var others: [Provider] { providers.flatMap(\.others) }

    /// The servers that clients are registered with: all providers, and those at which users do not sign in.
    public var servers: [Provider] {
        allProviders + others.sorted { $0.id < $1.id }
    }

    /// The names of ``servers`` in paths.
    package var paths: [String] {
        var seen: Set<String> = []
        return servers.map(\.path).filter { seen.insert($0).inserted }
    }

    /// All clients whose keys are published: the clients of sign-ins, and this server at the other servers.
    public var keyHolders: [Client] { allClients + others.flatMap(\.clients) }

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
        /// What is configured of sign-ins there. Carriers have the extensions and the types of ID tokens.
        public var rules = ServerRules()
        /// Issuers known in advance, by network.
        public var issuers: [MCCMNC: EndpointURL] = [:]

        /// The defaults.
        public init() { rules.idTokenTypes = IDTokenType.zenKeyCarriers }

        /// ``trustedIssuers`` as a matcher; texts that are not a pattern are left out.
        public var trustedHosts: TrustedHosts { TrustedHosts(trustedIssuers.compactMap(TrustedHosts.Pattern.init)) }

        /// The carriers as one provider, whose issuer is the discovery service; nil without a discovery service.
        public var provider: Provider? {
            guard let discoveryURL else { return nil }
            var provider = Provider(
                id: Self.name, kind: .zenkey, name: "ZenKey", issuer: discoveryURL, clients: clients)
            provider.rules = rules
            return provider
        }
    }

    /// A way to sign in other than the mobile carriers.
    @dynamicMemberLookup
    public struct Provider: Sendable {
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
        /// The carriers are not a provider of a configuration, but one of its ``Configuration/servers``.
        public var kind: ProviderKind
        /// The name that users see; by default ``id``.
        public var name: String
        /// The color of the button that leads to it, `#rrggbb`.
        public var color: String?
        /// The issuer as the provider spells it in its metadata and ID tokens; the issuer in the identities of a
        /// provider without ID tokens.
        public var issuer: EndpointURL
        /// For ``ProviderKind/oauth2`` only.
        public var endpoints: Endpoints?
        /// The security profile whose demands the other settings meet.
        public var profile: SecurityProfile?
        /// What is configured of sign-ins there. A provider has all members of its rules.
        public var rules = ServerRules()
        /// The apps registered with the provider.
        public var clients: [Client]
        /// Whether backchannel authentication requests must be signed (FAPI-CIBA section 5.2.2).
        public var mustSignBackchannelRequests: Bool { rules.backchannelTokenDelivery != .off && profile != nil }
        /// The root of its APIs; nil if it has none.
        public var apiRoot: EndpointURL?
        /// Further servers that it asks, such as a Telco Finder.
        public var others: [Provider] = []
        /// Whether users sign in there; not at a server of ``others``.
        public var hasSignIns = true
        /// Certificates besides those of its clients, each with the setting that names it.
        public var certificates: [(setting: String, certificate: TLSClientCertificate)] = []
        var ofFeatures = FeatureValues()

        /// Its name in paths. A mobile operator's ends before the slash in ``id``.
        public var path: String { ProviderReference(text: id).provider }

        /// The clients that have settings of native sign-ins. Firebase has the nonce of these, but no such sign-ins.
        package var nativeClients: [Client] {
            kind == .firebasePNV ? [] : clients.filter { $0.rules.native != .init() }
        }

        /// The key that holds its settings, and the one that holds its clients.
        package var keys: (settings: String, clients: String) {
            kind == .zenkey ? ("zenkey", "zenkey.clients") : ("providers.\(id)", "providers")
        }

        /// - Parameter name: By default the id.
        public init(id: String, kind: ProviderKind = .oidc, name: String? = nil, issuer: EndpointURL, clients: [Client])
        {
            self.id = id
            self.kind = kind
            self.name = name ?? id
            self.issuer = issuer
            self.clients = clients
        }

        /// What a feature says of it, by the type of the value.
        public subscript<Value: Sendable>(_ type: Value.Type) -> Value? {
            get { ofFeatures[type] }
            set { ofFeatures[type] = newValue }
        }

        /// A member of ``rules``.
        public subscript<Value>(dynamicMember member: WritableKeyPath<ServerRules, Value>) -> Value {
            get { rules[keyPath: member] }
            set { rules[keyPath: member] = newValue }
        }
    }
}
