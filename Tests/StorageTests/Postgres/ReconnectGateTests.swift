import Primitives
import StorageModel
import TestSupport
import Testing

@testable import PostgreSQL
@testable import Storage

@Suite("PostgreSQL: a server that recently could not be reached")
struct ReconnectGateTests {
    @Test("is not contacted by any connection of the pool for a while, until one attempt has succeeded")
    func pause() async throws {
        let peer = try RawHTTPPeer { _ in }
        let url = "postgres://latchkey@127.0.0.1:\(peer.port)/latchkey?sslmode=disable"
        let gate = ReconnectGate()
        let connection = PostgresConnection(PostgresConfiguration(url: Secret(url), poolSize: 2), gate: gate)
        #expect(throws: PostgresError.self) { try connection.connect() }
        #expect(peer.connectionCount > 0)
        // Repeats if the machine paused for longer than the gate is closed.
        try await until {
            for _ in 0..<6 { gate.noteFailure("gone a moment ago") }
            let before = peer.connectionCount
            let refusal = try #require(throws: PostgresError.self) { try connection.connect() }
            return peer.connectionCount == before && refusal.reason.contains("gone a moment ago")
        }
        gate.noteSuccess()
        let before = peer.connectionCount
        #expect(throws: PostgresError.self) { try connection.connect() }
        #expect(peer.connectionCount > before)
        peer.stop()
    }
}
