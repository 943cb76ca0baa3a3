import Foundation
import Glibc
import LatchkeyClient
import Synchronization

// An app outside of this package has the file, too, and not this module.
#if canImport(CLatchkeySystem)
    import CLatchkeySystem
#endif

/// A phone's cellular network, played by sockets to 127.0.0.1. It records what is sent to whom.
final class SocketCellularNetwork: CellularNetwork {
    struct Request: Sendable {
        let endpoint: CellularEndpoint
        let text: String

        /// The lines after the request line, in lower case.
        var fields: [String] { text.lowercased().components(separatedBy: "\r\n").dropFirst().filter { !$0.isEmpty } }
        var target: String { text.components(separatedBy: " ").dropFirst().first ?? "" }
        /// The names of the fields. Those of a visit that carries nothing of the app are ``namesWithoutApp``.
        var fieldNames: [String] { fields.map { String($0.prefix { $0 != ":" }) } }
        var cookie: String? { fields.first { $0.hasPrefix("cookie: ") } }
    }

    private struct State {
        var isDown = false
        var endpoints: [CellularEndpoint] = []
        var requests: [Request] = []
    }

    private let state = Mutex(State())

    static let namesWithoutApp = ["host", "accept", "connection"]

    /// Whether the phone has no cellular network.
    var isDown: Bool {
        get { state.withLock { $0.isDown } }
        set { state.withLock { $0.isDown = newValue } }
    }

    /// Where the client wanted to connect to.
    var endpoints: [CellularEndpoint] { state.withLock { $0.endpoints } }
    var requests: [Request] { state.withLock { $0.requests } }

    func connect(to endpoint: CellularEndpoint) async throws -> any CellularConnection {
        let isDown = state.withLock { state in
            state.endpoints.append(endpoint)
            return state.isDown
        }
        guard !isDown, !endpoint.usesTLS, endpoint.host == "127.0.0.1" else { throw URLError(.cannotConnectToHost) }
        return try SocketConnection(port: endpoint.port) { [self] bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            state.withLock { $0.requests.append(Request(endpoint: endpoint, text: text)) }
        }
    }
}

private final class SocketConnection: CellularConnection {
    private let descriptor: Int32
    private let queue = DispatchQueue(label: "socket-connection")
    private let sent: @Sendable (Data) -> Void

    init(port: UInt16, sent: @escaping @Sendable (Data) -> Void) throws {
        self.sent = sent
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw URLError(.cannotConnectToHost) }
    }

    deinit { _ = Glibc.close(descriptor) }

    func send(_ bytes: Data) async throws {
        sent(bytes)
        let count = bytes.withUnsafeBytes {
            Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard count == bytes.count else { throw URLError(.networkConnectionLost) }
    }

    func receive(upTo limit: Int) async throws -> Data? {
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Data?, any Error>) in
            queue.async { [self] in
                var buffer = [UInt8](repeating: 0, count: min(limit, 700))
                let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
                if count < 0 { return done.resume(throwing: URLError(.networkConnectionLost)) }
                done.resume(returning: count == 0 ? nil : Data(buffer.prefix(count)))
            }
        }
    }

    /// Also wakes a waiting `recv`.
    func close() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}
