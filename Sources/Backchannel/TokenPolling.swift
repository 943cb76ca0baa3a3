import Crypto
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import Synchronization

/// How the tokens of a backchannel authentication are fetched from a provider (CIBA Core section 10), stored so that
/// all instances together keep to the provider's interval.
struct TokenPolling: Sendable, Hashable {
    /// Whether the provider notifies this server (CIBA Core section 5).
    let mode: BackchannelTokenDeliveryMode
    /// The provider's id of the request (`auth_req_id`), encrypted by the use case; nil before the provider has
    /// accepted the request, and after the sign-in has ended.
    var sealedRequest: [UInt8]?
    /// The seconds that the provider wants between two polls.
    var interval: Int64
    /// Before this time the provider is not polled.
    var nextAt: Timestamp
    /// Until this time a poll is under way, and no other one is sent; nil if there is none.
    var busyUntil: Timestamp?
    /// Whether the provider has said that the tokens are ready.
    var isNotified = false
}

/// When a provider is polled: never faster than its interval, one poll at a time, by all instances together (CIBA Core
/// sections 7.3 and 11).
///
/// Times are whole seconds, so that each wait is one second longer than demanded: the second that had begun does not
/// count.
extension TokenPolling {
    /// The usual wait of the mode `ping` before the notification, in seconds. Polls are only for one that got lost.
    static let waitForNotification: Int64 = 30
    /// The longest interval that failures alone lead to, in seconds.
    static let longestRetryInterval: Int64 = 60

    /// How a poll ended that has brought neither tokens nor a refusal.
    enum Ending {
        /// The user has not decided.
        case pending
        /// The provider wants fewer polls.
        case slowDown
        /// There is no usable response.
        case failed
    }

    /// A request that was accepted, or may be accepted any moment.
    init(_ mode: BackchannelTokenDeliveryMode, at now: Timestamp) {
        self.init(mode: mode, interval: BackchannelAuthenticationResponse.usualInterval, nextAt: now)
    }

    /// Whether the provider may be polled now.
    func isDue(at now: Timestamp) -> Bool {
        sealedRequest != nil && busyUntil.map { $0 <= now } ?? true && nextAt <= now
    }

    /// A poll begins that takes so many seconds at most.
    mutating func begin(at now: Timestamp, seconds: Int64) {
        busyUntil = now.advanced(bySeconds: seconds + 1)
    }

    /// The poll that began with `beginning` has ended. A notification that came meanwhile still leads to a poll at
    /// once.
    mutating func end(_ ending: Ending, begunAs beginning: TokenPolling, at now: Timestamp) {
        busyUntil = nil
        switch ending {
        case .pending: break
        case .slowDown:
            interval = min(
                boundedInterval + BackchannelTokenResponse.slowDownSeconds,
                BackchannelAuthenticationResponse.longestLifetime)
        case .failed: interval = max(boundedInterval, min(boundedInterval * 2, Self.longestRetryInterval))
        }
        nextAt = isNotified && !beginning.isNotified ? now : now.advanced(bySeconds: wait + 1)
    }

    /// The provider has accepted the request.
    mutating func accept(_ response: BackchannelAuthenticationResponse, underHandle handle: Secret, at now: Timestamp) {
        sealedRequest = try? Self.key(handle).seal(Array(response.requestID.exposed.utf8))
        interval = response.interval
        nextAt = isNotified ? now : now.advanced(bySeconds: wait + 1)
    }

    /// The provider's notification has come.
    mutating func notify(at now: Timestamp) {
        isNotified = true
        nextAt = now
    }

    /// The provider's id of the request; nil with another handle.
    func request(openedBy handle: Secret) -> Secret? {
        guard let sealedRequest, let bytes = Self.key(handle).open(sealedRequest) else { return nil }
        return Secret(String(decoding: bytes, as: UTF8.self))
    }

    private var wait: Int64 {
        mode == .ping && !isNotified ? max(boundedInterval, Self.waitForNotification) : boundedInterval
    }

    /// A stored interval may be any number.
    private var boundedInterval: Int64 {
        min(max(interval, 0), BackchannelAuthenticationResponse.longestLifetime)
    }

    /// Only the client has the handle, so that a stolen database reveals no request.
    private static func key(_ handle: Secret) -> SymmetricKey {
        SymmetricKey(derivedFrom: handle.exposed, for: "backchannel authentication request")
    }
}

/// Admits one poll a second for each backchannel authentication.
final class PollPace: Sendable {
    static let interval = Duration.seconds(1)

    private let uptime: Uptime
    private let polls: Mutex<BoundedCache<TokenHash, Duration>>

    /// - Parameter capacity: How many sign-ins' last polls are remembered.
    init(uptime: Uptime, capacity: Int = 65_536) {
        self.uptime = uptime
        polls = Mutex(BoundedCache(capacity: capacity))
    }

    /// Whether a poll is admitted now. A refused poll does not prolong the wait.
    func admits(_ handle: TokenHash) -> Bool {
        let now = uptime.elapsed()
        return polls.withLock { polls in
            if let last = polls[handle], now - last < Self.interval { return false }
            polls.put(now, for: handle)
            return true
        }
    }
}
