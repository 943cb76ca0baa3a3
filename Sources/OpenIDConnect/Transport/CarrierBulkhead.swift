import Primitives
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

    init(http: any HTTPClient, clock: WallClock, rules: CarrierBulkheadRules, observer: RelyingPartyObserver = .none) {
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
            ProtocolRecord.current?.note(.init(destination, endedAt: clock.now(), .success(response)))
            observer.request(destination, .answered(response.status), stopwatch.nanoseconds)
            return response
        } catch {
            leave(destination, ticket, CircuitBreaker.Outcome(error.code))
            ProtocolRecord.current?.note(.init(destination, endedAt: clock.now(), .failure(error)))
            observer.request(destination, .failed(error.code), stopwatch.nanoseconds)
            throw error
        }
    }

    /// How many requests are under way.
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

    /// The defaults.
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

extension CircuitBreaker.Outcome {
    /// What a transport failure says about the server.
    init(_ code: OutboundError.Code) {
        switch code {
        case .timedOut, .unreachable, .tls, .closed, .malformed: self = .failed
        case .tooLarge: self = .answered
        case .addressRefused, .overloaded, .suspended, .shutDown: self = .unknown
        }
    }
}
