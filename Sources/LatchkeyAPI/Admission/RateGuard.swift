import HTTPServer
import HTTPTypes
import Primitives
import SignIn
import StorageModel
import Synchronization

/// Limits requests of one address or API key, sign-ins of one address, changes of one account, and requests in
/// progress.
///
/// Loopback peers are exempt from limits by address, unless they are trusted proxies and forward the request: a client
/// there is a proxy or a program of the administrator's.
final class RateGuard: Sendable {
    /// The current limits. An object, so that a read takes one reference.
    private final class Rules: Sendable {
        let quotas: [RateLimit: RequestLimits.Quota]
        let proxies: TrustedProxies
        private let tables: [RateLimit: BucketTable]
        // Most requests are counted in these.
        let perAddress: BucketTable?
        let perAPIKey: BucketTable?

        /// Keeps the buckets of unchanged quotas: a reload must not reset them.
        init(_ limits: RequestLimits, after former: Rules? = nil) {
            quotas = limits.quotas
            proxies = limits.proxies
            tables = limits.quotas.reduce(into: [:]) { tables, entry in
                let (limit, quota) = entry
                guard let policy = limit.policy else { return }
                let kept = former?[limit]
                let groups = limit == .perAPIKey ? 16 : 256
                tables[limit] = kept?.quota == quota ? kept : BucketTable(quota, policy, groups: groups)
            }
            perAddress = tables[.perAddress]
            perAPIKey = tables[.perAPIKey]
        }

        subscript(limit: RateLimit) -> BucketTable? { tables[limit] }
    }

    private let rules: Mutex<Rules>
    private let requestsInProgress: Atomic<Int>
    private let inProgress = Atomic(0)
    private let shed = Atomic<UInt64>(0)
    private let late = Atomic<UInt64>(0)
    /// The seconds of ``uptime`` from which the log mentions refusals of overload again.
    private let nextMention = Atomic<Int64>(0)
    private static let secondsBetweenMentions: Int64 = 10
    /// How many requests each limit has refused, by the name of the limit.
    private let refusals = Mutex<[String: UInt64]>([:])
    private static let policies = RateLimit.all.compactMap(\.policy)
    private let uptime: Uptime

    init(_ limits: RequestLimits, uptime: Uptime) {
        rules = Mutex(Rules(limits))
        requestsInProgress = Atomic(limits.requestsInProgress ?? .max)
        self.uptime = uptime
    }

    func replace(_ limits: RequestLimits) {
        requestsInProgress.store(limits.requestsInProgress ?? .max, ordering: .relaxed)
        rules.withLock { $0 = Rules(limits, after: $0) }
    }

    private var current: Rules { rules.withLock { $0 } }

    var proxies: TrustedProxies { current.proxies }

    func allowance(_ limit: RateLimit) -> SharedAllowance? { current.quotas[limit].map(Self.allowance) }

    private static func allowance(_ quota: RequestLimits.Quota) -> SharedAllowance {
        SharedAllowance(count: quota.count, seconds: quota.seconds)
    }

    /// Counts a request in progress; false at the limit.
    /// - Parameter isSessionCheck: Session checks may go to twice the limit, so that requests that wait for providers
    ///   do not keep them out.
    func enter(isSessionCheck: @autoclosure () -> Bool) -> Bool {
        let count = inProgress.add(1, ordering: .relaxed).newValue
        let limit = requestsInProgress.load(ordering: .relaxed)
        guard count <= limit || (count - 1) / 2 < limit && isSessionCheck() else {
            leave()
            shed.wrappingAdd(1, ordering: .relaxed)
            return false
        }
        return true
    }

    /// Counts a request that was refused because its loop is overloaded.
    /// - Returns: How many there were, if the log is to mention it; not more than once in ten seconds.
    func countLate() -> UInt64? {
        let count = late.add(1, ordering: .relaxed).newValue
        let now = uptime.elapsed().components.seconds
        let next = nextMention.load(ordering: .relaxed)
        guard now >= next else { return nil }
        let (isFirst, _) = nextMention.compareExchange(
            expected: next, desired: now + Self.secondsBetweenMentions, ordering: .relaxed)
        return isFirst ? count : nil
    }

    func leave() { inProgress.subtract(1, ordering: .relaxed) }

    /// Counts a request of an address.
    /// - Returns: The notice for the client once less than half of the quota is left.
    /// - Throws: 429.
    func countAddress(of request: Request) throws(APIError) -> RateNotice? {
        let rules = current
        guard let table = rules.perAddress, let client = limitedAddress(of: request, rules) else { return nil }
        let remaining = try count(Self.hash(client.high, client.low), in: table)
        guard remaining < table.quota.count / 2 else { return nil }
        return RateNotice(policy: table.policy, quota: table.quota, remaining: remaining)
    }

    /// Counts a sign-in, registration or refresh of an address.
    /// - Throws: 429.
    func countSignIn(of request: Request) throws(APIError) {
        try count(request, .signInsPerAddress, current)
    }

    /// Counts the start of a sign-in by redirect.
    /// - Throws: 429.
    func countStart(of request: Request) throws(APIError) {
        let rules = current
        try count(request, .startsPerAddress, rules)
        try count(request, .startsPerSubnet, rules, by: \.subnet)
    }

    private func count(
        _ request: Request, _ limit: RateLimit, _ rules: Rules, by part: (IPAddress) -> IPAddress? = { $0 }
    ) throws(APIError) {
        guard let table = rules[limit], let client = limitedAddress(of: request, rules).flatMap(part) else { return }
        _ = try count(Self.hash(client.high, client.low), in: table)
    }

    /// Counts a request with an API key.
    /// - Throws: 429.
    func countKey(_ number: UInt64) throws(APIError) {
        guard let table = current.perAPIKey else { return }
        _ = try count(Self.hash(number, 0), in: table)
    }

    /// Counts a change of a user's account: in memory first, then in the store for all instances.
    /// - Throws: 429; 503 if the store fails.
    func countChange(of user: UserID, with sessions: Sessions) async throws {
        guard let table = current[.changesPerUser] else { return }
        _ = try count(Self.hash(UInt64(bitPattern: user.number), 0), in: table)
        let allowance = Self.allowance(table.quota)
        guard let seconds = try await sessions.countChange(of: user, within: allowance) else { return }
        throw refusal(table, retryAfter: Int(seconds))
    }

    /// - Returns: How many more may come at once.
    private func count(_ caller: UInt64, in table: BucketTable) throws(APIError) -> Int {
        switch table.take(caller, at: uptime.elapsed()) {
        case .admitted(let remaining): return remaining
        case .refused(let seconds): throw refusal(table, retryAfter: seconds)
        }
    }

    private func refusal(_ table: BucketTable, retryAfter seconds: Int) -> APIError {
        refusals.withLock { $0[table.policy, default: 0] += 1 }
        return .rateLimited(table.policy, table.quota, retryAfter: seconds)
    }

    var load: RequestLoad {
        var load = RequestLoad()
        load.inProgress = inProgress.load(ordering: .relaxed)
        load.shed = [
            (.concurrent, shed.load(ordering: .relaxed)), (.late, late.load(ordering: .relaxed)),
        ]
        load.rateLimited = refusals.withLock { refusals in Self.policies.map { ($0, refusals[$0] ?? 0) } }
        return load
    }

    private func limitedAddress(of request: Request, _ rules: Rules) -> IPAddress? {
        guard let client = rules.proxies.client(of: request) else { return nil }
        // What a proxy forwards is not of this machine, whatever address it names.
        if client.isLoopback, !rules.proxies.forwards(request) { return nil }
        return client.network
    }

    /// Seeded per process, so that clients cannot find colliding addresses.
    private static func hash(_ first: UInt64, _ second: UInt64) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(first)
        hasher.combine(second)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}

/// Tells a client about a limit that it approaches (draft-ietf-httpapi-ratelimit-headers-10).
struct RateNotice: Sendable {
    let policy: String
    let quota: RequestLimits.Quota
    let remaining: Int

    func mark(_ response: inout Response) {
        response.headers.append(contentsOf: Self.fields(policy, quota, "r=\(remaining)"))
    }

    static func fields(_ policy: String, _ quota: RequestLimits.Quota, _ remaining: String) -> HTTPFields {
        [
            .rateLimitPolicy: "\"\(policy)\";q=\(quota.count);w=\(quota.seconds)",
            .rateLimit: "\"\(policy)\";\(remaining)",
        ]
    }
}

struct NoticedError: Error {
    let error: any Error
    let notice: RateNotice
}

extension APIError {
    /// RFC 6585 section 4.
    static func rateLimited(
        _ policy: String, _ quota: RequestLimits.Quota, retryAfter seconds: Int
    ) -> APIError {
        var headers = RateNotice.fields(policy, quota, "r=0;t=\(seconds)")
        headers[.retryAfter] = String(seconds)
        return APIError(
            .tooManyRequests, "rate_limited", .serverError,
            "Too many requests. Wait \(seconds) s, and send fewer.", headers: headers)
    }

    package static let overloaded = APIError(
        .serviceUnavailable, "temporarily_unavailable", .serverError,
        "The server is overloaded. Try again in a moment.", headers: [.retryAfter: "1"])
}

/// The limits of requests.
public struct RequestLimits: Sendable {
    /// `count` at once, and as many again in each `seconds`.
    public struct Quota: Sendable, Hashable {
        public let count: Int
        /// The period.
        public let seconds: Int

        /// A quota of `count` in `seconds`.
        public init(count: Int, seconds: Int) {
            self.count = count
            self.seconds = seconds
        }
    }

    /// What is not in it has no limit.
    public var quotas: [RateLimit: Quota] = [:]
    public var requestsInProgress: Int?
    /// Proxies whose forwarding fields count.
    public var proxies = TrustedProxies()

    public init() {}
}

/// A limit that is a quota: a row of a table. Its setting with default and warning, and what counts requests, follow
/// from the row.
public struct RateLimit: Sendable, Hashable {
    /// The key in `rate_limits`.
    package let key: String
    /// The default; nil for no limit.
    package var usual: RequestLimits.Quota?
    /// The name in refusals and metrics; nil for what the store alone counts.
    var policy: String?
    package let meaning: String
    /// What an administrator risks who turns the limit off; nil if there is no warning.
    package var risk: String?
    /// A rate that the warning suggests.
    package var example = "1000/10s"

    package static let all = [
        perAddress, signInsPerAddress, startsPerAddress, startsPerSubnet, perAPIKey, changesPerUser, promptsPerUser,
        promptsPerCaller,
    ]

    /// Requests of one address. By default enough for the phones of a town behind one address of their carrier.
    public static let perAddress = RateLimit(
        key: "per_address", usual: .init(count: 5000, seconds: 10), policy: "address",
        meaning: "Requests from one address (IPv6: one /64 network); more are answered 429. Loopback addresses have no "
            + "limit.", risk: "one address may send any number of requests")

    /// Sign-ins, registrations, refreshes and pushed security events of one address.
    public static let signInsPerAddress = RateLimit(
        key: "sign_ins_per_address", usual: .init(count: 1000, seconds: 10), policy: "sign-ins",
        meaning: "Sign-ins, registrations, refreshes and pushed security events from one address.",
        risk: "one address may send any number of sign-ins")

    /// Sign-ins by redirect started from one address: each is stored until it ends, and needs no API key.
    public static let startsPerAddress = RateLimit(
        key: "starts_per_address", usual: .init(count: 200, seconds: 10), policy: "starts",
        meaning: "Sign-ins by redirect started from one address.",
        risk: "one address may send any number of starts of sign-ins")

    /// Sign-ins by redirect started from one subnet, a /24 of IPv4 or a /48 of IPv6.
    public static let startsPerSubnet = RateLimit(
        key: "starts_per_subnet", usual: .init(count: 1000, seconds: 10), policy: "subnet-starts",
        meaning: "Sign-ins by redirect started from one subnet (IPv4: a /24; IPv6: a /48).",
        risk: "one subnet may start any number of sign-ins")

    /// Requests with one API key.
    public static let perAPIKey = RateLimit(
        key: "per_api_key", policy: "api-key", meaning: "Requests with one API key.")

    /// Changes of one user's account.
    public static let changesPerUser = RateLimit(
        key: "changes_per_user", usual: .init(count: 60, seconds: 60), policy: "account",
        meaning: "Changes to one user's account: profile, identities, transactions. Ending sessions has no limit.")

    /// Requests to a provider that ask one user on their phone, of all callers and instances together.
    public static let promptsPerUser = RateLimit(
        key: "prompts_per_user", usual: .init(count: 10, seconds: 3600),
        meaning: "Prompts on one user's phone by backchannel authentication, those of cancelled requests included. One "
            + "caller may cause half of them.", risk: "one user may be prompted any number of times", example: "10/1h")

    /// Requests of one caller to providers other than carriers, for all users together, that led to no sign-in. A
    /// caller is an API key, or an address without one.
    public static let promptsPerCaller = RateLimit(
        key: "prompts_per_caller", usual: .init(count: 100, seconds: 3600),
        meaning: "Prompts at OpenID providers by backchannel authentication that one caller (an API key, or an address "
            + "without one) may cause for all users together. Those whose users signed in do not count.",
        risk: "one caller may have a user prompted any number of times, with other spellings of login_hint",
        example: "100/1h")
}

/// A token bucket for each of many callers, in a fixed space: the generic cell rate algorithm, which needs one number a
/// bucket.
///
/// A hash maps a caller to a group of eight slots. If all are taken, the slot with the least debt is replaced, so that
/// callers at the limit stay known however many others come. Nothing is allocated after init.
final class BucketTable: Sendable {
    enum Verdict: Sendable, Hashable {
        /// This many more may come at once.
        case admitted(remaining: Int)
        /// The next one may come after this many seconds.
        case refused(retryAfter: Int)
    }

    private struct Slot {
        var caller: UInt64 = 0
        /// When the bucket is full again, in nanoseconds of the uptime.
        var fullAt: UInt64 = 0
    }

    private final class Shard: Sendable {
        let slots: Mutex<[Slot]>

        init(_ count: Int) { slots = Mutex([Slot](repeating: Slot(), count: count)) }
    }

    private static let groupSize = 8
    private static let shardCount = 8

    let quota: RequestLimits.Quota
    /// The name of the limit in refusals and metrics.
    let policy: String
    private let shards: [Shard]
    private let groupsPerShard: UInt64
    /// The time between requests at the steady rate, and the time that the burst covers, in nanoseconds.
    private let interval: UInt64
    private let room: UInt64

    /// - Parameter groups: Groups of eight slots in each of eight shards: 1 KiB of memory each.
    init(_ quota: RequestLimits.Quota, _ policy: String, groups: Int) {
        self.quota = quota
        self.policy = policy
        let count = UInt64(max(1, quota.count))
        room = UInt64(max(1, quota.seconds)) * 1_000_000_000
        interval = max(1, room / count)
        groupsPerShard = UInt64(max(1, groups))
        shards = (0..<Self.shardCount).map { _ in Shard(max(1, groups) * Self.groupSize) }
    }

    /// Takes one token from a caller's bucket.
    /// - Parameter caller: A hash that clients cannot predict.
    func take(_ caller: UInt64, at now: Duration) -> Verdict {
        let now = Self.nanoseconds(now)
        let shard = shards[Int(caller % UInt64(Self.shardCount))]
        let start = Int((caller >> 8) % groupsPerShard) * Self.groupSize
        return shard.slots.withLock { slots in
            var slot = start
            for index in start..<start + Self.groupSize {
                if slots[index].caller == caller, slots[index].fullAt != 0 {
                    slot = index
                    break
                }
                if slots[index].fullAt < slots[slot].fullAt { slot = index }
            }
            if slots[slot].caller != caller { slots[slot] = Slot(caller: caller, fullAt: 0) }
            let fullAt = max(slots[slot].fullAt, now) + interval
            guard fullAt - now <= room else {
                return .refused(retryAfter: Int((fullAt - now - room + 999_999_999) / 1_000_000_000))
            }
            slots[slot].fullAt = fullAt
            return .admitted(remaining: Int((room - (fullAt - now)) / interval))
        }
    }

    private static func nanoseconds(_ duration: Duration) -> UInt64 {
        let (seconds, attoseconds) = duration.components
        // Starts at 1: 0 marks a slot that was never taken.
        return UInt64(clamping: seconds) * 1_000_000_000 + UInt64(clamping: attoseconds / 1_000_000_000) + 1
    }
}
