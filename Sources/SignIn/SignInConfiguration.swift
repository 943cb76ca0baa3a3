public import OpenIDConnect
public import Primitives
public import StorageModel

/// What an operator decides about signing in, as plain values.
public struct SignInConfiguration: Sendable {
    /// By the name that stands in the path of a sign-in, such as `zenkey`.
    public var providers: [String: Provider]
    public var registration = RegistrationRules()
    public var lifetimes = Lifetimes()
    public var transactions = Transactions()
    public var serverInitiated = ServerInitiated()
    /// What providers' tokens are encrypted with in the store: the first encrypts, all decrypt.
    public var vaultKeys: [EncryptionKey] = []

    public init(providers: [String: Provider]) {
        self.providers = providers
    }

    /// A way to sign in, and the apps that may use it.
    public struct Provider: Sendable {
        /// How the provider is found, as the API spells it.
        public enum Kind: String, Sendable, Hashable, CaseIterable {
            /// Mobile carriers, each found by its network.
            case zenkey
            /// An OpenID provider, found by its issuer.
            case oidc
            /// A provider without ID tokens, whose user endpoint says who somebody is.
            case oauth2
        }

        /// How a provider is asked to send the browser back (OAuth 2.0 Multiple Response Types section 2.1).
        public enum ResponseMode: String, Sendable, CaseIterable {
            /// By a redirect; the default, which is not asked for.
            case query
            /// With a form (OAuth 2.0 Form Post Response Mode).
            case formPost = "form_post"
        }

        public var kind: Kind
        /// For people.
        public var name: String
        public var responseMode = ResponseMode.query
        /// Whether the provider may end sessions by its back channel.
        public var endsSessions = true
        public var clients: [ClientID: Client]
        /// Where users choose their carrier; named to clients whose network is not known.
        public var discoveryUI: EndpointURL?
        /// Whether the access and refresh tokens of a sign-in are kept, under ``SignInConfiguration/vaultKeys``.
        public var storesTokens = false
        /// What is fetched for users with their tokens, by its name in paths.
        public var resources: [String: EndpointURL] = [:]
        /// What takes an authorization request for whatever carrier the user has, finds that one, and says which it was
        /// with the answer (optimized discovery). Nil where the carrier is found first.
        public var authorizationURL: EndpointURL?

        public init(
            kind: Kind = .zenkey, name: String = "ZenKey", clients: [Client], discoveryUI: EndpointURL? = nil
        ) {
            self.kind = kind
            self.name = name
            self.clients = Dictionary(clients.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
            self.discoveryUI = discoveryUI
        }
    }

    /// An app registered with a provider.
    public struct Client: Sendable, Hashable {
        /// Whether a sign-in must carry the code verifier (RFC 7636).
        public enum PKCE: String, Sendable, CaseIterable { case required, optional }

        /// Whose nonces a sign-in may carry.
        public enum Nonce: String, Sendable, CaseIterable {
            /// The app's own, or none.
            case client
            /// Only one that ``NonceIssuer`` handed out, once.
            case issued
        }

        public var id: ClientID
        /// How the provider is shown that we are the client.
        public var authentication: ClientAuthentication
        /// The redirect URIs that a sign-in may name, to the byte; with none, it may name any.
        public var redirectURIs: [String] = []
        /// What the app asks the provider for; scopes beyond `openid` have the attributes fetched at each sign-in.
        public var scopes = ["openid"]
        /// Web frontends on other origins that may call the API without an API key, for this client only.
        public var allowedOrigins: [Origin] = []
        public var pkce = PKCE.required
        public var nonce = Nonce.client
        /// Where its sessions are to hold longer or shorter than others.
        public var sessions = SessionTimes()
        /// What server-initiated sign-ins are signed with; nil if the app has none.
        public var signingKey: ClientKey?

        public init(id: ClientID, authentication: ClientAuthentication) {
            self.id = id
            self.authentication = authentication
        }

        /// A client that proves who it is by HTTP Basic.
        public init(id: ClientID, secret: Secret) {
            self.init(id: id, authentication: .clientSecretBasic(secret))
        }
    }

    /// What a client has of its own of ``Lifetimes``, in seconds; nil where it has nothing.
    public struct SessionTimes: Sendable, Hashable {
        public var access: Int64?
        public var refresh: Int64?
        public var idle: Int64?
        public var absolute: Int64?

        public init() {}
    }

    /// What server-initiated sign-ins are held to; times in seconds.
    public struct ServerInitiated: Sendable, Hashable {
        public var limits = BackchannelAuthenticationLimits()
        /// How often a carrier is asked under one handle: each asks the user on their phone.
        public var requests: Int64 = 4
        /// How long a client has at least to get the outcome once the user has approved.
        public var collectionTime: Int64 = 120
        /// How long it is remembered that one has expired or failed.
        public var retention: Int64 = 600

        public init() {}
    }

    /// How long things hold, in seconds.
    public struct Lifetimes: Sendable, Hashable {
        /// A session token.
        public var access: Int64 = 3600
        /// A refresh token.
        public var refresh: Int64 = 30 * 86_400
        /// A session that is not refreshed.
        public var idle: Int64 = 14 * 86_400
        /// A session, however often it is refreshed.
        public var absolute: Int64 = 90 * 86_400
        /// How long after a refresh the very same one is answered again, and the old session token is still taken.
        public var refreshGrace: Int64 = 30
        /// A nonce that was handed out.
        public var issuedNonce: Int64 = 600
        /// The handle of a registration not yet made.
        public var pendingRegistration: Int64 = 600
        /// How long ago the user may have signed in who adds another way to sign in.
        public var signInToLink: Int64 = 900
        /// How long the very same sign-in may be sent again.
        public var retryWindow: Int64 = 60

        public init() {}
    }

    /// What is demanded of transactions, and what their receipts are like. Times are in seconds.
    public struct Transactions: Sendable {
        /// How long ago the user may have been authenticated, beside the clock skew.
        public var maximumAuthenticationAge: Int64 = 300
        /// How long a receipt holds; an hour at most.
        public var receiptLifetime: Int64 = 300
        /// How long a key signs receipts; two days or more.
        public var keyLifetime: Int64 = 30 * 86_400
        /// The receipts' `iss`.
        public var issuer = "latchkey"
        /// What the signing keys are encrypted with in the store: the first encrypts, all decrypt.
        public var encryptionKeys: [EncryptionKey] = []

        public init() {}
    }
}
