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

    /// The servers that clients are registered with: all providers, and Telco Finders, at which users do not sign in.
    public var servers: [Provider] {
        var finders: [String: Provider] = [:]
        for provider in providers where finders[provider.path] == nil { finders[provider.path] = provider.finder }
        return allProviders + finders.values.sorted { $0.id < $1.id }
    }

    /// The names of ``servers`` in paths.
    package var paths: [String] {
        var seen: Set<String> = []
        return servers.map(\.path).filter { seen.insert($0).inserted }
    }

    /// All clients whose keys are published: the clients of sign-ins, and this server at each Telco Finder.
    public var keyHolders: [Client] { allClients + servers.filter(\.isTelcoFinder).flatMap(\.clients) }

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
        /// The operator that this is; for ``ProviderKind/camara`` only. ``id`` is its key then.
        public var mobileOperator: MobileOperatorSettings?

        /// The Telco Finder of its provider; for ``ProviderKind/camara`` only.
        public var telcoFinder: TelcoFinderRules?

        /// How its numbers sign users in; for ``ProviderKind/firebasePNV`` and ``ProviderKind/aggregator`` only.
        public var numberRules: NumberSignInRules?

        /// How it is asked; for ``ProviderKind/aggregator`` only.
        public var aggregator: AggregatorRules?

        /// Its name in paths. A mobile operator's ends before the slash in ``id``.
        public var path: String { ProviderReference(text: id).provider }

        /// Its Telco Finder as a server with one client.
        fileprivate var finder: Provider? {
            guard let telcoFinder else { return nil }
            var finder = Provider(
                id: ProviderReference.telcoFinder(of: path).text, kind: .camara, issuer: telcoFinder.issuer,
                clients: [telcoFinder.client])
            finder.telcoFinder = telcoFinder
            return finder
        }

        /// Whether it is a Telco Finder, and not a provider that has one.
        package var isTelcoFinder: Bool { id == ProviderReference.telcoFinder(of: path).text }

        /// The root of its APIs; nil if it has none.
        package var apiRoot: EndpointURL? {
            isTelcoFinder ? telcoFinder?.finder.apis.root : mobileOperator?.apis.root
        }

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

        /// A member of ``rules``.
        public subscript<Value>(dynamicMember member: WritableKeyPath<ServerRules, Value>) -> Value {
            get { rules[keyPath: member] }
            set { rules[keyPath: member] = newValue }
        }
    }
}
