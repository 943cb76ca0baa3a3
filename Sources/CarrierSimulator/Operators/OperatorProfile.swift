public import Primitives

extension CarrierSimulator {
    /// What a mobile operator with CAMARA's APIs has beyond an OpenID provider: subscribers' SIMs, and the choices that
    /// the CAMARA Security and Interoperability Profile leaves to operators.
    public struct OperatorProfile: Sendable {
        /// The network codes of its subscribers, 5 or 6 digits each.
        public var mccmncs: [String]
        /// Whether it accepts JWTs as authorization grants (RFC 7523 section 2.1).
        public var acceptsJWTBearer = true
        /// Whether it demands DPoP, as a client's registration may say (`dpop_bound_access_tokens`). The metadata lists
        /// the algorithms only.
        public var demandsDPoP = false
        /// The claims that it demands in DPoP proofs beyond RFC 9449 (`camara_dpop_claims_required`): `camara:qh`, the
        /// hash of the query, and `camara:bh`, that of the body.
        public var demandedProofClaims: [String] = []
        /// Its `operatorId` at Telco Finder; nil for its name in paths.
        public var finderID: String?
        /// The Cache-Control field of its Telco Finder's answers.
        public var finderCacheControl = "max-age=300"
        /// The public IPv4 addresses of its phones, each with a port (`192.0.2.1:4711`), or without one for all ports.
        public var publicAddresses: Set<String> = []
        /// The scopes that it does not grant, although it accepts requests with them.
        public var withheldScopes: Set<String> = []
        /// Whether `/verify` takes hashed numbers.
        public var acceptsHashedNumbers = true
        /// The version of Number Verification in its path.
        public var numberVerificationVersion = "v2"
        /// The version of SIM Swap in its path.
        public var simSwapVersion = "v2"
        /// What is before the paths of its APIs, as an aggregator has it: up to two segments, such as
        /// `/aggregator/v031`. Telco Finder has none.
        public var apiPrefix = ""
        /// The header fields that calls of its APIs must have beside the access token.
        public var demandedHeaders: [String: String] = [:]
        /// What is before an operator token that names a user.
        public var operatorTokenPrefix = "operatortoken:"
        /// The length of its operator tokens, if it is more than usual.
        public var operatorTokenBytes = 0
        /// How scopes say the purpose.
        public var scopeForm = ScopeForm.separate
        /// For how many days it keeps SIM changes; nil for ever.
        public var monitoredDays: Int64?
        /// When the SIMs of subscribers last changed, by the user's id. Others have had theirs since ``activation``.
        public var simChanges: [String: Timestamp] = [:]

        /// When the other SIMs were activated: 2024-01-01.
        public static let activation = Timestamp(secondsSinceEpoch: 1_704_067_200)

        /// An operator that follows the profile's recommendations.
        public init(mccmncs: [String]) { self.mccmncs = mccmncs }
    }
}

extension CarrierSimulator.OperatorProfile {
    /// How scopes say the purpose.
    public enum ScopeForm: Sendable, CaseIterable {
        /// As a scope beside that of the operation.
        case separate
        /// Before the operation's name, in one scope.
        case combined
        /// Before the name that the operation has in version 0.
        case combinedV0
        /// As the only scope besides `openid`.
        case purpose
    }

    /// The path of an API's operation below the operator's `apiRoot`.
    func path(of endpoint: CarrierSimulator.RequestLog.Endpoint) -> String {
        switch endpoint {
        case .devicePhoneNumber: "\(apiPrefix)/number-verification/\(numberVerificationVersion)/device-phone-number"
        case .numberVerify: "\(apiPrefix)/number-verification/\(numberVerificationVersion)/verify"
        case .simSwapCheck: "\(apiPrefix)/sim-swap/\(simSwapVersion)/check"
        case .simSwapDate: "\(apiPrefix)/sim-swap/\(simSwapVersion)/retrieve-date"
        default: "/telco-finder/v1/search"
        }
    }
}

extension CarrierSimulator.Carrier {
    /// Two invented operators with CAMARA's APIs. Each number belongs to one of them.
    public static let operators = [
        mobileOperator("northwind", name: "Northwind Mobile", mccmncs: ["310010", "310012"], users: User.defaults),
        mobileOperator(
            "harbor", name: "Harbor Telecom", mccmncs: ["310260"],
            users: [
                User(
                    id: "mira", givenName: "Mira", familyName: "Lind", email: "mira.lind@example.org",
                    phoneNumber: "+12025550142", postalCode: "04101"),
                User(
                    id: "otto", givenName: "Otto", familyName: "Brandt", email: "otto.brandt@example.org",
                    phoneNumber: "+12025550169", postalCode: "60601"),
            ], signingAlgorithm: .es256),
    ]

    private typealias User = CarrierSimulator.User

    /// A mobile operator with CAMARA's APIs.
    /// - Parameter name: Its name in paths; `title` is what pages show.
    public static func mobileOperator(
        _ name: String, name title: String, mccmncs: [String], users: [CarrierSimulator.User],
        signingAlgorithm: SigningAlgorithm = .rs256
    ) -> Self {
        var carrier = Self(
            mccmnc: name, name: title, users: users, signingAlgorithm: signingAlgorithm, isCarrier: false)
        carrier.authenticationMethods = ["private_key_jwt"]
        carrier.accessTokenLifetime = 300
        carrier.operatorProfile = .init(mccmncs: mccmncs)
        return carrier
    }
}

extension CarrierSimulator {
    /// The present operators with CAMARA's APIs, sorted by name.
    public var operators: [Carrier] {
        withState { state in
            state.carriers.values.filter { $0.operatorProfile != nil }.sorted { $0.mccmnc < $1.mccmnc }
        }
    }

    /// Where the APIs of an operator begin; nil if there is no such operator.
    public func apiRoot(of name: String) -> String? {
        withState { $0.site(name) }.flatMap { $0.carrier.operatorProfile == nil ? nil : $0.apiRoot }
    }

    /// Sets when the SIM of a subscriber last changed.
    public func setSIMChange(at time: Timestamp, of user: String, at name: String) {
        update(name) { $0.operatorProfile?.simChanges[user] = time }
    }

    func otherOperator(than site: CarrierSite) -> CarrierSite? {
        operators.first { $0.mccmnc != site.mccmnc }.flatMap { other in withState { $0.site(other.mccmnc) } }
    }
}

extension CarrierSite {
    var apiRoot: String { issuer + "/api" }

    /// A subscriber as the operator knows them now. After a number was recycled it is somebody else with that number.
    func subscriber(_ user: CarrierSimulator.User) -> CarrierSimulator.User {
        guard has(.operatorNumberRecycled) else { return user }
        var successor = user
        successor.id += "-successor"
        return successor
    }

    func subscriber(ofNumber number: String) -> CarrierSimulator.User? {
        carrier.users.first { $0.phoneNumber == number }.map(subscriber)
    }
}

extension ProviderMetadata {
    /// What an operator's configuration has otherwise (CIBA Core section 4).
    static func change(_ document: inout JSONMembers, of site: CarrierSite, _ profile: CarrierSimulator.OperatorProfile)
    {
        for name in ["userinfo_endpoint", "pushed_authorization_request_endpoint", "end_session_endpoint"]
            + ["require_pushed_authorization_requests", "backchannel_logout_supported"]
            + ["backchannel_logout_session_supported", "authorization_signing_alg_values_supported"]
        { document[name] = nil }
        let assertions = profile.acceptsJWTBearer ? [TokenEndpoint.jwtBearer] : []
        document["scopes_supported"] = .texts(OperatorScopes.known)
        document["response_modes_supported"] = ["query"]
        document["grant_types_supported"] = .texts(
            ["authorization_code"] + assertions + [TokenEndpoint.ciba, "client_credentials"])
        if !profile.demandedProofClaims.isEmpty {
            document["camara_dpop_claims_required"] = .texts(profile.demandedProofClaims)
        }
        document["backchannel_authentication_endpoint"] = .string(site.backchannelEndpoint)
        document["backchannel_token_delivery_modes_supported"] = ["poll"]
        document["backchannel_authentication_request_signing_alg_values_supported"] = ["RS256", "ES256"]
        document["backchannel_user_code_parameter_supported"] = false
    }
}
