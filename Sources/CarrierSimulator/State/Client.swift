public import Primitives

extension CarrierSimulator {
    /// A service provider registered with every carrier of the simulator.
    public struct Client: Sendable, Hashable {
        public var id: String
        public var secret: Secret
        /// The one way in which the client may prove who it is at token endpoints.
        public var authentication = Authentication.clientSecretBasic
        /// Compared byte by byte with what a request asks for (RFC 9700 section 2.1). One that begins with
        /// `http://127.0.0.1/` stands for every port of that address (RFC 8252 section 7.3).
        public var redirectURIs: [String]
        /// The same, of where a browser is sent after a logout.
        public var postLogoutRedirectURIs: [String] = []
        /// The public key, in PEM, that the client signs request objects for server-initiated sign-in with: RSA or
        /// P-256. Nil if it has none registered.
        public var publicKeyPEM: String?

        public init(id: String, secret: Secret, redirectURIs: [String]) {
            self.id = id
            self.secret = secret
            self.redirectURIs = redirectURIs
        }

        /// How a client proves who it is (OpenID Connect Core section 9).
        public enum Authentication: Sendable, Hashable {
            case clientSecretBasic
            case clientSecretPost
            /// By a JWT that this public key verifies: SubjectPublicKeyInfo in PEM, of RSA or P-256. With a `keyID` the
            /// JWT must name it.
            case privateKeyJWT(publicKeyPEM: String, keyID: String? = nil)

            /// As metadata lists it.
            public var name: String {
                switch self {
                case .clientSecretBasic: "client_secret_basic"
                case .clientSecretPost: "client_secret_post"
                case .privateKeyJWT: "private_key_jwt"
                }
            }
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
