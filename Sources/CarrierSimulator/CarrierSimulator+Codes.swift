import Primitives

extension CarrierSimulator {
    /// Approves a sign-in without a browser, after the checks of the authorization endpoint.
    /// - Parameters:
    ///   - codeChallenge: SHA-256 of the code verifier, in base64url.
    ///   - scope: space-separated, with `openid` among them.
    ///   - acr: what stands in `acr_values`: a1 or a3, or several.
    ///   - user: the id of one of the carrier's users; nil for the first.
    /// - Returns: an authorization code, good once and for five minutes.
    /// - Throws: ``Refusal`` in the words of the authorization endpoint.
    public func issueCode(
        mccmnc: String, clientID: String, redirectURI: String, codeChallenge: String, nonce: String? = nil,
        scope: String = "openid", acr: String? = nil, context: String? = nil, user: String? = nil
    ) throws(Refusal) -> String {
        var parameters = Parameters()
        parameters.add("client_id", clientID)
        parameters.add("redirect_uri", redirectURI)
        parameters.add("response_type", "code")
        parameters.add("scope", scope)
        parameters.add("code_challenge", codeChallenge)
        parameters.add("code_challenge_method", "S256")
        parameters.add("nonce", nonce)
        parameters.add("acr_values", acr)
        parameters.add("context", context)
        guard let site = withState({ $0.site(mccmnc) })
        else { throw .invalidRequest("The mccmnc is not one of this simulator's carriers.") }
        let request: AuthorizationRequest
        do throws(AuthorizationFailure) {
            request = try authorizationRequest(parameters, site: site)
        } catch {
            throw error.refusal
        }
        return try approve(request, site: site, userID: user)
    }

    func authorizationRequest(
        _ parameters: Parameters, site: CarrierSite
    ) throws(AuthorizationFailure) -> AuthorizationRequest {
        try AuthorizationRequest.parse(
            parameters, clients: clients, hasIDTokens: site.carrier.hasIDTokens
        ) { token in
            withState { $0.loginHints[token] }.flatMap { $0.mccmnc == site.mccmnc ? $0.userID : nil }
        }
    }

    /// Issues the code of a request that a user agreed to.
    func approve(_ request: AuthorizationRequest, site: CarrierSite, userID: String?) throws(Refusal) -> String {
        guard let user = site.carrier.user(userID ?? request.hintedUserID)
        else { throw Refusal("user_not_found", "The carrier has no such user.") }
        let grant = Grant(mccmnc: site.mccmnc, terms: request.terms, user: user, approvedAt: clock.now())
        let code = random.token()
        withState { $0.grants.put(grant, for: code) }
        return code
    }

    /// A `login_hint_token`: opaque to the relying party, and good for an authorization request at the carrier.
    func makeLoginHint(_ site: CarrierSite, userID: String) -> String? {
        guard let user = site.carrier.user(userID) else { return nil }
        let token = random.token()
        withState { $0.loginHints.put(.init(mccmnc: site.mccmnc, userID: user.id), for: token) }
        return token
    }
}
