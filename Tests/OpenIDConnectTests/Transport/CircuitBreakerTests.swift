import OpenIDConnect
import Primitives
import Testing

@Suite("The circuit breaker")
struct CircuitBreakerTests {
    /// A breaker and its clock, in seconds from the start.
    private final class Bench {
        var breaker = CircuitBreaker(failures: 3, pause: 5, longestPause: 15, probeLimit: 30)
        var seconds: Int64 = 0

        private var now: Timestamp { Timestamp(secondsSinceEpoch: 1_800_000_000 + seconds) }

        func admit() -> CircuitBreaker.Admission { breaker.admit(now: now) }

        /// The ticket of an admitted request; nil if it is refused.
        func ticket() -> CircuitBreaker.Ticket? {
            guard case .pass(let ticket) = admit() else { return nil }
            return ticket
        }

        func end(_ ticket: CircuitBreaker.Ticket?, _ outcome: CircuitBreaker.Outcome) {
            if let ticket { breaker.end(ticket, outcome, now: now) }
        }

        /// Admits a request and ends it; false if it is refused.
        @discardableResult
        func run(_ outcome: CircuitBreaker.Outcome) -> Bool {
            guard let ticket = ticket() else { return false }
            end(ticket, outcome)
            return true
        }

        func open() {
            for _ in 0..<3 { run(.failed) }
        }
    }

    @Test("It opens after so many failures in a row, and reports how long")
    func opens() {
        let bench = Bench()
        for _ in 0..<3 { #expect(bench.run(.failed)) }
        #expect(bench.admit() == .refuse(retryAfter: 5))
        bench.seconds = 4
        #expect(bench.admit() == .refuse(retryAfter: 1))
    }

    @Test("A response between failures resets the count; a request that was not sent does not")
    func count() {
        let bench = Bench()
        for _ in 0..<10 {
            bench.run(.failed)
            bench.run(.failed)
            #expect(bench.run(.answered))
        }
        bench.run(.failed)
        bench.run(.unknown)
        bench.run(.failed)
        bench.run(.unknown)
        #expect(bench.run(.failed))
        #expect(!bench.run(.answered))
    }

    @Test("After the pause one probe passes, and no other request until it ends")
    func probe() {
        let bench = Bench()
        bench.open()
        bench.seconds = 5
        let probe = bench.ticket()
        #expect(probe != nil)
        for _ in 0..<3 { #expect(bench.admit() == .refuse(retryAfter: 1)) }
        bench.seconds = 9
        #expect(bench.ticket() == nil)
        bench.end(probe, .answered)
        for _ in 0..<3 { #expect(bench.run(.answered)) }
    }

    @Test("A failed probe doubles the pause, up to the longest; a response resets it")
    func pauses() {
        let bench = Bench()
        bench.open()
        for pause in [5, 10, 15, 15] as [Int64] {
            #expect(bench.admit() == .refuse(retryAfter: pause))
            bench.seconds += pause - 1
            #expect(bench.ticket() == nil)
            bench.seconds += 1
            #expect(bench.run(.failed))
        }
        bench.seconds += 15
        #expect(bench.run(.answered))
        bench.open()
        #expect(bench.admit() == .refuse(retryAfter: 5))
    }

    @Test("After a probe that was not sent, the next request is the probe")
    func vainProbe() {
        let bench = Bench()
        bench.open()
        bench.seconds = 5
        #expect(bench.run(.unknown))
        let next = bench.ticket()
        #expect(next != nil)
        #expect(bench.ticket() == nil)
    }

    @Test("A probe that never ends counts as lost after its limit")
    func lostProbe() {
        let bench = Bench()
        bench.open()
        bench.seconds = 5
        let lost = bench.ticket()
        bench.seconds = 34
        #expect(bench.ticket() == nil)
        bench.seconds = 35
        let probe = bench.ticket()
        #expect(probe != nil)
        bench.end(lost, .answered)
        #expect(bench.ticket() == nil)
        bench.end(probe, .answered)
        #expect(bench.run(.answered))
    }

    @Test("The end of a request of an earlier period does not count")
    func lateEnds() {
        let bench = Bench()
        let early = (0..<8).map { _ in bench.ticket() }
        bench.open()
        bench.end(early[0], .answered)
        #expect(bench.ticket() == nil)
        bench.seconds = 5
        #expect(bench.run(.answered))
        for ticket in early { bench.end(ticket, .failed) }
        #expect(bench.run(.answered))
    }

    @Test("A clock that is set back does not keep the breaker open")
    func clockSetBack() {
        let bench = Bench()
        bench.open()
        bench.seconds = -10_000
        #expect(bench.run(.answered))
        #expect(bench.run(.answered))
    }

    @Test("Only a breaker that never failed is pristine")
    func pristine() {
        let bench = Bench()
        #expect(bench.breaker.isPristine)
        bench.run(.failed)
        #expect(!bench.breaker.isPristine)
        bench.run(.answered)
        #expect(bench.breaker.isPristine)
        bench.open()
        bench.seconds = 5
        bench.run(.answered)
        #expect(!bench.breaker.isPristine)
    }
}
