import HTTPServer
import HTTPTypes
import Primitives

/// The token endpoint of a carrier, an operator or a provider.
struct TokenEndpoint: Sendable {
    static let ciba = "urn:openid:params:grant-type:ciba"

    let simulator: CarrierSimulator

    func respond(to request: Request) async throws -> Response {
        let reading = request.method == .get ? Parameters.init(queryOf:) : Self.form
        return try await simulator.serveForm(.token, request, faults: "token-", reading: reading) { site, form in
            if let standIn = site.carrier.standIn { return try await respond(to: request, form, at: site, as: standIn) }
            guard request.method == .post else { throw OAuthError.invalidRequest("Token requests are POST.") }
            if site.has(.token503) {
                var response = Response.brokenPage(.serviceUnavailable)
                response.headers[.retryAfter] = "7"
                return response
            }
            if let refusal = refusal(at: site) { throw refusal }
            let verifier = DPoPVerifier(simulator: simulator, site: site, server: .authorization)
            // Before the code or the refresh token is used, so that it is good after a demand for a nonce.
            let thumbprint = try verifier.thumbprint(of: request, to: site.tokenEndpoint)
            guard thumbprint != nil || !site.requiresDPoP
            else { throw OAuthError("invalid_dpop_proof", "There is no DPoP proof.") }
            guard request.clientCertificate != nil || !site.carrier.bindsTokensToCertificates
            else { throw OAuthError.invalidRequest("There is no client certificate to bind the tokens to.") }
            let granted = try granted(request, form, site, keyThumbprint: thumbprint)
            let isBearer = site.has(.dpopBearer) && !granted.isRefresh
            var tokens = try await simulator.tokens(
                for: granted, at: site, keyThumbprint: isBearer ? nil : thumbprint,
                certificate: site.carrier.bindsTokensToCertificates ? request.clientCertificate?.fingerprint : nil)
            tokens["correlation_id"] = .string(form["correlation_id"])
            if granted.isRefresh, site.has(.refreshLate) { try await simulator.pause(site.carrier.delay) }
            return verifier.giving(nonceWith: site.tokenResponse(tokens), hasProof: thumbprint != nil)
        }
    }

    static func form(of request: Request) throws(OAuthError) -> Parameters {
        guard request.headers[.contentType]?.lowercased().hasPrefix("application/x-www-form-urlencoded") ?? false
        else { throw .invalidRequest("Content-Type must be application/x-www-form-urlencoded.") }
        return try Parameters(contentOf: request)
    }

    /// The faults that refuse every request.
    private func refusal(at site: CarrierSite) -> OAuthError? {
        if let code = site.carrier.tokenRefusal { return OAuthError(code, "The simulator is set to refuse.") }
        if site.has(.tokenInvalidClient) { return .invalidClient("The client is unknown.") }
        if site.has(.tokenInvalidGrant) { return OAuthError("invalid_grant", "The code is unknown.") }
        if site.has(.tokenTemporarilyUnavailable) {
            return OAuthError("temporarily_unavailable", "The carrier is too busy.")
        }
        return nil
    }

    /// What an authenticated client gets tokens for.
    private func granted(
        _ request: Request, _ form: Parameters, _ site: CarrierSite, keyThumbprint: String?
    ) throws(OAuthError) -> TokenGrant {
        try form.requireUniqueNames()
        let isOperator = site.carrier.operatorProfile != nil
        if isOperator, form["grant_type"] == Self.jwtBearer { return .init(grant: try grantOfAssertion(form, site)) }
        let client = try ClientAuthenticator(simulator: simulator, site: site, endpoint: site.tokenEndpoint)
            .client(of: request, form: form)
        switch form["grant_type"] {
        case "authorization_code":
            return try grantOfCode(form, client, site, keyThumbprint: keyThumbprint)
        case "refresh_token" where !site.carrier.isCarrier && !isOperator:
            return try grantOfRefresh(form, client, site, keyThumbprint: keyThumbprint)
        case Self.ciba where isOperator || site.hasBackchannelAuthentication:
            let grant = try simulator.poll(form, by: client, at: site)
            // Only operators and the mode push repeat it (CIBA Core section 10.3.1).
            let isRepeated = isOperator || site.has(.idTokenOtherRequestID)
            return TokenGrant(grant: grant, requestID: isRepeated ? form["auth_req_id"] : nil)
        case "client_credentials" where isOperator:
            return TokenGrant(grant: try grantOfClient(form, client, site))
        default: throw OAuthError("unsupported_grant_type", "The grant_type is not supported.")
        }
    }

    /// RFC 6749 section 4.1.3, RFC 7636 section 4.5. A wrong redirect URI or code verifier spends the code, because the
    /// sender is not the client that requested it.
    func grantOfCode(
        _ form: Parameters, _ client: CarrierSimulator.Client, _ site: CarrierSite, keyThumbprint: String?
    ) throws(OAuthError) -> TokenGrant {
        guard let code = form["code"] else { throw .invalidRequest("There is no code.") }
        let redirectURI = form["redirect_uri"]
        let isNative = simulator.withState { $0.grants[code]?.terms.isNative ?? false }
        guard isNative == (redirectURI == nil)
        else { throw .invalidRequest("There is no redirect_uri, or one that the code does not have.") }
        let verifier = form["code_verifier"]
        guard verifier == nil || site.carrier.codeChallenges != .refused
        else { throw .invalidRequest("The code_verifier is not known here.") }
        if site.carrier.checksCodeVerifier, site.carrier.codeChallenges == .required {
            guard let verifier else { throw .invalidRequest("There is no code_verifier.") }
            guard (43...128).contains(verifier.utf8.count), verifier.utf8.allSatisfy(PercentEncoding.isUnreserved)
            else { throw .invalidRequest("The code_verifier is not 43 to 128 unreserved characters.") }
        }
        let now = simulator.clock.now()
        let grant = try simulator.withState { state throws(OAuthError) in
            guard let grant = state.grants[code], grant.mccmnc == site.mccmnc, grant.terms.clientID == client.id
            else { throw .init("invalid_grant", "The code is unknown.") }
            if grant.isRedeemed, !site.has(.tokenReusableCode) {
                // RFC 6749 section 4.1.2.
                if let token = grant.accessToken { state.accessTokens.update(token) { $0.isRevoked = true } }
                throw .init("invalid_grant", "The code was used before.")
            }
            state.grants.update(code) { $0.isRedeemed = true }
            guard now < grant.expiresAt else { throw .init("invalid_grant", "The code has expired.") }
            return grant
        }
        guard grant.terms.redirectURI.hasSameBytes(as: redirectURI ?? "")
        else { throw .init("invalid_grant", "The redirect_uri is not that of the authorization request.") }
        let challenge = grant.terms.codeChallenge
        guard
            !site.carrier.checksCodeVerifier || challenge.isEmpty || verifier.map(Digest.codeChallenge) == challenge
        else { throw .init(site.carrier.wrongVerifierError, "The code_verifier is wrong.") }
        // RFC 9449 section 10.
        guard !site.supportsDPoP || grant.terms.keyThumbprint.map({ $0 == keyThumbprint }) ?? true
        else { throw .init("invalid_grant", "The code is bound to another key.") }
        return TokenGrant(grant: grant, code: code)
    }

    func grantOfRefresh(
        _ form: Parameters, _ client: CarrierSimulator.Client, _ site: CarrierSite, keyThumbprint: String?
    ) throws(OAuthError) -> TokenGrant {
        guard let presented = form["refresh_token"] else { throw .invalidRequest("There is no refresh_token.") }
        let now = simulator.clock.now()
        let token = try simulator.withState { state throws(OAuthError) in
            try state.refresh(
                presented, clientID: client.id, keyThumbprint: keyThumbprint, site.carrier, now: now)
        }
        return TokenGrant(grant: token.grant, family: token.family)
    }
}

struct TokenGrant: Sendable {
    let grant: Grant
    var code: String?
    /// The `auth_req_id` that the ID token repeats.
    var requestID: String?
    /// Of the refresh token that it used.
    var family: String?

    var isRefresh: Bool { family != nil }
}

extension CarrierSimulator {
    /// Issues the tokens of a grant, as members of a response.
    func tokens(
        for granted: TokenGrant, at site: CarrierSite, keyThumbprint: String? = nil, certificate: String? = nil
    ) async throws -> JSONMembers {
        var grant = granted.grant
        grant.terms.scopes.removeAll { site.carrier.operatorProfile?.withheldScopes.contains($0) ?? false }
        let (now, lifetime) = (clock.now(), site.carrier.accessTokenLifetime)
        let (accessToken, refreshToken) = (random.token(), random.token())
        let family = granted.family ?? refreshToken
        let hasRefreshToken =
            site.carrier.operatorProfile == nil && grant.terms.isOffline
            && (!granted.isRefresh || site.carrier.rotatesRefreshTokens)
        withState { state in
            state.accessTokens.put(
                .init(
                    grant: grant, expiresAt: now.advanced(bySeconds: lifetime), family: family,
                    keyThumbprint: keyThumbprint, certificate: certificate), for: accessToken)
            if let code = granted.code { state.grants.update(code) { $0.accessToken = accessToken } }
            guard hasRefreshToken, !site.carrier.isCarrier else { return }
            state.refreshTokens.put(
                .init(grant: grant, family: family, keyThumbprint: keyThumbprint), for: refreshToken)
        }
        var members: JSONMembers = [
            "access_token": .string(accessToken), "token_type": keyThumbprint == nil ? "Bearer" : "DPoP",
            "expires_in": site.carrier.writesExpiresInAsText ? .string("\(lifetime)") : .integer(lifetime),
            "scope": .string(grant.terms.scopes.joined(separator: " ")),
        ]
        if hasRefreshToken { members["refresh_token"] = .string(refreshToken) }
        if site.carrier.hasIDTokens, grant.terms.scopes.contains("openid"),
            let client = clients[grant.terms.clientID]
        {
            members["id_token"] = .string(
                try await IDTokenIssuer(simulator: self, site: site, client: client).issue(
                    for: grant, accessToken: accessToken, requestID: granted.requestID,
                    isRefreshed: granted.isRefresh, now: now))
        }
        return members
    }

    /// Revokes every token of a user at a provider, as a user does who withdraws their consent.
    public func revokeGrants(of user: String, at provider: String) {
        withState { state in
            let tokens = state.refreshTokens.entries.map(\.value).filter {
                $0.grant.user?.id == user && $0.grant.mccmnc == provider
            }
            state.revoke(Set(tokens.map(\.family)))
        }
    }

    /// `POST {issuer}/revoke`: ends all tokens of the sign-in that a token is of (RFC 7009).
    func respondToRevocation(_ request: Request) async throws -> Response {
        try await serveForm(.revocation, request, faults: "revocation-") { site, form in
            let client = try ClientAuthenticator(simulator: self, site: site, endpoint: site.tokenEndpoint)
                .client(of: request, form: form)
            withState { state in
                let token = form["token"] ?? ""
                guard
                    let family = state.refreshTokens[token].map({ ($0.family, $0.grant.terms.clientID) })
                        ?? state.accessTokens[token].map({ ($0.family, $0.grant.terms.clientID) }),
                    family.1 == client.id
                else { return }
                state.revoke([family.0])
            }
            return Response(status: .ok)
        }
    }

    /// Expires the access tokens that a provider has issued so far; refresh tokens stay valid.
    public func expireAccessTokens(at provider: String) {
        withState { state in
            state.accessTokens.updateAll { token in
                if token.grant.mccmnc == provider { token.expiresAt = Timestamp(secondsSinceEpoch: 0) }
            }
        }
    }

    /// Every access and refresh token that a provider has issued, so that tests can search for leaked ones.
    package func issuedTokens(at provider: String) -> [String] {
        withState { state in
            state.accessTokens.keys(where: { $0.grant.mccmnc == provider })
                + state.refreshTokens.keys(where: { $0.grant.mccmnc == provider })
        }
    }
}

extension SimulatorState {
    /// Uses a refresh token (RFC 6749 section 6). One that is used twice revokes every token of its sign-in (RFC 9700
    /// section 4.14.2).
    fileprivate mutating func refresh(
        _ presented: String, clientID: String, keyThumbprint: String?, _ carrier: CarrierSimulator.Carrier,
        now: Timestamp
    ) throws(OAuthError) -> RefreshToken {
        guard let token = refreshTokens[presented], token.grant.mccmnc == carrier.mccmnc,
            token.grant.terms.clientID == clientID, !token.isRevoked
        else { throw .init("invalid_grant", "The refresh token is unknown or revoked.") }
        // RFC 9449 section 5, for confidential clients, too.
        guard token.keyThumbprint == nil || token.keyThumbprint == keyThumbprint
        else { throw .init("invalid_grant", "The refresh token is bound to another key.") }
        if let spentAt = token.spentAt, now >= spentAt.advanced(bySeconds: carrier.refreshTokenGrace) {
            revoke([token.family])
            throw .init("invalid_grant", "The refresh token was used before.")
        }
        if carrier.rotatesRefreshTokens { refreshTokens.update(presented) { $0.spentAt = $0.spentAt ?? now } }
        return token
    }

    fileprivate mutating func revoke(_ families: Set<String>) {
        refreshTokens.updateAll { if families.contains($0.family) { $0.isRevoked = true } }
        accessTokens.updateAll { if families.contains($0.family) { $0.isRevoked = true } }
    }
}
