import Primitives

/// What a client may do at an operator's APIs, and for whom.
struct OperatorGrant: Sendable {
    /// How the operator knows the subscriber.
    enum Authentication: Sendable {
        /// By the connection of the device.
        case network
        /// By a TS.43 operator token.
        case sim
        /// By a number that the client named.
        case none
    }

    let operatorName: String
    var terms: GrantTerms
    /// Nil for a token without a user.
    let subscriber: CarrierSimulator.User?
    let authentication: Authentication
    let approvedAt: Timestamp
    /// The `auth_req_id` that the tokens answer.
    var requestID: String?
}

struct OperatorState: Sendable {
    /// The device of requests that name none.
    var device = CarrierSimulator.Device.cellular()
    var accessTokens = BoundedCache<String, AccessToken<OperatorGrant>>(capacity: 10_000, age: .insertion)
    /// TS.43 operator tokens, each valid once.
    var operatorTokens = BoundedCache<String, OperatorToken>(capacity: 1000, age: .insertion)

    struct OperatorToken: Sendable {
        let operatorName: String
        let userID: String
        let expiresAt: Timestamp

        /// Seconds.
        static let lifetime: Int64 = 300
    }
}

extension CarrierSimulator {
    /// A TS.43 operator token of a subscriber, as a phone gets it from the operator's entitlement server. It is valid
    /// once and for five minutes.
    /// - Parameter user: The id of one of the operator's users; nil for the first.
    /// - Returns: Nil if there is no such operator or user.
    public func makeOperatorToken(at name: String, user: String? = nil) -> String? {
        guard let site = withState({ $0.site(name) }), site.carrier.operatorProfile != nil,
            let user = site.carrier.user(user)
        else { return nil }
        let text = random.token()
        let token = OperatorState.OperatorToken(
            operatorName: name, userID: user.id,
            expiresAt: clock.now().advanced(bySeconds: OperatorState.OperatorToken.lifetime))
        withState { $0.operators.operatorTokens.put(token, for: text) }
        return text
    }

    /// The subscriber of a hint (CAMARA Security and Interoperability Profile, Format of `login_hint`), and how the
    /// operator knows them. An operator token is used up.
    /// - Throws: `refusal` if the hint names no subscriber.
    func subscriber(
        hintedBy hint: String, at site: CarrierSite, or refusal: OAuthError
    ) throws(OAuthError) -> (user: User, authentication: OperatorGrant.Authentication) {
        if hint.hasPrefix("operatortoken:") {
            let text = String(hint.dropFirst(14))
            let now = clock.now()
            let token = withState { state in
                let token = state.operators.operatorTokens[text]
                guard token?.operatorName == site.mccmnc else { return nil as OperatorState.OperatorToken? }
                state.operators.operatorTokens.remove(text)
                return token
            }
            guard let token, now < token.expiresAt, let user = site.carrier.user(token.userID) else { throw refusal }
            return (site.subscriber(user), .sim)
        }
        guard hint.hasPrefix("tel:"), let user = site.subscriber(ofNumber: String(hint.dropFirst(4)))
        else { throw refusal }
        return (user, .none)
    }

    /// Every access token that an operator has issued, so that tests can search for leaked ones.
    package func operatorTokens(issuedBy name: String) -> [String] {
        withState { $0.operators.accessTokens.keys { $0.grant.operatorName == name } }
    }
}
