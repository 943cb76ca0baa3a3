import CLatchkeyOpenSSL
import EventLoops
import Glibc
import HTTPCore
import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import HTTPServer

/// A connection and its client, both on one thread, so that a test decides what is one piece of the loop's work. For
/// the loop's thread only.
final class ConnectionEnds: @unchecked Sendable {
    let connection: Connection
    let service: ConnectionService
    let loop: EventLoop
    /// Of the connection's socket.
    let descriptor: Int32
    private var client: ByteStream

    /// - Parameter authorities: The file with the authority of the server, after whose handshake the connection begins;
    ///   nil for a plain connection.
    init(on loop: ServerLoop, _ service: ConnectionService, authorities: String? = nil) throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
        client = ByteStream(ends[1])
        descriptor = ends[0]
        self.loop = loop.events
        self.service = service
        connection = Connection(
            descriptor: ends[0], peer: SocketAddress(host: "127.0.0.1", port: 1), loop: loop, service: service,
            at: .now())
        _ = service.connections.add(connection.slot, of: nil, at: .now())
        connection.open(refusing: nil)
        guard let authorities else { return }
        let context = try TLSContext { fault, reason in
            copenssl_client_context_make(authorities, nil, nil, nil, &fault, &reason)
        }
        let session = try #require(TLSSession(context, descriptor: ends[1], to: "127.0.0.1"))
        client.tls = session
        for _ in 0..<2 {
            _ = session.handshake()
            becomeReady()
            session.becameReady(peerHasEnded: false)
        }
        guard case .done = session.handshake() else { throw SystemError(call: "handshake", number: EPROTO) }
    }

    /// Puts a text into the connection's socket, which the poller has not reported then.
    func send(_ text: String) throws {
        let bytes = wire(text)
        try #require(bytes.withUnsafeBytes { client.send($0) } == bytes.count)
    }

    /// As if the poller had reported the connection's socket.
    func becomeReady() { connection.becameReady(peerHasEnded: false, at: .now()) }

    /// What the client has got.
    func receive() -> String {
        client.expectInput()
        guard case .bytes(let count) = client.receive(into: loop.readBuffer) else { return "" }
        return String(decoding: loop.received(count), as: UTF8.self)
    }

    func close() {
        client.close(on: loop)
        connection.abandon()
    }
}

extension ConnectionService {
    static func forTest(tls: ServerTLS? = nil, handler: @escaping ImmediateHandler) -> ConnectionService {
        ConnectionService(
            configuration: ServerConfiguration(), logger: LiveServer.silentLogger,
            render: { error, _ in error.plainResponse() }, shed: nil, tls: tls, handler: handler)
    }
}

extension ServerLoop {
    /// A loop for ``ConnectionEnds``, without ticks.
    static func forTest() throws -> ServerLoop { try ServerLoop(label: "test", tick: .seconds(3600)) }

    /// Runs `work` in a turn.
    /// - Parameter hasMore: Whether the turn has other work, so that responses wait for its end.
    func turn<Value: Sendable>(
        hasMore: Bool = false, _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        while true {
            // The loop takes all at once what is submitted while its thread is held.
            let gate = ThreadGate()
            events.execute { gate.pass() }
            await gate.whenReached()
            let value: Value? = try await withCheckedThrowingContinuation { done in
                events.execute {
                    // The event of a wake-up may be late.
                    let isSo = self.events.hasMoreWorkThisTurn == hasMore
                    done.resume(with: Result { try isSo ? work() : nil })
                }
                if hasMore { events.execute {} }
                gate.open()
            }
            if let value { return value }
        }
    }
}
