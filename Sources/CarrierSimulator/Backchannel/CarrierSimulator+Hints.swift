import Primitives

/// The users of backchannel authentication requests at OpenID providers (CIBA Core section 7.1).
extension CarrierSimulator {
    private static let hints = ["login_hint", "login_hint_token", "id_token_hint"]

    /// A `login_hint_token` about a user: opaque, and known to this provider only.
    /// - Returns: Nil if there is no such provider or user.
    public func makeLoginHintToken(at name: String, user: String? = nil) -> String? {
        guard let site = withState({ $0.site(name) }), let user = site.carrier.user(user) else { return nil }
        return makeLoginHint(site, userID: user.id)
    }

    /// Exactly one hint names a user of the provider.
    func user(
        hintedBy parameters: Parameters, at site: CarrierSite, client: Client
    ) throws(Refusal) -> User {
        let given = Self.hints.filter(parameters.has)
        guard given.count == 1, let name = given.first, let hint = parameters[name]
        else { throw .invalidRequest("There must be exactly one hint.") }
        let user: User?
        switch name {
        case "login_hint": user = site.carrier.user(named: hint)
        case "login_hint_token":
            let known = withState { $0.loginHints[hint] }
            guard let known, known.mccmnc == site.mccmnc
            else { throw Refusal("expired_login_hint_token", "The login_hint_token is unknown or has expired.") }
            user = site.carrier.user(known.userID)
        default:
            // The provider knows the latest token that it issued.
            guard withState({ $0.latestIDTokens[site.mccmnc] }) == hint,
                let token = ReceivedJWS(hint, maximumBytes: ReceivedJWS.maximumRequestObjectBytes)
            else { throw .invalidRequest("The id_token_hint is not an ID token of this provider.") }
            user = site.carrier.users.first { user in
                token["sub"] == Subject.identifier(mccmnc: site.mccmnc, clientID: client.id, userID: user.id)
            }
        }
        guard let user else { throw Refusal("unknown_user_id", "The hint names no user.") }
        return user
    }
}

extension CarrierSimulator.Carrier {
    /// The user of an e-mail address or a phone number.
    fileprivate func user(named hint: String) -> CarrierSimulator.User? {
        let number = hint.hasPrefix("tel:") ? String(hint.dropFirst(4)) : hint
        return users.first { $0.email.lowercased() == hint.lowercased() || $0.phoneNumber == number }
    }
}
