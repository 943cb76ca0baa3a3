import HTTPServer
import Primitives

/// A provider's refreshes (RFC 6749 section 6) with rotation (RFC 9700 section 4.14.2): a refresh token that is used
/// twice revokes every token of its sign-in.
extension TokenEndpoint {
    /// - Parameter keyThumbprint: Of the request's proof, if it has one.
    func refresh(
        _ request: Request, _ form: Parameters, _ site: CarrierSite, keyThumbprint: String?
    ) async throws -> Response {
        let client = try ClientAuthenticator(simulator: simulator, site: site).client(of: request, form: form)
        try form.requireUniqueNames()
        guard let presented = form["refresh_token"]
        else { throw OAuthError.invalidRequest("There is no refresh_token.") }
        let (accessToken, next) = (simulator.random.token(), simulator.random.token())
        let now = simulator.clock.now()
        let grant = try simulator.withState { state throws(OAuthError) in
            try state.refresh(
                presented, to: accessToken, next: site.carrier.rotatesRefreshTokens ? next : nil, clientID: client.id,
                keyThumbprint: keyThumbprint, certificate: site.certificate(toBind: request), site.carrier, now: now)
        }
        var members: JSONMembers = [
            "access_token": .string(accessToken), "token_type": keyThumbprint == nil ? "Bearer" : "DPoP",
            "expires_in": .integer(site.carrier.accessTokenLifetime),
            "scope": .string(grant.terms.scopes.joined(separator: " ")),
        ]
        if site.carrier.rotatesRefreshTokens { members["refresh_token"] = .string(next) }
        if site.carrier.hasIDTokens {
            let issuer = IDTokenIssuer(simulator: simulator, site: site, client: client)
            members["id_token"] = .string(
                try await issuer.issue(for: grant, accessToken: accessToken, isRefreshed: true, now: now))
        }
        return site.tokenResponse(members)
    }
}

extension SimulatorState {
    /// Uses a refresh token.
    /// - Parameter next: The refresh token that replaces it; nil if it stays valid.
    fileprivate mutating func refresh(
        _ presented: String, to accessToken: String, next: String?, clientID: String, keyThumbprint: String?,
        certificate: String?, _ carrier: CarrierSimulator.Carrier, now: Timestamp
    ) throws(OAuthError) -> Grant {
        guard let token = refreshTokens[presented], token.grant.mccmnc == carrier.mccmnc,
            token.grant.terms.clientID == clientID, !token.isRevoked
        else { throw .init("invalid_grant", "The refresh token is unknown or revoked.") }
        // RFC 9449 section 5, for confidential clients, too.
        guard token.keyThumbprint == nil || token.keyThumbprint == keyThumbprint
        else { throw .init("invalid_grant", "The refresh token is bound to another key.") }
        if let spentAt = token.spentAt, now >= spentAt.advanced(bySeconds: carrier.refreshTokenGrace) {
            revoke { $0 == token.family }
            throw .init("invalid_grant", "The refresh token was used before.")
        }
        if let next {
            refreshTokens.update(presented) { $0.spentAt = $0.spentAt ?? now }
            refreshTokens.put(
                RefreshToken(grant: token.grant, family: token.family, keyThumbprint: keyThumbprint), for: next)
        }
        accessTokens.put(
            AccessToken(
                grant: token.grant, expiresAt: now.advanced(bySeconds: carrier.accessTokenLifetime),
                family: token.family, keyThumbprint: keyThumbprint, certificate: certificate), for: accessToken)
        return token.grant
    }

    /// Revokes the tokens of some families.
    fileprivate mutating func revoke(_ isMember: (String) -> Bool) {
        refreshTokens.updateAll { if isMember($0.family) { $0.isRevoked = true } }
        accessTokens.updateAll { if let family = $0.family, isMember(family) { $0.isRevoked = true } }
    }
}

extension CarrierSimulator {
    /// Revokes every token of a user at a provider, as a user does who withdraws their consent.
    public func revokeGrants(of user: String, at provider: String) {
        withState { state in
            let families = Set(
                state.refreshTokens.all.filter { $0.grant.user.id == user && $0.grant.mccmnc == provider }
                    .map(\.family))
            state.revoke(families.contains)
        }
    }

    /// Expires the access tokens that a provider has issued so far; refresh tokens stay valid.
    public func expireAccessTokens(at provider: String) {
        withState { state in
            state.accessTokens.updateAll { token in
                guard token.grant.mccmnc == provider else { return }
                token.expiresAt = Timestamp(secondsSinceEpoch: 0)
            }
            state.operators.accessTokens.updateAll { token in
                guard token.grant.operatorName == provider else { return }
                token.expiresAt = Timestamp(secondsSinceEpoch: 0)
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
