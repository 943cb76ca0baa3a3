import CLatchkeyOpenSSL
import EventLoops
import Glibc
import HTTPCore
import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import HTTPServer

@Suite("A request that is in the socket when the server stops, and that the poller has not reported")
struct WaitingRequestTests {
    @Test("is served as the last one", arguments: [false, true])
    func isServed(hasTLS: Bool) async throws {
        let authorities = try TemporaryDirectory(files: ["ca.pem": TLSTexts.authority])
        let loop = try ServerLoop(label: "test", tick: .seconds(3600))
        let service = ConnectionService(
            configuration: ServerConfiguration(), logger: LiveServer.silentLogger,
            render: { error, _ in error.plainResponse() }, shed: nil,
            tls: hasTLS ? try ServerTLS(TLSHarness.credentials()) : nil
        ) { request in .value(Response(status: .ok, contentType: "text/plain", text: request.path)) }
        let ca = authorities.file("ca.pem")
        let said = try await withCheckedThrowingContinuation { done in
            // The request and the end of the server are one piece of the loop's work: the poller reports nothing in
            // between.
            loop.events.execute {
                do {
                    let ends = try Ends(on: loop, service, authorities: hasTLS ? ca : nil)
                    try ends.sendRequest()
                    ends.connection.drain()
                    // The response may wait for the end of the loop's turn.
                    loop.events.execute { done.resume(returning: ends.receive()) }
                } catch {
                    done.resume(throwing: error)
                }
            }
        }
        #expect(said.hasPrefix("HTTP/1.1 200 OK\r\n") && said.hasSuffix("\r\n\r\n/waiting"))
        #expect(said.contains("\r\nConnection: close\r\n"))
    }

    /// A connection and its client, after the handshake. For the loop's thread only.
    private final class Ends: @unchecked Sendable {
        let connection: Connection
        private let loop: EventLoop
        private var client: ByteStream

        init(on loop: ServerLoop, _ service: ConnectionService, authorities: String?) throws {
            var ends: [Int32] = [-1, -1]
            try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
            client = ByteStream(ends[1])
            self.loop = loop.events
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
                connection.becameReady(peerHasEnded: false, at: .now())
                session.becameReady(peerHasEnded: false)
            }
            guard case .done = session.handshake() else { throw SystemError(call: "handshake", number: EPROTO) }
        }

        func sendRequest() throws {
            let bytes = wire(request("GET /waiting"))
            try #require(bytes.withUnsafeBytes { client.send($0) } == bytes.count)
        }

        /// What the client has got; ends both.
        func receive() -> String {
            defer {
                client.close(on: loop)
                connection.abandon()
            }
            client.expectInput()
            guard case .bytes(let count) = client.receive(into: loop.readBuffer) else { return "" }
            return String(decoding: loop.received(count), as: UTF8.self)
        }
    }
}
