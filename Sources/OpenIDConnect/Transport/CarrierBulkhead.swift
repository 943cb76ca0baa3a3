package import Primitives
import Synchronization

/// Isolates providers from each other: each may have only so many requests under way, and one whose endpoint did not
/// respond several times in a row is not asked for a while. A provider that hangs costs no other provider anything, and
/// its own users little.
///
/// A refused request was not sent. Only silence opens a ``CircuitBreaker``, not an error response: otherwise anyone who
/// can make a provider respond with errors could lock it out.
final class CarrierBulkhead: HTTPClient {
    private struct State {
        /// Requests under way, by provider; a provider without any has no entry.
        var inFlight: [String: Int] = [:]
        /// The breakers with failures to remember. Bounded, because clients name networks.
        var breakers = BoundedCache<OutboundRequest.Destination, CircuitBreaker>(capacity: 4096)
    }

    private let http: any HTTPClient
    private let clock: WallClock
    private let rules: CarrierBulkheadRules
    private let observer: RelyingPartyObserver
    private let state = Mutex(State())

    init(http: any HTTPClient, clock: WallClock, rules: CarrierBulkheadRules, observer: RelyingPartyObserver = .init())
    {
        self.http = http
        self.clock = clock
        self.rules = rules
        self.observer = observer
    }

    func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        guard let destination = request.destination else { return try await http.send(request) }
        let stopwatch = Stopwatch()
        var ticket: CircuitBreaker.Ticket?
        do throws(OutboundError) {
            ticket = try enter(destination)
            let response = try await http.send(request)
            leave(destination, ticket, .answered)
            ProtocolRecord.current?.note { $0.add(.init(destination, endedAt: clock.now(), .success(response))) }
            observer.request(destination, .answered(response.status), stopwatch.nanoseconds)
            return response
        } catch {
            leave(destination, ticket, CircuitBreaker.Outcome(error.code))
            ProtocolRecord.current?.note { $0.add(.init(destination, endedAt: clock.now(), .failure(error))) }
            observer.request(destination, .failed(error.code), stopwatch.nanoseconds)
            throw error
        }
    }

    /// Sends a request and reads its response. A failure of the transport becomes a protocol step's, and every
    /// error names the request.
    /// - Parameter codeMayBeSpent: Whether the authorization code may be used up after a failure of the transport; nil
    ///   if it may be where the request may have been sent.
    func send<Value>(
        _ request: OutboundRequest, _ what: StaticString, codeMayBeSpent: Bool?,
        read: (OutboundResponse) throws(OIDCError) -> Value
    ) async throws(OIDCError) -> Value {
        let response = try await mappingErrors(awaiting: await send(request)) { (error: OutboundError) in
            OIDCError(error, of: what, codeMayBeSpent: codeMayBeSpent ?? error.mayHaveBeenSent)
                .at(.init(to: request.url, transportError: error.fault))
        }
        return try mappingErrors(read(response)) { (error: OIDCError) in
            error.at(.init(to: request.url, status: response.status))
        }
    }

    var inFlight: Int { state.withLock { $0.inFlight.values.reduce(0, +) } }

    /// The destinations whose circuit breaker is not closed.
    var statuses: [(destination: OutboundRequest.Destination, status: ProviderStatus)] {
        state.withLock { state in
            state.breakers.entries.compactMap { destination, breaker in
                breaker.status == .closed ? nil : (destination, breaker.status)
            }
        }
    }

    private func enter(_ destination: OutboundRequest.Destination) throws(OutboundError) -> CircuitBreaker.Ticket {
        let now = clock.now()
        return try state.withLock { state throws(OutboundError) in
            let inFlight = state.inFlight[destination.carrier] ?? 0
            guard inFlight < rules.limit(for: destination.step) else {
                throw OutboundError(
                    .overloaded, mayHaveBeenSent: false, reason: "too many requests to the provider are under way",
                    retryAfter: 1)
            }
            var breaker = state.breakers[destination] ?? rules.newBreaker
            switch breaker.admit(now: now) {
            case .refuse(let seconds):
                throw OutboundError(
                    .suspended, mayHaveBeenSent: false, reason: "the circuit breaker of the provider is open",
                    retryAfter: seconds)
            case .pass(let ticket):
                if !breaker.isPristine { state.breakers.put(breaker, for: destination) }
                state.inFlight[destination.carrier] = inFlight + 1
                return ticket
            }
        }
    }

    /// - Parameter ticket: Nil for a request that was not let in.
    private func leave(
        _ destination: OutboundRequest.Destination, _ ticket: CircuitBreaker.Ticket?, _ outcome: CircuitBreaker.Outcome
    ) {
        guard let ticket else { return }
        let now = clock.now()
        state.withLock { state in
            let left = (state.inFlight[destination.carrier] ?? 1) - 1
            state.inFlight[destination.carrier] = left > 0 ? left : nil
            // A breaker that is not kept is one in its first period.
            if outcome != .failed, state.breakers[destination] == nil { return }
            var breaker = state.breakers[destination] ?? rules.newBreaker
            breaker.end(ticket, outcome, now: now)
            if breaker.isPristine {
                state.breakers.remove(destination)
            } else {
                state.breakers.put(breaker, for: destination)
            }
        }
    }
}

/// How many requests one provider may keep under way, and when its circuit breakers open.
public struct CarrierBulkheadRules: Sendable, Hashable {
    /// Requests to one provider under way at once, including those that wait for a connection.
    public var maximumInFlight = 256
    /// How many requests in a row without a response open the circuit breaker of an endpoint.
    public var failures = 5
    /// How long the circuit breaker stays open at first, in seconds. Each failed probe doubles it, up to a minute.
    public var pause: Int64 = 5

    public init() {}

    var newBreaker: CircuitBreaker { CircuitBreaker(failures: failures, pause: pause) }

    /// The limit that counts for a request of a step. Steps that finish a sign-in may use twice the limit, because its
    /// code is spent. Resources for signed-in users may use half of it, and leave the rest to sign-ins. So may requests
    /// that begin a sign-in, because anyone can send them.
    func limit(for step: OutboundRequest.Destination.Step) -> Int {
        switch step {
        case .resource, .pushedAuthorization, .backchannelAuthentication: max(1, maximumInFlight / 2)
        case .discovery, .token, .telcoFinder: max(1, maximumInFlight)
        case .keys, .userInfo, .numberVerification, .simSwap: max(1, maximumInFlight) * 2
        }
    }
}

/// Decides whether to ask a server that did not respond lately.
///
/// A value without clock and network. *Closed*: every request passes, and failures in a row are counted. *Open*: no
/// request passes for a pause. *Half open*: one probe passes, and its end decides: a response closes the breaker, a
/// failure opens it for twice as long as before.
package struct CircuitBreaker: Sendable {
    package enum Admission: Sendable, Hashable {
        /// The request may be sent. Its end is reported with the ticket.
        case pass(Ticket)
        /// After how many seconds another try makes sense, 1 at least.
        case refuse(retryAfter: Int64)
    }

    /// The period in which a request passed. The end of a request of an earlier period does not count.
    package struct Ticket: Sendable, Hashable { fileprivate let period: Int }

    package enum Outcome: Sendable, Hashable {
        case answered
        case failed
        /// The request did not reach the server, so its end says nothing about it.
        case unknown

        /// What a transport failure says about the server.
        init(_ code: OutboundError.Code) {
            switch code {
            case .timedOut, .unreachable, .tls, .closed, .malformed: self = .failed
            case .tooLarge: self = .answered
            case .addressRefused, .overloaded, .suspended, .shutDown: self = .unknown
            }
        }
    }

    private enum State {
        case closed(failures: Int)
        case open(since: Timestamp, pause: Int64)
        case halfOpen(since: Timestamp, pause: Int64)
    }

    private let failures: Int
    private let firstPause: Int64
    private let longestPause: Int64
    private let probeLimit: Int64
    private var state = State.closed(failures: 0)
    private var period = 0

    /// - Parameters:
    ///   - failures: In a row, after which the breaker opens.
    ///   - pause: The first one; this and the others in seconds.
    ///   - probeLimit: After which a probe that has not ended counts as lost.
    package init(failures: Int, pause: Int64, longestPause: Int64 = 60, probeLimit: Int64 = 120) {
        self.failures = max(1, failures)
        firstPause = max(1, pause)
        self.longestPause = max(firstPause, longestPause)
        self.probeLimit = probeLimit
    }

    /// Whether there is nothing to remember. A breaker that was open before remembers its period.
    package var isPristine: Bool {
        guard case .closed(failures: 0) = state, period == 0 else { return false }
        return true
    }

    var status: ProviderStatus {
        switch state {
        case .closed: .closed
        case .open: .open
        case .halfOpen: .halfOpen
        }
    }

    package mutating func admit(now: Timestamp) -> Admission {
        switch state {
        case .closed: return .pass(Ticket(period: period))
        case .open(let since, let pause): return admit(after: pause, since: since, pause: pause, now)
        case .halfOpen(let since, let pause): return admit(after: probeLimit, since: since, pause: pause, now)
        }
    }

    package mutating func end(_ ticket: Ticket, _ outcome: Outcome, now: Timestamp) {
        guard ticket.period == period else { return }
        switch (state, outcome) {
        case (.closed, .answered), (.halfOpen, .answered): change(to: .closed(failures: 0))
        case (.closed(let failures), .failed):
            let opens = failures + 1 >= self.failures
            change(to: opens ? .open(since: now, pause: firstPause) : .closed(failures: failures + 1))
        case (.halfOpen(_, let pause), .failed):
            change(to: .open(since: now, pause: min(longestPause, pause * 2)))
        case (.halfOpen(_, let pause), .unknown):
            // The next one is the probe.
            change(to: .open(since: now.advanced(bySeconds: -pause), pause: pause))
        case (.closed, .unknown), (.open, _): break
        }
    }

    /// Lets a probe pass once `wait` seconds are over, or when the clock was set back: it might not catch up for long.
    private mutating func admit(after wait: Int64, since: Timestamp, pause: Int64, _ now: Timestamp) -> Admission {
        let elapsed = now.seconds(since: since)
        guard elapsed < 0 || elapsed >= wait else {
            guard case .open = state else { return .refuse(retryAfter: 1) }
            return .refuse(retryAfter: wait - elapsed)
        }
        change(to: .halfOpen(since: now, pause: pause))
        return .pass(Ticket(period: period))
    }

    /// Every change begins a new period, but for the count of a breaker that stays closed.
    private mutating func change(to new: State) {
        switch (state, new) {
        case (.closed, .closed): break
        default: period += 1
        }
        state = new
    }
}

/// The state of the circuit breaker of one endpoint of a provider.
public enum ProviderStatus: Sendable, Hashable, CaseIterable {
    /// Requests are sent.
    case closed
    /// One request is under way, to find out whether the endpoint responds again.
    case halfOpen
    /// No request is sent.
    case open
}

extension OutboundRequest {
    /// A request for a JSON document that needs no authentication.
    init(
        documentAt url: EndpointURL, timeout: Duration, maximumBodyBytes: Int, destination: Destination? = nil,
        correlationID: CorrelationID? = nil
    ) {
        self.init(
            method: .get, url: url, headers: [("Accept", "application/json")], timeout: timeout,
            maximumBodyBytes: maximumBodyBytes, destination: destination, correlationID: correlationID)
    }
}
