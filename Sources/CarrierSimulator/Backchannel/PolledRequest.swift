import HTTPServer
import Primitives

/// A backchannel authentication request whose tokens the client polls for (CIBA Core sections 7.3, 10.1 and 11).
struct PolledRequest: Sendable {
    enum Granted: Sendable {
        case byProvider(PolledGrant)
        case byOperator(OperatorGrant)
    }

    static let usualLifetime: Int64 = 120
    static let usualInterval: Int64 = 5

    /// The carrier, operator or provider.
    let mccmnc: String
    let clientID: String
    /// What the tokens are for.
    let granted: Granted
    let startedAt: Timestamp
    /// The seconds for which it is valid.
    let lifetime: Int64
    /// The least seconds between two polls, at first.
    private(set) var interval: Int64
    /// Nil until the user has decided.
    var decision: CarrierSimulator.Decision?
    private var polledAt: Timestamp?
    private var isRedeemed = false

    init(
        _ granted: Granted, mccmnc: String, clientID: String, at now: Timestamp,
        lifetime: Int64 = usualLifetime, interval: Int64 = usualInterval
    ) {
        self.granted = granted
        self.mccmnc = mccmnc
        self.clientID = clientID
        self.interval = interval
        self.lifetime = lifetime
        startedAt = now
    }

    /// A poll of a client.
    /// - Parameter prefix: What the names of the faults begin with.
    /// - Throws: The errors of CIBA Core section 11.
    mutating func poll(
        by clientID: String, at site: CarrierSite, faults prefix: String, now: Timestamp
    ) throws(OAuthError) -> Granted {
        guard site.mccmnc == mccmnc, self.clientID == clientID, !isRedeemed
        else { throw OAuthError("invalid_grant", "The auth_req_id is unknown, used, or another client's.") }
        guard now < startedAt.advanced(bySeconds: lifetime), !site.has(prefix, "expired")
        else { throw OAuthError("expired_token", "The auth_req_id has expired.") }
        try keepPace(isSlowed: site.has(prefix, "slow-down"), now)
        if site.has(prefix, "denied") { throw OAuthError("access_denied", "The user denied the request.") }
        guard let decision, !site.has(prefix, "pending")
        else { throw OAuthError("authorization_pending", "The user has not decided yet.") }
        guard case .approved = decision else { throw decision.refusal }
        isRedeemed = true
        return granted
    }

    /// - Parameter isSlowed: Whether the first poll comes too early, whenever it comes.
    private mutating func keepPace(isSlowed: Bool, _ now: Timestamp) throws(OAuthError) {
        let isEarly = polledAt.map { now < $0.advanced(bySeconds: interval) } ?? isSlowed
        polledAt = now
        guard isEarly else { return }
        interval += 5
        throw OAuthError("slow_down", "Poll five seconds less often.")
    }
}

extension CarrierSimulator.Decision {
    /// The error of the next poll.
    fileprivate var refusal: OAuthError {
        switch self {
        case .approved: .init("server_error", "The request was approved.")
        case .failed(let code): .init(code, "The simulated user or provider chose this error.")
        }
    }
}

extension CarrierSimulator {
    /// A poll for the request of an `auth_req_id`.
    func poll(
        _ form: Parameters, by client: Client, at site: CarrierSite, faults prefix: String
    ) throws(OAuthError) -> PolledRequest.Granted {
        guard let id = form["auth_req_id"] else { throw .invalidRequest("There is no auth_req_id.") }
        let now = clock.now()
        return try withState { state throws(OAuthError) in
            guard var request = state.polledRequests[id]
            else { throw OAuthError("invalid_grant", "The auth_req_id is unknown, used, or another client's.") }
            defer { state.polledRequests.put(request, for: id) }
            return try request.poll(by: client.id, at: site, faults: prefix, now: now)
        }
    }
}

/// The polls of backchannel authentication requests at OpenID providers (CIBA Core section 10.1).
extension TokenEndpoint {
    static let ciba = "urn:openid:params:grant-type:ciba"

    /// What the user of the polled request has approved, and the client.
    func grantOfPoll(
        _ request: Request, _ form: Parameters, _ site: CarrierSite
    ) throws(OAuthError) -> (Grant, CarrierSimulator.Client) {
        let client = try ClientAuthenticator(simulator: simulator, site: site).client(of: request, form: form)
        try form.requireUniqueNames()
        guard
            case .byProvider(let granted) = try simulator.poll(
                form, by: client, at: site, faults: ProviderBackchannelEndpoint.faults),
            let user = site.carrier.user(granted.userID)
        else { throw OAuthError("invalid_grant", "The user is gone.") }
        let now = simulator.clock.now()
        return (Grant(mccmnc: site.mccmnc, terms: granted.terms, user: user, approvedAt: now), client)
    }
}
