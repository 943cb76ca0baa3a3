import Synchronization
import Testing

@testable import HTTPServer

@Suite("Census of connections")
struct ConnectionCensusTests {
    private func census(total: Int, perAddress: Int? = nil) -> ConnectionCensus {
        var limits = ServerLimits()
        limits.connections = total
        limits.connectionsPerAddress = perAddress
        return ConnectionCensus(limits: limits)
    }

    private func peer(_ number: Int) -> SocketAddress { SocketAddress(host: "10.0.0.\(number)", port: 1) }

    private func refusal(_ admission: ConnectionCensus.Admission) -> RequestError? {
        if case .refuse(let error) = admission { error } else { nil }
    }

    @Test("Beyond the limit connections are refused, and far beyond dropped")
    func total() {
        let census = census(total: 2)
        #expect(refusal(census.add(peer(1))) == nil)
        #expect(refusal(census.add(peer(1))) == nil)
        for _ in 0..<128 { #expect(refusal(census.add(peer(1))) == .tooManyConnections) }
        guard case .drop = census.add(peer(1)) else {
            Issue.record("counted")
            return
        }
        #expect(census.total == 130)
        for _ in 0..<129 { census.remove(peer(1)) }
        #expect(refusal(census.add(peer(1))) == nil)
    }

    @Test("One address cannot take them all")
    func perAddress() {
        let census = census(total: 10, perAddress: 2)
        for number in [1, 1, 2, 2] { #expect(refusal(census.add(peer(number))) == nil) }
        #expect(refusal(census.add(peer(1))) == .tooManyConnectionsOfAddress)
        census.remove(peer(1))
        census.remove(peer(1))
        #expect(refusal(census.add(peer(1))) == nil)
        #expect(refusal(census.add(peer(2))) == .tooManyConnectionsOfAddress)
    }

    @Test("It tells when the last connection is gone, or that there is none")
    func none() {
        let census = census(total: 10)
        let calls = Mutex(0)
        census.whenNone { calls.withLock { $0 += 1 } }
        #expect(calls.withLock { $0 } == 1)
        _ = census.add(peer(1))
        _ = census.add(peer(2))
        census.whenNone { calls.withLock { $0 += 1 } }
        census.remove(peer(1))
        #expect(calls.withLock { $0 } == 1)
        census.remove(peer(2))
        #expect(calls.withLock { $0 } == 2)
    }
}
