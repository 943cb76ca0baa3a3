package import OpenIDConnect
package import Primitives
package import StorageModel

/// The operator's configuration of sign-ins, as plain values.
package struct SignInConfiguration: Sendable {
    /// By the provider's name in the path of a sign-in, such as `zenkey`.
    package var providers: [String: Provider]
    package var registration = RegistrationRules()
    package var lifetimes = Lifetimes()
    package var transactions = Transactions()
    package var serverInitiated = ServerInitiated()
    /// The encryption keys of stored provider tokens: the first encrypts, all decrypt.
    package var vaultKeys: [EncryptionKey] = []

    package init(providers: [String: Provider]) {
        self.providers = providers
    }

    /// A provider, and the apps that may use it.
    package struct Provider: Sendable {
        /// The kind of provider, spelled as in the API.
        package enum Kind: String, Sendable, Hashable {
            /// Mobile carriers, each discovered by its network.
            case zenkey
            /// An OpenID provider, discovered by its issuer.
            case oidc
            /// A provider without ID tokens, whose user endpoint identifies the user.
            case oauth2
        }

        package var kind: Kind
        /// The name shown to people.
        package var name: String
        /// The `response_mode` to ask for: `form_post`; nil for the provider's default.
        package var responseMode: String?
        /// Whether the provider may end sessions by back-channel logout.
        package var endsSessions = true
        package var clients: [ClientID: Client]
        /// Where users choose their carrier; named in errors about an unknown network.
        package var discoveryUI: EndpointURL?
        /// Whether a sign-in's access and refresh tokens are stored, encrypted with ``SignInConfiguration/vaultKeys``.
        package var storesTokens = false
        /// The resources that can be fetched with users' tokens, by their names in paths.
        package var resources: [String: EndpointURL] = [:]
        /// The URL for authorization requests that finds the user's carrier and names it in the response (optimized
        /// discovery); nil to discover the carrier first.
        package var authorizationURL: EndpointURL?

        package init(
            kind: Kind = .zenkey, name: String = "ZenKey", clients: [Client], discoveryUI: EndpointURL? = nil
        ) {
            self.kind = kind
            self.name = name
            self.clients = Dictionary(clients.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
            self.discoveryUI = discoveryUI
        }
    }

    /// An app registered with a provider.
    package struct Client: Sendable {
        /// Whether a sign-in must carry the code verifier (RFC 7636).
        package enum PKCE: Sendable, Hashable { case required, optional }

        /// The source of a sign-in's nonce.
        package enum Nonce: Sendable, Hashable {
            /// The app, if any.
            case client
            /// ``NonceIssuer``; each nonce is good once.
            case issued
        }

        package var id: ClientID
        /// How this server authenticates at the provider.
        package var authentication: ClientAuthentication
        /// The redirect URIs that a sign-in may name, byte for byte; any, if empty.
        package var redirectURIs: [String] = []
        /// The scopes that the app asks for. With more than `openid`, each sign-in fetches the user's attributes.
        package var scopes = ["openid"]
        package var pkce = PKCE.required
        package var nonce = Nonce.client
        /// The client's own session lifetimes.
        package var sessions = SessionTimes()
        /// The key that signs server-initiated requests; nil if the app has none.
        package var signingKey: ClientKey?

        package init(id: ClientID, authentication: ClientAuthentication) {
            self.id = id
            self.authentication = authentication
        }

        /// A client that authenticates with HTTP Basic.
        package init(id: ClientID, secret: Secret) {
            self.init(id: id, authentication: .clientSecretBasic(secret))
        }
    }

    /// A client's own lifetimes in seconds; nil for the value in ``Lifetimes``.
    package struct SessionTimes: Sendable, Hashable {
        package var access: Int64?
        package var refresh: Int64?
        package var idle: Int64?
        package var absolute: Int64?

        package init() {}
    }

    /// The limits of server-initiated sign-ins; times in seconds.
    package struct ServerInitiated: Sendable, Hashable {
        package var limits = BackchannelAuthenticationLimits()
        /// The most requests to the carrier under one handle: each one asks the user on the phone.
        package var requests: Int64 = 4
        /// The least time that a client has to poll the outcome after the user's approval.
        package var collectionTime: Int64 = 120
        /// How long an expired or failed sign-in is kept.
        package var retention: Int64 = 600

        package init() {}
    }

    /// Lifetimes, in seconds.
    package struct Lifetimes: Sendable, Hashable {
        /// A session token.
        package var access: Int64 = 3600
        /// A refresh token.
        package var refresh: Int64 = 30 * 86_400
        /// A session without a refresh.
        package var idle: Int64 = 14 * 86_400
        /// A session, regardless of refreshes.
        package var absolute: Int64 = 90 * 86_400
        /// The grace period after a refresh: the same exchange can be repeated, and the old session token works.
        package var refreshGrace: Int64 = 30
        /// An issued nonce.
        package var issuedNonce: Int64 = 600
        /// The handle of a registration.
        package var pendingRegistration: Int64 = 600
        /// The maximum age of the sign-in of a session that adds an identity.
        package var signInToLink: Int64 = 900
        /// How long a sign-in can be retried.
        package var retryWindow: Int64 = 60

        package init() {}
    }

    /// The requirements for transactions and their receipts. Times are in seconds.
    package struct Transactions: Sendable {
        /// The maximum age of the user's authentication, plus the clock skew.
        package var maximumAuthenticationAge: Int64 = 300
        /// The lifetime of a receipt; an hour at most.
        package var receiptLifetime: Int64 = 300
        /// How long a key signs receipts; two days or more.
        package var keyLifetime: Int64 = 30 * 86_400
        /// The receipts' `iss`.
        package var issuer = "latchkey"
        /// The encryption keys of the stored signing keys: the first encrypts, all decrypt.
        package var encryptionKeys: [EncryptionKey] = []

        package init() {}
    }
}
