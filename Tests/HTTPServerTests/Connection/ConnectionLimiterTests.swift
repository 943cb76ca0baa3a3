import HTTPServer
import Synchronization
import Testing

@Suite("The limit of connections")
struct ConnectionLimiterTests {
    private func limiter(total: Int, perAddress: Int? = nil) -> ConnectionLimiter {
        var limits = ServerLimits()
        limits.connections = total
        limits.connectionsPerAddress = perAddress
        return ConnectionLimiter(limits: limits)
    }

    private func peer(_ number: Int) -> SocketAddress { SocketAddress(host: "10.0.0.\(number)", port: 1) }

    private func refusal(_ admission: ConnectionLimiter.Admission) -> RequestError? {
        if case .refuse(let error) = admission { error } else { nil }
    }

    @Test("Connections beyond the limit are refused, and far beyond it dropped")
    func total() {
        let limiter = limiter(total: 2)
        #expect(refusal(limiter.add(peer(1))) == nil)
        #expect(refusal(limiter.add(peer(1))) == nil)
        for _ in 0..<128 { #expect(refusal(limiter.add(peer(1))) == .tooManyConnections) }
        guard case .drop = limiter.add(peer(1)) else {
            Issue.record("counted")
            return
        }
        #expect(limiter.total == 130)
        for _ in 0..<129 { limiter.remove(peer(1)) }
        #expect(refusal(limiter.add(peer(1))) == nil)
    }

    @Test("One address cannot take all connections")
    func perAddress() {
        let limiter = limiter(total: 10, perAddress: 2)
        for number in [1, 1, 2, 2] { #expect(refusal(limiter.add(peer(number))) == nil) }
        #expect(refusal(limiter.add(peer(1))) == .tooManyConnectionsOfAddress)
        limiter.remove(peer(1))
        limiter.remove(peer(1))
        #expect(refusal(limiter.add(peer(1))) == nil)
        #expect(refusal(limiter.add(peer(2))) == .tooManyConnectionsOfAddress)
    }

    @Test("It reports when the last connection is closed")
    func none() {
        let limiter = limiter(total: 10)
        let calls = Mutex(0)
        limiter.whenNone { calls.withLock { $0 += 1 } }
        #expect(calls.withLock { $0 } == 1)
        _ = limiter.add(peer(1))
        _ = limiter.add(peer(2))
        limiter.whenNone { calls.withLock { $0 += 1 } }
        limiter.remove(peer(1))
        #expect(calls.withLock { $0 } == 1)
        limiter.remove(peer(2))
        #expect(calls.withLock { $0 } == 2)
    }
}
