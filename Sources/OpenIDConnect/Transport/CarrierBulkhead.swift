import Primitives
import Synchronization

/// Stands between the relying party and the network, so that a carrier which hangs costs no other carrier anything, and
/// its own users little: each carrier may have only so many requests under way, and one whose endpoint did not answer
/// several times in a row is not asked for a while.
///
/// What is refused here was not sent. Nothing is refused that answers, be it an error: only silence opens a
/// ``CircuitBreaker``, so that nobody can lock a carrier out by making it answer badly.
final class CarrierBulkhead: HTTPClient {
    private struct State {
        /// Requests under way, by carrier; who has none is not in it.
        var underWay: [String: Int] = [:]
        /// Those with failures to remember. Bounded, because networks are named by whoever asks.
        var breakers = BoundedTable<OutboundRequest.Destination, CircuitBreaker>(capacity: 4096)
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
        do throws(OutboundError) {
            let response = try await send(request, in: destination)
            observer.request(destination, .answered(response.status), stopwatch.nanoseconds)
            return response
        } catch {
            observer.request(destination, .failed(error.code), stopwatch.nanoseconds)
            throw error
        }
    }

    private func send(
        _ request: OutboundRequest, in destination: OutboundRequest.Destination
    ) async throws(OutboundError) -> OutboundResponse {
        let ticket = try enter(destination)
        do throws(OutboundError) {
            let response = try await http.send(request)
            leave(destination, ticket, .answered)
            return response
        } catch {
            leave(destination, ticket, CircuitBreaker.Outcome(error.code))
            throw error
        }
    }

    /// How many requests are under way.
    var underWay: Int { state.withLock { $0.underWay.values.reduce(0, +) } }

    /// The destinations that are not as they should be: left alone for a while, or being tried.
    var statuses: [(destination: OutboundRequest.Destination, status: CarrierStatus)] {
        state.withLock { state in
            state.breakers.entries.compactMap { destination, breaker in
                breaker.status == .asked ? nil : (destination, breaker.status)
            }
        }
    }

    private func enter(_ destination: OutboundRequest.Destination) throws(OutboundError) -> CircuitBreaker.Ticket {
        let now = clock.now()
        return try state.withLock { state throws(OutboundError) in
            let underWay = state.underWay[destination.carrier] ?? 0
            guard underWay < rules.limit(for: destination.step) else {
                throw OutboundError(
                    .overloaded, mayHaveBeenSent: false, reason: "too many requests to the carrier are under way",
                    retryAfter: 1)
            }
            var breaker = state.breakers[destination] ?? CircuitBreaker(rules: rules.breaker)
            switch breaker.admit(now: now) {
            case .refuse(let seconds):
                throw OutboundError(
                    .suspended, mayHaveBeenSent: false, reason: "the carrier has not answered lately",
                    retryAfter: seconds)
            case .pass(let ticket):
                if !breaker.isPristine { state.breakers.put(breaker, for: destination) }
                state.underWay[destination.carrier] = underWay + 1
                return ticket
            }
        }
    }

    private func leave(
        _ destination: OutboundRequest.Destination, _ ticket: CircuitBreaker.Ticket, _ outcome: CircuitBreaker.Outcome
    ) {
        let now = clock.now()
        state.withLock { state in
            let left = (state.underWay[destination.carrier] ?? 1) - 1
            state.underWay[destination.carrier] = left > 0 ? left : nil
            // A breaker that is not kept is one in its first period.
            if outcome != .failed, state.breakers[destination] == nil { return }
            var breaker = state.breakers[destination] ?? CircuitBreaker(rules: rules.breaker)
            breaker.end(ticket, outcome, now: now)
            if breaker.isPristine {
                state.breakers.remove(destination)
            } else {
                state.breakers.put(breaker, for: destination)
            }
        }
    }
}

/// How much a carrier may keep this server busy.
public struct CarrierBulkheadRules: Sendable, Hashable {
    /// Requests to one carrier under way at once, those that wait for a connection among them.
    public var maximumUnderWay = 256
    /// Times without an answer in a row after which an endpoint of a carrier is not asked for a while.
    public var failures = 5
    /// The first such while, in seconds; each failed try after it doubles it, up to a minute.
    public var pause: Int64 = 5

    public init() {}

    var breaker: CircuitBreaker.Rules { CircuitBreaker.Rules(failures: failures, pause: pause) }

    /// Steps that end a sign-in already begun may use as much again: its code is spent. What is fetched for users who are
    /// signed in leaves half of it to those who want to be.
    func limit(for step: OutboundRequest.Destination.Step) -> Int {
        switch step {
        case .resource: max(1, maximumUnderWay / 2)
        case .discovery, .token: max(1, maximumUnderWay)
        case .keys, .userInfo: max(1, maximumUnderWay) * 2
        }
    }
}

extension CircuitBreaker.Outcome {
    /// What a transport failure says of whoever was asked.
    init(_ code: OutboundError.Code) {
        switch code {
        case .timedOut, .unreachable, .tls, .malformed: self = .failed
        case .tooLarge: self = .answered
        case .addressRefused, .overloaded, .suspended, .shutDown: self = .unknown
        }
    }
}
