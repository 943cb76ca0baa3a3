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
        return try approve(try checkedRequest(parameters, site: site), site: site, userID: user)
    }

    /// A valid authorization request, of a caller whom no redirect tells an error.
    func checkedRequest(_ parameters: Parameters, site: CarrierSite) throws(OAuthError) -> AuthorizationRequest {
        do throws(AuthorizationError) {
            return try AuthorizationRequest.parse(parameters, at: site, of: self)
        } catch {
            throw error.refusal
        }
    }

    /// Issues the code of a request that a user approved.
    func approve(_ request: AuthorizationRequest, site: CarrierSite, userID: String?) throws(OAuthError) -> String {
        guard let user = site.carrier.user(userID ?? request.hintedUserID)
        else { throw OAuthError("user_not_found", "The carrier has no such user.") }
        let grant = Grant(mccmnc: site.mccmnc, terms: request.terms, user: user, approvedAt: clock.now())
        let code = random.token()
        withState { $0.grants.put(grant, for: code) }
        return code
    }

    /// A `login_hint_token`, opaque to the relying party and valid at this carrier's authorization endpoint.
    func makeLoginHint(_ site: CarrierSite, userID: String) -> String? {
        guard let user = site.carrier.user(userID) else { return nil }
        let token = random.token()
        withState { $0.loginHints.put(.init(mccmnc: site.mccmnc, userID: user.id), for: token) }
        return token
    }
}
