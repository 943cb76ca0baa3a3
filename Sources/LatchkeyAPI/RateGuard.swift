import HTTPServer
import HTTPTypes
import Primitives
import SignIn
import Storage
import Synchronization

/// Refuses what is too much: requests of one address or API key, sign-ins of one address, changes of one account, and
/// requests at a time.
///
/// This machine's own addresses are not limited as addresses: whoever asks from there is a proxy or a program of the
/// operator's, and a proxy asks for everybody.
final class RateGuard: Sendable {
    private let perAddress: BucketTable?
    private let signInsPerAddress: BucketTable?
    private let perAPIKey: BucketTable?
    private let changesPerUser: BucketTable?
    private let requestsUnderWay: Int
    private let underWay = Atomic(0)
    private let proxies: TrustedProxies
    private let uptime: Uptime

    init(_ limits: RequestLimits, uptime: Uptime) {
        perAddress = limits.perAddress.map { BucketTable($0) }
        signInsPerAddress = limits.signInsPerAddress.map { BucketTable($0) }
        perAPIKey = limits.perAPIKey.map { BucketTable($0, groups: 16) }
        changesPerUser = limits.changesPerUser.map { BucketTable($0) }
        requestsUnderWay = limits.requestsUnderWay ?? .max
        proxies = limits.proxies
        self.uptime = uptime
    }

    /// Counts a request in; false if there are too many, and then it was not counted.
    func enter() -> Bool {
        guard underWay.add(1, ordering: .relaxed).newValue <= requestsUnderWay else {
            leave()
            return false
        }
        return true
    }

    func leave() { underWay.subtract(1, ordering: .relaxed) }

    /// Counts a request of an address.
    /// - Returns: What the answer tells the client, once less than half is left.
    /// - Throws: 429.
    func countAddress(of request: Request) throws(APIError) -> RateNotice? {
        guard let perAddress, let client = limitedAddress(of: request) else { return nil }
        switch perAddress.take(Self.hash(client.high, client.low), at: uptime.elapsed()) {
        case .refused(let seconds): throw .rateLimited("address", perAddress.quota, retryAfter: seconds)
        case .admitted(let remaining):
            guard remaining < perAddress.quota.count / 2 else { return nil }
            return RateNotice(policy: "address", quota: perAddress.quota, remaining: remaining)
        }
    }

    /// Counts a sign-in, registration or refresh of an address.
    /// - Throws: 429.
    func countSignIn(of request: Request) throws(APIError) {
        guard let signInsPerAddress, let client = limitedAddress(of: request) else { return }
        try count(Self.hash(client.high, client.low), in: signInsPerAddress, "sign-ins")
    }

    /// Counts a request with an API key.
    /// - Throws: 429.
    func countKey(_ number: UInt64) throws(APIError) {
        guard let perAPIKey else { return }
        try count(Self.hash(number, 0), in: perAPIKey, "api-key")
    }

    /// Counts a change of a user's account.
    /// - Throws: 429.
    func countChange(of user: UserID) throws(APIError) {
        guard let changesPerUser else { return }
        try count(Self.hash(UInt64(bitPattern: user.number), 0), in: changesPerUser, "account")
    }

    var limitsChanges: Bool { changesPerUser != nil }

    private func count(_ caller: UInt64, in table: BucketTable, _ policy: String) throws(APIError) {
        guard case .refused(let seconds) = table.take(caller, at: uptime.elapsed()) else { return }
        throw .rateLimited(policy, table.quota, retryAfter: seconds)
    }

    private func limitedAddress(of request: Request) -> IPAddress? {
        guard let client = proxies.client(of: request), !client.isLoopback else { return nil }
        return client.network
    }

    /// By a secret of this process: nobody can find addresses that share a place.
    private static func hash(_ first: UInt64, _ second: UInt64) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(first)
        hasher.combine(second)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}

/// What a client is told of a limit it comes near to (draft-ietf-httpapi-ratelimit-headers-10).
struct RateNotice: Sendable {
    let policy: String
    let quota: RequestLimits.Quota
    let remaining: Int

    func mark(_ response: inout Response) {
        response.headers.append(contentsOf: Self.fields(policy, quota, "r=\(remaining)"))
    }

    static func fields(_ policy: String, _ quota: RequestLimits.Quota, _ standing: String) -> HTTPFields {
        [
            .rateLimitPolicy: "\"\(policy)\";q=\(quota.count);w=\(quota.seconds)",
            .rateLimit: "\"\(policy)\";\(standing)",
        ]
    }
}

extension APIError {
    /// RFC 6585 section 4.
    fileprivate static func rateLimited(
        _ policy: String, _ quota: RequestLimits.Quota, retryAfter seconds: Int
    ) -> APIError {
        var headers = RateNotice.fields(policy, quota, "r=0;t=\(seconds)")
        headers[.retryAfter] = String(seconds)
        return APIError(
            .tooManyRequests, "rate_limited", .serverError,
            "There were too many requests. Wait for \(seconds) s, and send fewer.", headers: headers)
    }

    static let overloaded = APIError(
        .serviceUnavailable, "temporarily_unavailable", .serverError,
        "The server has more to do than it can. Try again in a moment.", headers: [.retryAfter: "1"])
}

extension HTTPField.Name {
    fileprivate static let rateLimit = HTTPField.Name("RateLimit") ?? .from
    fileprivate static let rateLimitPolicy = HTTPField.Name("RateLimit-Policy") ?? .from
}
