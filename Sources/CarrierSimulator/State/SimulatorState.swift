import Primitives

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
    var accessTokens = BoundedCache<String, AccessToken>(capacity: 10_000, age: .insertion)
    /// Grants by refresh token. Spent ones stay, so that a second use is recognised.
    var refreshTokens = BoundedCache<String, RefreshToken>(capacity: 10_000, age: .insertion)
    /// Users by `login_hint_token`, and by TS.43 operator token.
    var loginHints = BoundedCache<String, LoginHint>(capacity: 1000, age: .insertion)
    /// Sign-ins on devices without a SIM, by the number that the device shows.
    var phoneCodes = BoundedCache<String, PhoneCode>(capacity: 1000, age: .insertion)
    /// The `jti`s of used client assertions, with their client and carrier.
    var assertionIDs = BoundedCache<String, Void>(capacity: 10_000, age: .insertion)
    /// The nonces that DPoP proofs may have, each with the carrier and the server that gave it. Used ones are removed.
    var dpopNonces = BoundedCache<String, String>(capacity: 10_000, age: .insertion)
    /// Backchannel authentication requests by `auth_req_id`.
    var backchannelRequests = BoundedCache<String, BackchannelRequest>(capacity: 1000, age: .insertion)
    /// Where clients are notified, by provider and client.
    var notificationURLs: [String: EndpointURL] = [:]
    /// Pushed authorization requests by `request_uri`.
    var pushedRequests = BoundedCache<String, PushedRequest>(capacity: 1000, age: .insertion)
    /// The device of requests that name none.
    var device = CarrierSimulator.Device.cellular()
    /// The `sid` of each provider's latest ID token.
    var latestSessionIDs: [String: String] = [:]
    /// The ID token of the latest sign-in at each provider that is not a carrier.
    var latestIDTokens: [String: String] = [:]
    var aggregator = AggregatorState()
    var log = CarrierSimulator.RequestLog()

    /// Notes the `jti` of an assertion or a proof. False if its owner used it before.
    mutating func isFirstUse(of id: String, by owner: String) -> Bool {
        let key = "\(owner) \(id)"
        guard assertionIDs[key] == nil else { return false }
        assertionIDs.put((), for: key)
        return true
    }
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
    func keys(where isOne: (Value) -> Bool) -> [String] { entries.filter { isOne($0.value) }.map(\.key) }

    /// Changes the value of an existing key.
    mutating func update(_ key: String, _ change: (inout Value) -> Void) {
        guard var value = self[key] else { return }
        change(&value)
        put(value, for: key)
    }

    mutating func updateAll(_ change: (inout Value) -> Void) {
        for (key, var value) in entries {
            change(&value)
            put(value, for: key)
        }
    }
}
