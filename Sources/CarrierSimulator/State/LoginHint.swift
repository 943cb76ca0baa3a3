import Primitives

/// What names a user of a carrier, operator or provider: a `login_hint_token`, or a TS.43 operator token.
struct LoginHint: Sendable {
    /// Of an operator token, in seconds.
    static let operatorTokenLifetime: Int64 = 300

    let mccmnc: String
    let userID: String
    /// Of an operator token, which is good once; nil for a hint.
    var expiresAt: Timestamp?
}

extension CarrierSimulator {
    /// A `login_hint_token` about a user: opaque, and known to this carrier or provider only.
    /// - Parameter user: The id of one of its users; nil for the first.
    /// - Returns: Nil if there is no such provider or user.
    public func makeLoginHintToken(at name: String, user: String? = nil) -> String? {
        makeHint(at: name, user: user, expiresAt: nil)
    }

    /// A TS.43 operator token of a subscriber, as a phone gets it from the operator's entitlement server. It is valid
    /// once and for five minutes.
    /// - Parameter user: The id of one of the operator's users; nil for the first.
    /// - Returns: Nil if there is no such operator or user.
    public func makeOperatorToken(at name: String, user: String? = nil) -> String? {
        guard apiRoot(of: name) != nil else { return nil }
        return makeHint(
            at: name, user: user, expiresAt: clock.now().advanced(bySeconds: LoginHint.operatorTokenLifetime))
    }

    private func makeHint(at name: String, user: String?, expiresAt: Timestamp?) -> String? {
        guard let site = withState({ $0.site(name) }), let user = site.carrier.user(user) else { return nil }
        var token = random.token()
        let missing = (site.carrier.operatorProfile?.operatorTokenBytes ?? 0) - token.utf8.count
        if expiresAt != nil, missing > 0 { token += String(repeating: "x", count: missing) }
        let hint = LoginHint(mccmnc: name, userID: user.id, expiresAt: expiresAt)
        withState { $0.loginHints.put(hint, for: token) }
        return token
    }

    /// The user of a backchannel authentication request at an OpenID provider (CIBA Core section 7.1), which exactly
    /// one hint names.
    func user(hintedBy parameters: Parameters, at site: CarrierSite, client: Client) throws(OAuthError) -> User {
        let given = ["login_hint", "login_hint_token", "id_token_hint"].filter(parameters.has)
        guard given.count == 1, let name = given.first, let hint = parameters[name]
        else { throw .invalidRequest("There must be exactly one hint.") }
        let user: User?
        switch name {
        case "login_hint":
            let number = hint.hasPrefix("tel:") ? String(hint.dropFirst(4)) : hint
            user = site.carrier.users.first {
                $0.email.lowercased() == hint.lowercased() || $0.phoneNumber == number
            }
        case "login_hint_token":
            let known = withState { $0.loginHints[hint] }
            guard let known, known.mccmnc == site.mccmnc
            else { throw OAuthError("expired_login_hint_token", "The login_hint_token is unknown or has expired.") }
            user = site.carrier.user(known.userID)
        default:
            // The provider knows the latest token that it issued.
            guard withState({ $0.latestIDTokens[site.mccmnc] }) == hint,
                let token = ReceivedJWS(hint, maximumBytes: ReceivedJWS.maximumRequestObjectBytes)
            else { throw .invalidRequest("The id_token_hint is not an ID token of this provider.") }
            user = site.user(ofSubject: token["sub"], client: client)
        }
        guard let user else { throw OAuthError("unknown_user_id", "The hint names no user.") }
        return user
    }

    /// The subscriber of a hint at an operator (CAMARA Security and Interoperability Profile, Format of `login_hint`),
    /// and whether the hint authenticates them. An operator token and a digital credential are used up.
    /// - Throws: `refusal` if the hint names no subscriber.
    func subscriber(
        hintedBy hint: String, at site: CarrierSite, or refusal: OAuthError
    ) throws(OAuthError) -> (user: User, isAuthenticated: Bool) {
        let ofCredentials = "vp_token:"
        if hint.hasPrefix(ofCredentials) {
            let number = withState { $0.aggregator.redeem(String(hint.dropFirst(ofCredentials.utf8.count))) }
            guard let user = number.flatMap(site.subscriber(ofNumber:)) else { throw refusal }
            return (user, true)
        }
        let prefix = site.carrier.operatorProfile?.operatorTokenPrefix ?? ""
        if hint.hasPrefix(prefix), !hint.hasPrefix("tel:") {
            let text = String(hint.dropFirst(prefix.count))
            let token = withState { state in
                let token = state.loginHints[text]
                guard token?.mccmnc == site.mccmnc else { return nil as LoginHint? }
                state.loginHints.remove(text)
                return token
            }
            guard let token, let end = token.expiresAt, clock.now() < end, let user = site.carrier.user(token.userID)
            else { throw refusal }
            return (site.subscriber(user), true)
        }
        guard hint.hasPrefix("tel:"), let user = site.subscriber(ofNumber: String(hint.dropFirst(4)))
        else { throw refusal }
        return (user, false)
    }
}

extension CarrierSite {
    /// The user whom a client knows by a subject.
    func user(ofSubject subject: String?, client: CarrierSimulator.Client) -> CarrierSimulator.User? {
        carrier.users.first { user in
            Subject.identifier(mccmnc: mccmnc, clientID: client.id, userID: user.id) == subject
        }
    }
}
