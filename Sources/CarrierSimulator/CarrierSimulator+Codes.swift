import Primitives

extension CarrierSimulator {
    /// Approves an authorization request without a browser, after the checks of the authorization endpoint.
    /// - Parameters:
    ///   - codeChallenge: SHA-256 of the code verifier, in base64url (RFC 7636 section 4.2).
    ///   - scope: Space-separated, with `openid`.
    ///   - acr: The `acr_values`: a1, a3, or several.
    ///   - user: The id of one of the carrier's users; nil for the first.
    /// - Returns: An authorization code, valid once and for five minutes.
    /// - Throws: ``OAuthError`` with the error of the authorization endpoint.
    public func issueCode(
        mccmnc: String, clientID: String, redirectURI: String, codeChallenge: String, nonce: String? = nil,
        scope: String = "openid", acr: String? = nil, context: String? = nil, user: String? = nil
    ) throws(OAuthError) -> String {
        let parameters = Parameters([
            ("client_id", clientID), ("redirect_uri", redirectURI), ("response_type", "code"), ("scope", scope),
            ("code_challenge", codeChallenge), ("code_challenge_method", "S256"), ("nonce", nonce),
            ("acr_values", acr), ("context", context),
        ])
        guard let site = withState({ $0.site(mccmnc) })
        else { throw .invalidRequest("The mccmnc is not one of this simulator's carriers.") }
        return try approve(
            try AuthorizationRequest.parse(parameters, at: site, of: self), site: site, userID: user)
    }

    /// Issues the code of a request that a user approved.
    func approve(_ request: AuthorizationRequest, site: CarrierSite, userID: String?) throws(OAuthError) -> String {
        guard let user = site.carrier.user(userID ?? request.hintedUserID)
        else { throw OAuthError("user_not_found", "The carrier has no such user.") }
        return makeCode(request.terms, of: user, at: site)
    }

    func makeCode(_ terms: GrantTerms, of user: User, at site: CarrierSite) -> String {
        let grant = Grant(mccmnc: site.mccmnc, terms: terms, user: user, approvedAt: clock.now())
        let code = random.token()
        withState { $0.grants.put(grant, for: code) }
        return code
    }
}
