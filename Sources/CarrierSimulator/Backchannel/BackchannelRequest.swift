import Primitives

/// A backchannel authentication request. A carrier pushes its tokens to the client; from providers and operators the
/// client polls them (CIBA Core sections 7.3, 10.1 and 11).
struct BackchannelRequest: Sendable {
    /// Where the client is notified (CIBA Core section 10.2).
    struct Notification: Sendable {
        let url: EndpointURL
        let token: String
        /// What a carrier's notification repeats.
        var state: String?
    }

    static let usualLifetime: Int64 = 120
    static let usualInterval: Int64 = 5

    /// What the tokens are for.
    var grant: Grant
    /// Nil in the mode poll.
    var notification: Notification?
    let startedAt: Timestamp
    /// The seconds for which it is valid.
    var lifetime = usualLifetime
    /// The least seconds between two polls, at first.
    var interval = usualInterval
    /// Nil until the user has decided.
    var decision: CarrierSimulator.Decision?
    var polledAt: Timestamp?
    var isRedeemed = false

    /// A poll of a client.
    /// - Throws: The errors of CIBA Core section 11.
    fileprivate mutating func poll(by clientID: String, at site: CarrierSite, now: Timestamp) throws(OAuthError)
        -> Grant
    {
        // What the names of the faults begin with.
        let prefix = site.carrier.operatorProfile == nil ? "ciba-" : "operator-ciba-"
        guard site.mccmnc == grant.mccmnc, grant.terms.clientID == clientID, !isRedeemed else { throw .unknownRequest }
        guard now < startedAt.advanced(bySeconds: lifetime), !site.has(prefix, "expired")
        else { throw OAuthError("expired_token", "The auth_req_id has expired.") }
        // With the fault the first poll comes too early, whenever it comes.
        let isEarly = polledAt.map { now < $0.advanced(bySeconds: interval) } ?? site.has(prefix, "slow-down")
        polledAt = now
        if isEarly {
            interval += 5
            throw OAuthError("slow_down", "Poll five seconds less often.")
        }
        if site.has(prefix, "denied") { throw OAuthError("access_denied", "The user denied the request.") }
        guard let decision, !site.has(prefix, "pending")
        else { throw OAuthError("authorization_pending", "The user has not decided yet.") }
        if case .failed(let code) = decision {
            throw OAuthError(code, "The simulated user or provider chose this error.")
        }
        isRedeemed = true
        return grant
    }
}

extension OAuthError {
    fileprivate static let unknownRequest = Self(
        "invalid_grant", "The auth_req_id is unknown, used, or another client's.")
}

extension CarrierSimulator {
    /// A poll for the request of an `auth_req_id`.
    func poll(_ form: Parameters, by client: Client, at site: CarrierSite) throws(OAuthError) -> Grant {
        guard let id = form["auth_req_id"] else { throw .invalidRequest("There is no auth_req_id.") }
        let now = clock.now()
        return try withState { state throws(OAuthError) in
            guard var request = state.backchannelRequests[id] else { throw .unknownRequest }
            defer { state.backchannelRequests.put(request, for: id) }
            return try request.poll(by: client.id, at: site, now: now)
        }
    }
}
