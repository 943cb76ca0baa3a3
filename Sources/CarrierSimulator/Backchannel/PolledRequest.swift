import HTTPServer
import Primitives

/// A backchannel authentication request whose tokens the client fetches from the token endpoint (CIBA Core sections
/// 7.3, 10.1 and 11).
struct PolledRequest<Granted: Sendable>: Sendable {
    typealias Refusal = CarrierSimulator.Refusal

    /// The carrier, operator or provider.
    let mccmnc: String
    let clientID: String
    /// What the tokens are for.
    let granted: Granted
    /// When the request was made.
    let startedAt: Timestamp
    /// The seconds for which it is valid.
    let lifetime: Int64
    /// The least seconds between two polls, at first.
    private(set) var interval: Int64
    /// Nil until the user has decided.
    private(set) var decision: CarrierSimulator.Decision?
    /// How many polls still find it pending after the decision.
    private var pendingPolls = 0
    private var polledAt: Timestamp?
    private var isRedeemed = false

    /// How many seconds ``slow_down`` adds to the interval.
    private static var slowDown: Int64 { 5 }

    init(
        _ granted: Granted, mccmnc: String, clientID: String, at now: Timestamp,
        lifetime: Int64 = PolledRequestTimes.lifetime, interval: Int64 = PolledRequestTimes.interval
    ) {
        self.granted = granted
        self.mccmnc = mccmnc
        self.clientID = clientID
        self.interval = interval
        self.lifetime = lifetime
        startedAt = now
    }

    /// The user decides.
    mutating func decide(_ decision: CarrierSimulator.Decision, pendingPolls: Int = 0) {
        self.decision = decision
        self.pendingPolls = pendingPolls
    }

    /// A poll of a client.
    /// - Parameter prefix: What the names of the faults begin with.
    /// - Throws: The errors of CIBA Core section 11.
    mutating func poll(
        by clientID: String, at site: CarrierSite, faults prefix: String, now: Timestamp
    ) throws(Refusal) -> Granted {
        guard site.mccmnc == mccmnc, self.clientID == clientID, !isRedeemed
        else { throw Refusal("invalid_grant", "The auth_req_id is unknown, used, or another client's.") }
        guard now < startedAt.advanced(bySeconds: lifetime), !site.has(prefix, "expired")
        else { throw Refusal("expired_token", "The auth_req_id has expired.") }
        try keepPace(isSlowed: site.has(prefix, "slow-down"), now)
        if site.has(prefix, "denied") { throw Refusal("access_denied", "The user denied the request.") }
        guard let decision, pendingPolls == 0, !site.has(prefix, "pending") else {
            pendingPolls = max(0, pendingPolls - 1)
            throw Refusal("authorization_pending", "The user has not decided yet.")
        }
        guard case .approved = decision else { throw decision.refusal }
        isRedeemed = true
        return granted
    }

    /// - Parameter isSlowed: Whether the first poll comes too early, whenever it comes.
    private mutating func keepPace(isSlowed: Bool, _ now: Timestamp) throws(Refusal) {
        let isEarly = polledAt.map { now < $0.advanced(bySeconds: interval) } ?? isSlowed
        polledAt = now
        guard isEarly else { return }
        interval += Self.slowDown
        throw Refusal("slow_down", "Poll five seconds less often.")
    }
}

/// The usual times of a request, in seconds.
enum PolledRequestTimes {
    static let lifetime: Int64 = 120
    static let interval: Int64 = 5
}

extension CarrierSimulator.Decision {
    /// The error of the next poll.
    fileprivate var refusal: CarrierSimulator.Refusal {
        switch self {
        case .approved: .init("server_error", "The request was approved.")
        case .failed(let code): .init(code, "The simulated user or provider chose this error.")
        }
    }
}

extension BoundedCache where Key == String {
    /// A poll for the request of an `auth_req_id`.
    mutating func poll<Granted>(
        _ id: String, by clientID: String, at site: CarrierSite, faults prefix: String, now: Timestamp
    ) throws(CarrierSimulator.Refusal) -> Granted where Value == PolledRequest<Granted> {
        guard var request = self[id]
        else { throw .init("invalid_grant", "The auth_req_id is unknown, used, or another client's.") }
        defer { put(request, for: id) }
        return try request.poll(by: clientID, at: site, faults: prefix, now: now)
    }
}

extension Parameters {
    /// The `auth_req_id` of a poll.
    func requestID() throws(CarrierSimulator.Refusal) -> String {
        guard let id = self["auth_req_id"] else { throw .invalidRequest("There is no auth_req_id.") }
        return id
    }
}

/// The polls of backchannel authentication requests at OpenID providers (CIBA Core section 10.1).
extension TokenEndpoint {
    static let ciba = "urn:openid:params:grant-type:ciba"

    /// What the user of the polled request has approved, and the client.
    func grantOfPoll(
        _ request: Request, _ form: Parameters, _ site: CarrierSite
    ) throws(Refusal) -> (Grant, CarrierSimulator.Client) {
        let client = try ClientAuthenticator(simulator: simulator, site: site).client(of: request, form: form)
        try form.requireUniqueNames()
        let (id, now) = (try form.requestID(), simulator.clock.now())
        let granted = try simulator.withState { state throws(Refusal) in
            try state.polledRequests.poll(
                id, by: client.id, at: site, faults: ProviderBackchannelEndpoint.faults, now: now)
        }
        guard let user = site.carrier.user(granted.userID) else { throw Refusal("invalid_grant", "The user is gone.") }
        return (Grant(mccmnc: site.mccmnc, terms: granted.terms, user: user, approvedAt: now), client)
    }
}
