import CLatchkeySystem
import Dispatch
import Foundation
import Glibc
import Synchronization

/// Stands between a client and a PostgreSQL server, counts the client's round trips, and cuts connections.
///
/// A round trip ends with a Sync or a simple Query of the client
/// (https://www.postgresql.org/docs/15/protocol-message-formats.html), because only then the client waits. Opening a
/// connection is not counted, but what the client sets up afterwards is.
public final class PostgresRelay: Sendable {
    /// Where a connection is cut.
    public enum Cut: Sendable, CaseIterable {
        /// The server does not get the request.
        case beforeRequest
        /// The server gets the request, and the client no response.
        case beforeResponse
    }

    private struct State {
        var roundTrips = 0
        var cut: (place: Int, Cut)?
    }

    private let state = Mutex(State())
    private let server: UInt16
    private let peer = Mutex<RawHTTPPeer?>(nil)

    /// - Parameter server: The port of a server on 127.0.0.1, which a client connects to without TLS.
    public init(to server: UInt16) throws {
        self.server = server
        let peer = try RawHTTPPeer(recordsRequests: false) { [weak self] connection in self?.relay(connection) }
        self.peer.withLock { $0 = peer }
    }

    deinit { peer.withLock { $0?.stop() } }

    public var port: UInt16 { peer.withLock { $0?.port ?? 0 } }

    /// The round trips of all connections so far.
    public var roundTrips: Int { state.withLock { $0.roundTrips } }

    /// Cuts the connection whose client makes a later round trip.
    /// - Parameter number: 1 for the next one.
    public func cut(_ cut: Cut, atRoundTrip number: Int) {
        state.withLock { $0.cut = ($0.roundTrips + number, cut) }
    }

    /// Counts round trips; how the connection is to be cut, if it is.
    private func note(_ count: Int) -> Cut? {
        state.withLock { state in
            state.roundTrips += count
            guard let (place, cut) = state.cut, state.roundTrips >= place else { return nil }
            state.cut = nil
            return cut
        }
    }

    private func relay(_ client: RawHTTPPeer.Connection) {
        guard
            case .success(let server) = RawSocket.connect("127.0.0.1", server, until: Self.end, receiveBufferBytes: nil)
        else { return }
        let isOver = DispatchSemaphore(value: 0)
        let end: @Sendable () -> Void = {
            for descriptor in [server, client.descriptor] { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
        let responses = Responses()
        Thread.detachNewThread {
            while let bytes = try? RawSocket.receive(server, until: Self.end), !bytes.isEmpty {
                if responses.isWithheld { break }
                guard client.send(bytes) else { break }
            }
            end()
            isOver.signal()
        }
        var requests = Requests()
        while let bytes = try? RawSocket.receive(client.descriptor, until: Self.end), !bytes.isEmpty {
            let cut = note(requests.roundTrips(in: bytes))
            if cut == .beforeRequest { break }
            if cut == .beforeResponse { responses.withhold() }
            do { try RawSocket.send(server, bytes, until: Self.end) } catch { break }
        }
        if !responses.isWithheld { end() }
        isOver.wait()
        RawSocket.closeDescriptor(server)
    }

    private static var end: DispatchTime { .now() + .seconds(120) }
}

/// Whether the server's responses are kept from the client.
private final class Responses: Sendable {
    private let state = Mutex(false)

    var isWithheld: Bool { state.withLock { $0 } }

    func withhold() { state.withLock { $0 = true } }
}

/// The messages of a client, which arrive in pieces.
private struct Requests {
    private var pending: [UInt8] = []
    private var isStarted = false

    /// How many round trips end in the bytes that arrived.
    mutating func roundTrips(in bytes: [UInt8]) -> Int {
        pending += bytes
        var count = 0
        while true {
            // The first message has no type.
            let prefix = isStarted ? 1 : 0
            guard pending.count >= prefix + 4 else { return count }
            let length = pending[prefix..<prefix + 4].reduce(0) { $0 << 8 | Int($1) }
            guard pending.count >= prefix + length else { return count }
            if isStarted, [UInt8(ascii: "S"), UInt8(ascii: "Q")].contains(pending[0]) { count += 1 }
            pending.removeFirst(prefix + length)
            isStarted = true
        }
    }
}
