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

    /// What is wrong with a response that a client cannot read.
    public enum Damage: Sendable, CaseIterable {
        /// Its first message has an unknown type. libpq goes on with the next message.
        case unknownType
        /// Its first message has an impossible length. libpq gives the connection up.
        case impossibleLength
    }

    private enum Fault {
        case cut(Cut)
        case damage(Damage)
    }

    private struct State {
        var roundTrips = 0
        var fault: (place: Int, Fault)?
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
        state.withLock { $0.fault = ($0.roundTrips + number, .cut(cut)) }
    }

    /// Damages the response of a later round trip.
    /// - Parameter number: 1 for the next one.
    public func damage(_ damage: Damage, atRoundTrip number: Int) {
        state.withLock { $0.fault = ($0.roundTrips + number, .damage(damage)) }
    }

    /// Counts round trips; the fault of this one, if it has one.
    private func note(_ count: Int) -> Fault? {
        state.withLock { state in
            state.roundTrips += count
            guard let (place, fault) = state.fault, state.roundTrips >= place else { return nil }
            state.fault = nil
            return fault
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
            while var bytes = try? RawSocket.receive(server, until: Self.end), !bytes.isEmpty {
                if responses.isWithheld { break }
                responses.applyDamage(to: &bytes)
                guard client.send(bytes) else { break }
            }
            end()
            isOver.signal()
        }
        var requests = Requests()
        relaying: while let bytes = try? RawSocket.receive(client.descriptor, until: Self.end), !bytes.isEmpty {
            switch note(requests.roundTrips(in: bytes)) {
            case nil: break
            case .cut(.beforeRequest): break relaying
            case .cut(.beforeResponse): responses.withhold()
            case .damage(let damage): responses.damageNext(damage)
            }
            do { try RawSocket.send(server, bytes, until: Self.end) } catch { break }
        }
        if !responses.isWithheld { end() }
        isOver.wait()
        RawSocket.closeDescriptor(server)
    }

    private static var end: DispatchTime { .now() + .seconds(120) }
}

/// What happens to the server's responses on their way to the client.
private final class Responses: Sendable {
    private struct State {
        var isWithheld = false
        var damage: PostgresRelay.Damage?
    }

    private let state = Mutex(State())

    var isWithheld: Bool { state.withLock(\.isWithheld) }

    func withhold() { state.withLock { $0.isWithheld = true } }

    func damageNext(_ damage: PostgresRelay.Damage) { state.withLock { $0.damage = damage } }

    /// - Parameter bytes: Begin with a message, because the client has read all responses before.
    func applyDamage(to bytes: inout [UInt8]) {
        let damage = state.withLock { state in
            defer { state.damage = nil }
            return state.damage
        }
        switch damage {
        case .unknownType: bytes[0] = UInt8(ascii: "?")
        case .impossibleLength: for index in 1..<min(5, bytes.count) { bytes[index] = 0 }
        case nil: break
        }
    }
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
