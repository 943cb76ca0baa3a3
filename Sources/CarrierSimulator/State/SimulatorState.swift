import Primitives

/// The mutable state of the simulator.
struct SimulatorState: Sendable {
    /// The simulator's own URL, without a slash at the end; nil until it is known.
    var baseURL: String?
    /// The URL of the listener for `mtls_endpoint_aliases`; nil if there is none.
    var aliasBaseURL: String?
    var carriers: [String: CarrierSimulator.Carrier]
    /// How often each carrier's keys were rotated.
    var keyGenerations: [String: Int] = [:]
    /// Grants by authorization code. Redeemed ones stay, so that a second use is recognised.
    var grants = BoundedCache<String, Grant>(capacity: 10_000, age: .insertion)
    /// Grants by access token.
    var accessTokens = BoundedCache<String, AccessToken<Grant>>(capacity: 10_000, age: .insertion)
    /// Grants by refresh token. Spent ones stay, so that a second use is recognised.
    var refreshTokens = BoundedCache<String, RefreshToken>(capacity: 10_000, age: .insertion)
    /// Users by `login_hint_token`.
    var loginHints = BoundedCache<String, LoginHint>(capacity: 1000, age: .insertion)
    /// Sign-ins on devices without a SIM, by the handle in the waiting page's URL.
    var phoneCodes = BoundedCache<String, PhoneCode>(capacity: 1000, age: .insertion)
    /// The `jti`s of used client assertions, with their client and carrier.
    var assertionIDs = BoundedCache<String, Void>(capacity: 10_000, age: .insertion)
    /// The nonces that DPoP proofs may have, each with the carrier and the server that gave it. Used ones are removed.
    var dpopNonces = BoundedCache<String, String>(capacity: 10_000, age: .insertion)
    /// Server-initiated requests of carriers by `auth_req_id`.
    var serverInitiatedRequests = BoundedCache<String, ServerInitiatedRequest>(capacity: 1000, age: .insertion)
    /// Backchannel authentication requests of providers and operators by `auth_req_id`.
    var polledRequests = BoundedCache<String, PolledRequest>(capacity: 1000, age: .insertion)
    /// Where clients are notified, by provider and client.
    var notificationURLs: [String: NotificationURL] = [:]
    /// Pushed authorization requests by `request_uri`.
    var pushedRequests = BoundedCache<String, PushedRequest>(capacity: 1000, age: .insertion)
    /// What operators have issued and keep.
    var operators = OperatorState()
    /// The `sid` of each provider's latest ID token.
    var latestSessionIDs: [String: String] = [:]
    /// The ID token of the latest sign-in at each provider that is not a carrier.
    var latestIDTokens: [String: String] = [:]
    var log = CarrierSimulator.RequestLog()

    /// A refresh token. All refresh tokens of one sign-in are a family.
    struct RefreshToken: Sendable {
        let grant: Grant
        let family: String
        /// The thumbprint of the key that it is bound to; nil for none.
        var keyThumbprint: String?
        var spentAt: Timestamp?
        var isRevoked = false
    }

    struct LoginHint: Sendable {
        let mccmnc: String
        let userID: String
    }

    /// Redeems a code once.
    /// - Parameter acceptsUsedCodes: Whether a code is accepted any number of times.
    /// - Throws: `invalid_grant` for a code that is unknown, another client's or carrier's, used, or expired. A second
    ///   use also revokes the access token of the first (RFC 6749 section 4.1.2).
    mutating func redeem(
        code: String, clientID: String, mccmnc: String, now: Timestamp, acceptsUsedCodes: Bool
    ) throws(OAuthError) -> Grant {
        guard let grant = grants[code], grant.mccmnc == mccmnc, grant.terms.clientID == clientID
        else { throw .init("invalid_grant", "The code is unknown.") }
        if grant.isRedeemed, !acceptsUsedCodes {
            if let token = grant.accessToken {
                accessTokens.update(token) { $0.isRevoked = true }
                operators.accessTokens.update(token) { $0.isRevoked = true }
            }
            throw .init("invalid_grant", "The code was used before.")
        }
        grants.update(code) { $0.isRedeemed = true }
        guard now < grant.expiresAt else { throw .init("invalid_grant", "The code has expired.") }
        return grant
    }

    /// Notes the `jti` of an assertion or a proof. False if its owner used it before.
    mutating func isFirstUse(of id: String, by owner: String) -> Bool {
        let key = "\(owner) \(id)"
        guard assertionIDs[key] == nil else { return false }
        assertionIDs.put((), for: key)
        return true
    }
}

/// An access token, and what it is good for.
struct AccessToken<Granted: Sendable>: Sendable {
    let grant: Granted
    var expiresAt: Timestamp
    var isRevoked = false
    /// The family of the refresh token issued with it; nil if there is none.
    var family: String?
    /// The thumbprint of the key that it is bound to; nil for a Bearer token.
    var keyThumbprint: String?
    /// The fingerprint of the certificate that it is bound to (RFC 8705 section 3); nil for none.
    var certificate: String?
    /// Whether Number Verification was called with it.
    var isSpent = false
}

extension SimulatorState {
    /// A carrier with its addresses, which are relative until the base URL is known.
    func site(_ mccmnc: String) -> CarrierSite? {
        carriers[mccmnc].map {
            CarrierSite(
                base: baseURL ?? "", aliasBase: aliasBaseURL, carrier: $0,
                keyGeneration: keyGenerations[mccmnc] ?? 0)
        }
    }
}

// A change keeps the age of a value, because the simulator's tables count it from insertion.
extension BoundedCache where Key == String {
    /// The values, oldest first.
    var all: [Value] { entries.map(\.value) }

    func keys(where isOne: (Value) -> Bool) -> [String] { entries.filter { isOne($0.value) }.map(\.key) }

    /// Changes the value of an existing key.
    mutating func update(_ key: String, _ change: (inout Value) -> Void) {
        guard var value = self[key] else { return }
        change(&value)
        put(value, for: key)
    }

    /// Changes all values.
    mutating func updateAll(_ change: (inout Value) -> Void) {
        for (key, var value) in entries {
            change(&value)
            put(value, for: key)
        }
    }
}
