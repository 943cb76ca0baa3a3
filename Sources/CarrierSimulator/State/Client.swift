public import Primitives

extension CarrierSimulator {
    /// A relying party registered with every carrier of the simulator.
    public struct Client: Sendable, Hashable {
        /// The `client_id`.
        public var id: String
        public var secret: Secret
        /// The one method by which the client may authenticate at token endpoints.
        public var authentication = Authentication.clientSecretBasic
        /// The registered redirect URIs, compared byte by byte (RFC 9700 section 2.1). One that begins with
        /// `http://127.0.0.1/` matches every port of that address (RFC 8252 section 7.3).
        public var redirectURIs: [String]
        /// The registered redirect URIs of logouts, compared in the same way.
        public var postLogoutRedirectURIs: [String] = []
        /// The public key (RSA or P-256, in PEM) that verifies the client's request objects; nil for the one that
        /// authenticates the client, if there is one.
        public var publicKeyPEM: String?
        /// How the client's ID tokens are encrypted; nil if they are not.
        public var idTokenEncryption: ResponseEncryption?
        /// How the client's userinfo is encrypted, signed or not; nil if it is not.
        public var userInfoEncryption: ResponseEncryption?

        var requestObjectPEM: String? {
            guard publicKeyPEM == nil, case .privateKeyJWT(let pem, _) = authentication else { return publicKeyPEM }
            return pem
        }

        /// A client that authenticates with `client_secret_basic`.
        public init(id: String, secret: Secret, redirectURIs: [String]) {
            self.id = id
            self.secret = secret
            self.redirectURIs = redirectURIs
        }

        /// How a client authenticates (OpenID Connect Core section 9).
        public enum Authentication: Sendable, Hashable {
            case clientSecretBasic
            case clientSecretPost
            /// By a JWT that this public key verifies: SubjectPublicKeyInfo in PEM, of RSA or P-256. With a `keyID` the
            /// JWT must name it.
            case privateKeyJWT(publicKeyPEM: String, keyID: String? = nil)
            /// None: a public client (RFC 6749 section 2.1).
            case publicClient
            /// By a TLS certificate of a trusted authority with this subject (RFC 8705 section 2.1).
            case tlsClientAuth(subject: String)
            /// By the TLS certificate with this SHA-256, in hexadecimal digits (RFC 8705 section 2.2).
            case selfSignedTLSClientAuth(fingerprint: String)

            /// The method's name in provider metadata.
            public var name: String {
                switch self {
                case .clientSecretBasic: "client_secret_basic"
                case .clientSecretPost: "client_secret_post"
                case .privateKeyJWT: "private_key_jwt"
                case .publicClient: "none"
                case .tlsClientAuth: "tls_client_auth"
                case .selfSignedTLSClientAuth: "self_signed_tls_client_auth"
                }
            }
        }

        /// The client of a request, and its redirect URI if it is registered.
        static func registered(
            _ parameters: Parameters, in clients: [String: Client]
        ) throws(OAuthError) -> (client: Client, redirectURI: String) {
            guard let client = parameters["client_id"].flatMap({ clients[$0] })
            else { throw OAuthError("unauthorized_client", "The client_id is missing or unknown.") }
            guard let redirectURI = parameters["redirect_uri"], client.allows(redirectURI)
            else { throw .invalidRequest("The redirect_uri is missing or not registered for this client.") }
            return (client, redirectURI)
        }

        func allows(_ redirectURI: String) -> Bool { Self.list(redirectURIs, allows: redirectURI) }

        func allowsAfterLogout(_ redirectURI: String) -> Bool { Self.list(postLogoutRedirectURIs, allows: redirectURI) }

        private static func list(_ registered: [String], allows redirectURI: String) -> Bool {
            let withoutPort = withoutLoopbackPort(redirectURI)
            return registered.contains { $0.hasSameBytes(as: redirectURI) || $0.hasSameBytes(as: withoutPort) }
        }

        private static func withoutLoopbackPort(_ uri: String) -> String {
            let origin = "http://127.0.0.1:"
            guard uri.hasPrefix(origin) else { return uri }
            let rest = uri.dropFirst(origin.count).drop { ("0"..."9").contains($0) }
            return rest.first == "/" ? "http://127.0.0.1" + rest : uri
        }
    }
}
