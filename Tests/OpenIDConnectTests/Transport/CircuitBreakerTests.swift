import OpenIDConnect
import Primitives
import Testing

@Suite("The circuit breaker")
struct CircuitBreakerTests {
    /// A breaker and its clock, in seconds from the start.
    private final class Bench {
        var breaker = CircuitBreaker(rules: .init(failures: 3, pause: 5, longestPause: 15, probeLimit: 30))
        var seconds: Int64 = 0

        private var now: Timestamp { Timestamp(secondsSinceEpoch: 1_800_000_000 + seconds) }

        func admit() -> CircuitBreaker.Admission { breaker.admit(now: now) }

        /// The ticket of who is let through; nil if nobody is.
        func ticket() -> CircuitBreaker.Ticket? {
            guard case .pass(let ticket) = admit() else { return nil }
            return ticket
        }

        func end(_ ticket: CircuitBreaker.Ticket?, _ outcome: CircuitBreaker.Outcome) {
            if let ticket { breaker.end(ticket, outcome, now: now) }
        }

        /// Lets one through and ends it; false if it is refused.
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

    @Test("It opens after so many failures in a row, and says how long it stays so")
    func opens() {
        let bench = Bench()
        for _ in 0..<3 { #expect(bench.run(.failed)) }
        #expect(bench.admit() == .refuse(retryAfter: 5))
        bench.seconds = 4
        #expect(bench.admit() == .refuse(retryAfter: 1))
    }

    @Test("An answer between failures begins the count anew, and what says nothing does not")
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

    @Test("After the pause one probe passes and nobody else, until it has ended")
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

    @Test("A probe in vain doubles the pause, up to the longest; an answer brings back the first")
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

    @Test("A probe that says nothing leaves its place to the next at once")
    func vainProbe() {
        let bench = Bench()
        bench.open()
        bench.seconds = 5
        #expect(bench.run(.unknown))
        let next = bench.ticket()
        #expect(next != nil)
        #expect(bench.ticket() == nil)
    }

    @Test("A probe that never ends is lost after its limit")
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

    @Test("What was let through before a change says nothing after it")
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

    @Test("A clock that is set back leaves nobody locked out")
    func clockSetBack() {
        let bench = Bench()
        bench.open()
        bench.seconds = -10_000
        #expect(bench.run(.answered))
        #expect(bench.run(.answered))
    }

    @Test("Only one that never failed is as good as new")
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
