import HTTPServer
import Primitives

/// A provider's refreshes (RFC 6749 section 6), with rotation as RFC 9700 section 4.14.2 has it: a refresh token that comes
/// a second time ends everything that came of its sign-in.
extension TokenEndpoint {
    func refresh(
        _ request: Request, _ form: Parameters, _ site: CarrierSite
    ) throws(CarrierSimulator.Refusal) -> Response {
        let client = try ClientAuthenticator(simulator: simulator, site: site).client(of: request, form: form)
        guard !form.hasRepeatedName else { throw .invalidRequest("A parameter stands more than once.") }
        guard let shown = form["refresh_token"] else { throw .invalidRequest("There is no refresh_token.") }
        guard !site.has(.refreshInvalidGrant) else { throw .init("invalid_grant", "The grant is over.") }
        let (accessToken, next) = (simulator.random.token(), simulator.random.token())
        let now = simulator.clock.now()
        let taken = simulator.withState { state in
            Result { () throws(CarrierSimulator.Refusal) in
                try state.refresh(
                    shown, to: accessToken, next: site.carrier.rotatesRefreshTokens ? next : nil, clientID: client.id,
                    site.carrier, now: now)
            }
        }
        let grant = try taken.get()
        var answer: JSONMembers = [
            "access_token": .text(accessToken), "token_type": "Bearer",
            "expires_in": .number(site.carrier.accessTokenLifetime),
            "scope": .text(grant.terms.scopes.joined(separator: " ")),
        ]
        if site.carrier.rotatesRefreshTokens { answer["refresh_token"] = .text(next) }
        return TokenFaults(site: site).spoil(site.tampered(answer, at: .token))
    }
}

extension SimulatorState {
    /// Takes a refresh token.
    /// - Parameter next: What comes in its place; nil if it stays good.
    fileprivate mutating func refresh(
        _ shown: String, to accessToken: String, next: String?, clientID: String, _ carrier: CarrierSimulator.Carrier,
        now: Timestamp
    ) throws(CarrierSimulator.Refusal) -> Grant {
        guard var token = refreshTokens[shown], token.grant.mccmnc == carrier.mccmnc,
            token.grant.terms.clientID == clientID, !token.isRevoked
        else { throw .init("invalid_grant", "The refresh token is unknown or revoked.") }
        guard !token.isSpent else {
            revoke { $0 == token.family }
            throw .init("invalid_grant", "The refresh token was used before.")
        }
        if let next {
            token.isSpent = true
            refreshTokens.update(shown, token)
            refreshTokens.put(RefreshToken(grant: token.grant, family: token.family), for: next)
        }
        accessTokens.put(
            AccessToken(
                grant: token.grant, expiresAt: now.advanced(bySeconds: carrier.accessTokenLifetime),
                family: token.family), for: accessToken)
        return token.grant
    }

    /// Ends whatever came of certain sign-ins.
    fileprivate mutating func revoke(_ isOne: (String) -> Bool) {
        refreshTokens.updateAll { if isOne($0.family) { $0.isRevoked = true } }
        accessTokens.updateAll { if let family = $0.family, isOne(family) { $0.isRevoked = true } }
    }
}

extension CarrierSimulator {
    /// A user takes back what they agreed to at a provider: none of the tokens is good any more.
    public func revokeGrants(of user: String, at provider: String) {
        withState { state in
            let families = Set(
                state.refreshTokens.all.filter { $0.grant.user.id == user && $0.grant.mccmnc == provider }
                    .map(\.family))
            state.revoke(families.contains)
        }
    }

    /// Ends the access tokens that a provider has given so far; refresh tokens stay good.
    public func expireAccessTokens(at provider: String) {
        withState { state in
            state.accessTokens.updateAll { token in
                guard token.grant.mccmnc == provider else { return }
                token.expiresAt = Timestamp(secondsSinceEpoch: 0)
            }
        }
    }

    /// Every access and refresh token that a provider has given, so that tests can look for them where none should be.
    package func issuedTokens(at provider: String) -> [String] {
        withState { state in
            state.accessTokens.keys(where: { $0.grant.mccmnc == provider })
                + state.refreshTokens.keys(where: { $0.grant.mccmnc == provider })
        }
    }
}
