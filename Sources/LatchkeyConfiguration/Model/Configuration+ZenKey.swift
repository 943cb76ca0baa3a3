public import OpenIDConnect
public import Primitives

extension Configuration {
    /// The mobile carriers behind ZenKey's discovery.
    public struct ZenKey: Sendable {
        /// Asked for a network's OpenID configuration. Always there in what a loader made for serving.
        public var discoveryURL: EndpointURL?
        /// Where clients are sent when the network is not known.
        public var discoveryUIURL: EndpointURL?
        /// Where browsers are sent for whatever carrier the user has; nil where the carrier is found first.
        public var authorizationURL: EndpointURL?
        public var clients: [Client] = []
        /// Host patterns (`login.example.com`, `*.example.com`) that carriers' issuers and endpoints must match.
        public var trustedIssuers = ["*.att.com", "*.verizon.com", "*.t-mobile.com", "*.myzenkey.com", "*.xcijv.com"]
        /// Issuers that are known beforehand, by network.
        public var issuers: [MCCMNC: EndpointURL] = [:]

        public init() {}

        /// ``trustedIssuers`` to ask; what is not a pattern is left out.
        public var trustedHosts: TrustedHosts { TrustedHosts(trustedIssuers.compactMap(TrustedHosts.Pattern.init)) }
    }

    /// An app that is registered with the carriers.
    public struct Client: Sendable, Hashable {
        public enum PKCE: String, Sendable, CaseIterable { case required, optional }

        /// Whose nonces a sign-in may carry.
        public enum Nonce: String, Sendable, CaseIterable {
            /// The app's own.
            case client
            /// Only one that this server handed out, once.
            case issued
        }

        public var id: ClientID
        /// How the carriers are shown that we are the client.
        public var authentication: ClientAuthentication
        /// The redirect URIs that a sign-in may name; with none, it may name any.
        public var redirectURIs: [String] = []
        public var scopes = ["openid"]
        /// Web frontends on other origins that may call the API without an API key, for this client only.
        public var allowedOrigins: [Origin] = []
        public var pkce = PKCE.required
        public var nonce = Nonce.client
        /// What server-initiated sign-ins are signed with; nil if the client has no key.
        public var signingKey: ClientKey?
        /// Where its sessions are to hold longer or shorter than ``Configuration/Sessions`` says.
        public var sessions = Sessions()

        /// What a client has of its own; nil where it has nothing.
        public struct Sessions: Sendable, Hashable {
            public var accessLifetime: Duration?
            public var refreshLifetime: Duration?
            public var idleTimeout: Duration?
            public var absoluteTimeout: Duration?

            public init() {}
        }

        public init(id: ClientID, authentication: ClientAuthentication) {
            self.id = id
            self.authentication = authentication
        }

        /// A client that proves who it is by HTTP Basic.
        public init(id: ClientID, secret: Secret) {
            self.init(id: id, authentication: .clientSecretBasic(secret))
        }
    }
}
