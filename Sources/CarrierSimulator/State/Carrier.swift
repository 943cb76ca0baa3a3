extension CarrierSimulator {
    /// A mobile carrier and the ways in which carriers differ; or an OpenID provider that is not a carrier and is found
    /// by its issuer.
    public struct Carrier: Sendable {
        /// The signing algorithm of a carrier's ID tokens (RFC 7518 section 3.1).
        public enum SigningAlgorithm: String, Sendable, CaseIterable {
            case rs256 = "RS256"
            case es256 = "ES256"
        }

        /// The form of a carrier's userinfo responses.
        public enum UserInfoShape: Sendable, CaseIterable {
            /// `"name": "Jane Doe", "email_verified": "true"`.
            case flat
            /// `"name": {"value": "Jane Doe", …}`.
            case nested
        }

        /// Whether authorization requests have a code challenge (RFC 7636).
        public enum CodeChallenges: Sendable { case required, optional, refused }

        /// The mobile country code and network code, 5 or 6 digits; for other providers, the name in paths.
        public var mccmnc: String
        /// Whether it is a carrier. Other providers have no discovery by network and no ZenKey parameters.
        public var isCarrier: Bool
        /// Whether it issues ID tokens. A provider without them has only OAuth 2, and a user endpoint in Zoom's form.
        public var hasIDTokens: Bool
        /// The name that pages show.
        public var name: String
        /// The users. The first one signs in where a call names none.
        public var users: [User]
        /// The signing algorithm of ID tokens.
        public var signingAlgorithm: SigningAlgorithm
        /// The form of userinfo responses.
        public var userInfoShape: UserInfoShape
        /// The error for a wrong code verifier: `invalid_grant` (RFC 7636 section 4.6), or a carrier's own.
        public var wrongVerifierError: String
        /// Whether ID tokens have `at_hash` (OpenID Connect Core section 3.1.3.6).
        public var includesAccessTokenHash: Bool
        /// Whether `expires_in` is written as a string.
        public var writesExpiresInAsText: Bool
        /// The accepted methods of client authentication, listed in `token_endpoint_auth_methods_supported`.
        public var authenticationMethods = ["client_secret_basic", "client_secret_post", "private_key_jwt"]
        /// Whether access tokens are bound to the client's certificate (RFC 8705 section 3). Then the token endpoint
        /// refuses clients without one.
        public var bindsTokensToCertificates = false
        /// Whether authorization requests must, may or must not have a code challenge.
        public var codeChallenges = CodeChallenges.required
        /// Whether the token endpoint demands the code verifier. Some old providers do not.
        package var checksCodeVerifier = true
        /// The present faults.
        public var faults: Set<Fault> = []
        /// The OAuth error with which the token endpoint refuses every request; nil for none.
        public var tokenRefusal: String?
        /// The OAuth error with which the backchannel authentication endpoint of a provider refuses every request; nil
        /// for none.
        public var backchannelRefusal: String?
        /// The lifetime of access tokens, in seconds.
        public var accessTokenLifetime: Int64 = 600
        /// Whether a refresh replaces the refresh token; otherwise the first one stays valid. Carriers accept no
        /// refresh tokens.
        public var rotatesRefreshTokens = true
        /// For how many seconds a spent refresh token is accepted again. Then it revokes every token of its sign-in.
        public var refreshTokenGrace: Int64 = 0
        /// How long slow endpoints wait.
        public var delay: Duration = .seconds(30)
        /// The CAMARA APIs and rules of a mobile operator; nil for carriers in ZenKey's form and for other providers.
        public var operatorProfile: OperatorProfile?
        /// The well-known provider that it stands in for; nil for carriers and the simulator's own providers.
        public internal(set) var standIn: StandIn?
        /// The edits of a test.
        package var tampering = Tampering()
        /// The network code of the carrier whose keys this one shares, because making keys is slow in tests with many
        /// carriers; nil for keys of its own.
        package var keyRing: String?

        /// A carrier without faults.
        public init(
            mccmnc: String, name: String, users: [User] = User.defaults, signingAlgorithm: SigningAlgorithm = .rs256,
            userInfoShape: UserInfoShape = .nested, wrongVerifierError: String = "invalid_grant",
            includesAccessTokenHash: Bool = false, writesExpiresInAsText: Bool = false, isCarrier: Bool = true,
            hasIDTokens: Bool = true
        ) {
            self.mccmnc = mccmnc
            self.name = name
            self.users = users
            self.signingAlgorithm = signingAlgorithm
            self.userInfoShape = userInfoShape
            self.wrongVerifierError = wrongVerifierError
            self.includesAccessTokenHash = includesAccessTokenHash
            self.writesExpiresInAsText = writesExpiresInAsText
            self.isCarrier = isCarrier
            self.hasIDTokens = hasIDTokens
        }

        /// Four invented carriers on real network codes, which cover every variation above.
        public static let defaults = [
            Carrier(mccmnc: "310010", name: "Northwind Mobile"),
            Carrier(
                mccmnc: "310410", name: "Bluebell Wireless", userInfoShape: .flat,
                wrongVerifierError: "request_denied"),
            Carrier(
                mccmnc: "310260", name: "Harbor Telecom", includesAccessTokenHash: true, writesExpiresInAsText: true),
            Carrier(
                mccmnc: "311870", name: "Juniper Cellular", signingAlgorithm: .es256, userInfoShape: .flat,
                includesAccessTokenHash: true),
        ]

        /// Two OpenID providers that are not carriers, and one without ID tokens, with the same users.
        public static let otherProviders = [
            Carrier(
                mccmnc: "acme", name: "Acme Accounts", userInfoShape: .flat, includesAccessTokenHash: true,
                isCarrier: false),
            Carrier(
                mccmnc: "globex", name: "Globex ID", signingAlgorithm: .es256, userInfoShape: .flat,
                includesAccessTokenHash: true, isCarrier: false),
            Carrier(mccmnc: "meetings", name: "Meetings", isCarrier: false, hasIDTokens: false),
        ]

        /// Where the addresses of its endpoints begin.
        var root: String {
            if operatorProfile != nil { return "/operators/" }
            return isCarrier ? "/carriers/" : "/providers/"
        }

        func user(_ id: String?) -> User? {
            guard let id else { return users.first }
            return users.first { $0.id == id }
        }
    }
}
