import Primitives

/// All that changes while the simulator runs.
struct SimulatorState: Sendable {
    /// Where the simulator is reached, without a slash at the end; nil until it is known.
    var baseURL: String?
    var carriers: [String: CarrierSimulator.Carrier]
    /// How often each carrier's keys were rotated.
    var keyGenerations: [String: Int] = [:]
    /// Grants by authorization code, the redeemed ones too: a second use must be recognised.
    var grants = BoundedCache<String, Grant>(capacity: 10_000, age: .insertion)
    /// Grants by access token, with the end of the token's life.
    var accessTokens = BoundedCache<String, AccessToken>(capacity: 10_000, age: .insertion)
    /// Grants by refresh token, the spent ones too: a second use must be recognised.
    var refreshTokens = BoundedCache<String, RefreshToken>(capacity: 10_000, age: .insertion)
    /// What `login_hint_token`s stand for.
    var loginHints = BoundedCache<String, LoginHint>(capacity: 1000, age: .insertion)
    /// Sign-ins on devices without a SIM, by what the waiting device knows them by.
    var phoneCodes = BoundedCache<String, PhoneCode>(capacity: 1000, age: .insertion)
    /// The `jti`s of client assertions that were good, with their client: none is good twice.
    var assertionIDs = BoundedCache<String, Void>(capacity: 10_000, age: .insertion)
    /// Server-initiated requests by their `auth_req_id`.
    var serverInitiated = BoundedCache<String, BackchannelAuthenticationRequest>(capacity: 1000, age: .insertion)
    /// The `sid` of each provider's latest ID token.
    var latestSessionIDs: [String: String] = [:]
    var log = CarrierSimulator.RequestLog()

    struct AccessToken: Sendable {
        let grant: Grant
        var expiresAt: Timestamp
        var isRevoked = false
        /// That of the refresh token beside it; nil if none is taken.
        var family: String?
    }

    /// One of those that came one after the other from a single sign-in.
    struct RefreshToken: Sendable {
        let grant: Grant
        let family: String
        var isSpent = false
        var isRevoked = false
    }

    struct LoginHint: Sendable {
        let mccmnc: String
        let userID: String
    }

    /// Takes the grant of a code, once.
    /// - Parameter takesUsedCodes: Takes it as often as it comes.
    /// - Throws: `invalid_grant` for a code that is unknown, another client's or carrier's, used, or expired. A second
    ///   use also ends the access token of the first (RFC 6749 section 4.1.2).
    mutating func redeem(
        code: String, clientID: String, mccmnc: String, now: Timestamp, takesUsedCodes: Bool
    ) throws(CarrierSimulator.Refusal) -> Grant {
        guard var grant = grants[code], grant.mccmnc == mccmnc, grant.terms.clientID == clientID
        else { throw .init("invalid_grant", "The code is unknown.") }
        if grant.isRedeemed, !takesUsedCodes {
            if let token = grant.accessToken { revoke(token) }
            throw .init("invalid_grant", "The code was used before.")
        }
        grant.isRedeemed = true
        grants.update(code, grant)
        guard now < grant.expiresAt else { throw .init("invalid_grant", "The code has expired.") }
        return grant
    }

    /// Keeps an access token and ties it to the code that brought it.
    mutating func keep(
        accessToken: String, of grant: Grant, code: String, lifetime: Int64, family: String?, now: Timestamp
    ) {
        accessTokens.put(
            AccessToken(grant: grant, expiresAt: now.advanced(bySeconds: lifetime), family: family), for: accessToken)
        guard var grant = grants[code] else { return }
        grant.accessToken = accessToken
        grants.update(code, grant)
    }

    private mutating func revoke(_ accessToken: String) {
        guard var token = accessTokens[accessToken] else { return }
        token.isRevoked = true
        accessTokens.update(accessToken, token)
    }
}

extension SimulatorState {
    /// A carrier with its address. Before the address is known, URLs begin with nothing.
    func site(_ mccmnc: String) -> CarrierSite? {
        carriers[mccmnc].map {
            CarrierSite(base: baseURL ?? "", carrier: $0, keyGeneration: keyGenerations[mccmnc] ?? 0)
        }
    }
}
