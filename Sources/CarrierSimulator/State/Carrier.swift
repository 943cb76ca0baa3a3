extension CarrierSimulator {
    /// A mobile carrier, and the ways in which it differs from the others; or an OpenID provider that is none and is found
    /// by its issuer.
    public struct Carrier: Sendable {
        /// How the ID tokens of a carrier are signed (RFC 7518 section 3.1).
        public enum SigningAlgorithm: String, Sendable, CaseIterable {
            case rs256 = "RS256"
            case es256 = "ES256"
        }

        /// The two forms in which carriers answer at the userinfo endpoint.
        public enum UserInfoShape: Sendable, CaseIterable {
            /// `"name": "Jane Doe", "email_verified": "true"`.
            case flat
            /// `"name": {"value": "Jane Doe", …}`.
            case nested
        }

        /// What a carrier calls a code verifier that does not belong to the code's challenge.
        public enum WrongVerifierError: String, Sendable, CaseIterable {
            /// RFC 7636 section 4.6.
            case invalidGrant = "invalid_grant"
            case requestDenied = "request_denied"
        }

        /// Mobile country code and network code: 5 or 6 digits. Of a provider that is no carrier, its name in paths.
        public var mccmnc: String
        /// If it is none, discovery by network does not know it, and it knows no ZenKey parameters.
        public var isCarrier = true
        /// If it has none, it speaks OAuth 2 only, and its user endpoint says who somebody is, in Zoom's form.
        public var hasIDTokens = true
        public var name: String
        /// The first one signs in where nobody is named.
        public var users: [User]
        public var signingAlgorithm: SigningAlgorithm
        public var userInfoShape: UserInfoShape
        public var wrongVerifierError: WrongVerifierError
        /// Whether ID tokens have `at_hash` (OpenID Connect Core section 3.1.3.6).
        public var includesAccessTokenHash: Bool
        /// Whether `expires_in` is written as a string.
        public var writesExpiresInAsText: Bool
        /// What the carrier lists in `token_endpoint_auth_methods_supported`, and takes.
        public var authenticationMethods = ["client_secret_basic", "client_secret_post", "private_key_jwt"]
        /// What the carrier does wrong at present.
        public var faults: Set<Fault> = []
        /// The OAuth error with which the token endpoint refuses whatever comes; nil to look at it.
        public var tokenRefusal: String?
        /// How many seconds its access tokens hold.
        public var accessTokenLifetime: Int64 = 600
        /// Whether a refresh spends the refresh token and brings the next one; otherwise the first stays good. Carriers
        /// take none.
        public var rotatesRefreshTokens = true
        /// How long the slow faults wait.
        public var delay: Duration = .seconds(30)
        /// What tests make of its messages besides.
        package var tampering = Tampering()
        /// The network code of the carrier whose keys this one has too, so that tests with many carriers wait for
        /// few keys to be made; nil for keys of its own.
        package var keyRing: String?

        public init(
            mccmnc: String, name: String, users: [User] = User.defaults, signingAlgorithm: SigningAlgorithm = .rs256,
            userInfoShape: UserInfoShape = .nested, wrongVerifierError: WrongVerifierError = .invalidGrant,
            includesAccessTokenHash: Bool = false, writesExpiresInAsText: Bool = false
        ) {
            self.mccmnc = mccmnc
            self.name = name
            self.users = users
            self.signingAlgorithm = signingAlgorithm
            self.userInfoShape = userInfoShape
            self.wrongVerifierError = wrongVerifierError
            self.includesAccessTokenHash = includesAccessTokenHash
            self.writesExpiresInAsText = writesExpiresInAsText
        }

        /// Four invented carriers on network codes that are in use, between them every variation above.
        public static let defaults = [
            Carrier(mccmnc: "310010", name: "Northwind Mobile"),
            Carrier(
                mccmnc: "310410", name: "Bluebell Wireless", userInfoShape: .flat, wrongVerifierError: .requestDenied),
            Carrier(
                mccmnc: "310260", name: "Harbor Telecom", includesAccessTokenHash: true, writesExpiresInAsText: true),
            Carrier(
                mccmnc: "311870", name: "Juniper Cellular", signingAlgorithm: .es256, userInfoShape: .flat,
                includesAccessTokenHash: true),
        ]

        /// Two OpenID providers that are no carriers, and one that has no ID tokens; they know the same people.
        public static let otherProviders = [
            openIDProvider("acme", name: "Acme Accounts"),
            openIDProvider("globex", name: "Globex ID", signingAlgorithm: .es256), meetings,
        ]

        private static let meetings = {
            var provider = Carrier(mccmnc: "meetings", name: "Meetings")
            provider.isCarrier = false
            provider.hasIDTokens = false
            return provider
        }()

        private static func openIDProvider(
            _ id: String, name: String, signingAlgorithm: SigningAlgorithm = .rs256
        ) -> Carrier {
            var provider = Carrier(
                mccmnc: id, name: name, signingAlgorithm: signingAlgorithm, userInfoShape: .flat,
                includesAccessTokenHash: true)
            provider.isCarrier = false
            return provider
        }

        func user(_ id: String?) -> User? {
            guard let id else { return users.first }
            return users.first { $0.id == id }
        }
    }
}
