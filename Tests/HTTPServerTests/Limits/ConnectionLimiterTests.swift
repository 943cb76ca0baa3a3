import EventLoops
import HTTPServer
import Primitives
import Synchronization
import Testing

@Suite("The limit of connections")
struct ConnectionLimiterTests {
    private let now = MonotonicTime(nanoseconds: 1_000_000_000_000)
    private let cut = EvictionRecorder()

    private func limiter(total: Int, perAddress: Int? = nil, without ranges: [String] = []) -> ConnectionLimiter {
        var limits = ServerLimits()
        limits.connections = total
        limits.connectionsPerAddress = perAddress
        limits.addressesWithoutShare = ranges.compactMap { IPAddressRange($0) }
        return ConnectionLimiter(limits: limits)
    }

    /// Adds a connection; returns its slot, and its refusal if there is one.
    private func add(
        _ address: String, to limiter: ConnectionLimiter, after delay: Duration = .zero
    ) -> (slot: Slot, refusal: RequestError?) {
        let time = now.advanced(by: delay)
        let slot = cut.slot(0, of: address, at: time)
        guard case .restrict(let error) = limiter.add(slot, of: IPAddress(address), at: time) else {
            return (slot, nil)
        }
        return (slot, error)
    }

    @Test("Connections beyond the limit are refused, and far beyond it dropped")
    func total() {
        let limiter = limiter(total: 2)
        let first = add("10.0.0.1", to: limiter)
        #expect(first.refusal == nil)
        #expect(add("10.0.0.1", to: limiter).refusal == nil)
        var refused: [Slot] = []
        for _ in 0..<ConnectionLimiter.reservedSlots {
            let (slot, refusal) = add("10.0.0.1", to: limiter)
            #expect(refusal == .tooManyConnections)
            refused.append(slot)
        }
        guard case .drop = limiter.add(cut.slot(1, at: now), of: IPAddress("10.0.0.1"), at: now) else {
            Issue.record("counted")
            return
        }
        #expect(limiter.total == 130)
        for slot in refused { limiter.remove(slot, isRestricted: true) }
        limiter.remove(first.slot, isRestricted: false)
        #expect(limiter.total == 1)
        #expect(add("10.0.0.1", to: limiter).refusal == nil)
        #expect(cut.numbers.isEmpty)
    }

    @Test("One address has a share of the connections")
    func perAddress() {
        let limiter = limiter(total: 10, perAddress: 2)
        let slots = [1, 1, 2, 2].map { add("10.0.0.\($0)", to: limiter) }
        #expect(slots.allSatisfy { $0.refusal == nil })
        #expect(add("10.0.0.1", to: limiter).refusal == .tooManyConnectionsOfAddress)
        limiter.remove(slots[0].slot, isRestricted: false)
        #expect(add("10.0.0.1", to: limiter).refusal == nil)
        #expect(add("10.0.0.2", to: limiter).refusal == .tooManyConnectionsOfAddress)
        #expect(add("2001:db8::1", to: limiter).refusal == nil)
        #expect(add("2001:db8::2", to: limiter).refusal == nil)
        #expect(add("2001:db8::3", to: limiter).refusal == .tooManyConnectionsOfAddress)
        #expect(add("2001:db8:0:1::3", to: limiter).refusal == nil)
    }

    @Test("Some addresses have no share, and all others have", arguments: [[], ["127.0.0.0/8", "::1", "10.0.1.0/24"]])
    func without(ranges: [String]) {
        let limiter = limiter(total: 20, perAddress: 1, without: ranges)
        for address in ["127.0.0.1", "::1", "10.0.1.7"] {
            #expect(add(address, to: limiter).refusal == nil)
            #expect(add(address, to: limiter).refusal == (ranges.isEmpty ? .tooManyConnectionsOfAddress : nil))
        }
        for address in ["10.0.2.7", "2001:db8::1"] {
            #expect(add(address, to: limiter).refusal == nil)
            #expect(add(address, to: limiter).refusal == .tooManyConnectionsOfAddress)
        }
    }

    @Test("A connection of the heaviest address gives way, and slots for probes are shared in the same way")
    func heaviest() {
        let limiter = limiter(total: 64)
        for _ in 0..<(64 + ConnectionLimiter.reservedSlots) { _ = add("10.0.0.1", to: limiter) }
        for number in 2..<34 { #expect(add("10.0.0.\(number)", to: limiter).refusal == nil) }
        #expect(cut.numbers.count == 32)
        // Those who are refused for their share use the other slots.
        let shared = self.limiter(total: 64, perAddress: 1)
        for _ in 0...ConnectionLimiter.reservedSlots { _ = add("10.0.0.1", to: shared) }
        _ = add("10.0.0.2", to: shared)
        #expect(add("10.0.0.2", to: shared).refusal == .tooManyConnectionsOfAddress)
        #expect(cut.numbers.count == 33)
    }

    @Test("It reports when the last connection is closed")
    func none() {
        let limiter = limiter(total: 10)
        let calls = Mutex(0)
        limiter.whenNone { calls.withLock { $0 += 1 } }
        #expect(calls.withLock { $0 } == 1)
        let (first, second) = (add("10.0.0.1", to: limiter).slot, add("10.0.0.2", to: limiter).slot)
        limiter.whenNone { calls.withLock { $0 += 1 } }
        limiter.remove(first, isRestricted: false)
        #expect(calls.withLock { $0 } == 1)
        limiter.remove(second, isRestricted: false)
        #expect(calls.withLock { $0 } == 2)
    }
}
