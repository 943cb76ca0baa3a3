import CLatchkeySystem
import Foundation
import Glibc
import Synchronization

/// A TCP server on 127.0.0.1 that sends the bytes of a script, valid HTTP or not.
///
/// Each connection runs the script on its own thread, with blocking calls. The connection closes when the script
/// returns, unless the script called ``Connection/hold()``.
///
/// ```swift
/// let peer = try RawHTTPPeer { connection in
///     while connection.readRequest() != nil { connection.send("HTTP/1.1 204 No Content\r\n\r\n") }
/// }
/// defer { peer.stop() }
/// ```
public final class RawHTTPPeer: Sendable {
    /// A request that was read from a connection.
    public struct Request: Sendable, Hashable {
        /// The request line, such as `POST /token HTTP/1.1`.
        public var startLine: String
        /// The header fields, with names in lower case.
        public var fields: [String: String]
        public var body: [UInt8]

        public var text: String { String(decoding: body, as: UTF8.self) }
    }

    struct State {
        var open: Set<Int32> = []
        /// Those of `open` whose script has returned.
        var held: Set<Int32> = []
        var connectionCount = 0
        var requests: [Request] = []
        var isStopped = false
    }

    public let port: UInt16
    let state = Mutex(State())
    let recordsRequests: Bool
    private let listener: Int32

    /// - Parameter recordsRequests: Whether ``requests`` are kept. Many requests would use much memory.
    /// - Throws: `POSIXError` if no socket can be made.
    public init(recordsRequests: Bool = true, _ script: @escaping @Sendable (Connection) -> Void) throws {
        self.recordsRequests = recordsRequests
        (listener, port) = try Self.listen()
        Thread.detachNewThread { [weak self, listener] in
            while true {
                // A thread that waits in accept has taken a descriptor: one that comes there while there are none
                // would fail before there is a connection.
                var wanted = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
                _ = poll(&wanted, 1, -1)
                // Close-on-exec: a process that another test starts must not keep a connection open.
                let descriptor = csystem_accept(listener, nil, nil)
                if descriptor < 0, errno == EINTR || errno == ECONNABORTED { continue }
                guard descriptor >= 0, let self, let connection = self.register(descriptor) else {
                    if descriptor >= 0 { closeDescriptor(descriptor) }
                    closeDescriptor(listener)
                    return
                }
                Thread.detachNewThread {
                    script(connection)
                    connection.end()
                }
            }
        }
    }

    deinit { stop() }

    /// The number of accepted connections so far.
    public var connectionCount: Int { state.withLock { $0.connectionCount } }

    /// The number of connections that were neither closed nor left to ``Connection/hold()``.
    public var openConnectionCount: Int { state.withLock { $0.open.count - $0.held.count } }

    /// All requests that scripts have read whole, oldest first.
    public var requests: [Request] { state.withLock { $0.requests } }

    /// `http://127.0.0.1:port` and a path.
    public func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

    /// Ends listening and all connections.
    public func stop() {
        state.withLock { state in
            guard !state.isStopped else { return }
            state.isStopped = true
            // Wakes the threads that wait on them; each closes its own.
            shutdown(listener, Int32(SHUT_RDWR))
            for descriptor in state.open { shutdown(descriptor, Int32(SHUT_RDWR)) }
            for descriptor in state.held { closeDescriptor(descriptor) }
            state.open.subtract(state.held)
            state.held = []
        }
    }

    private func register(_ descriptor: Int32) -> Connection? {
        state.withLock { state in
            guard !state.isStopped else { return nil }
            state.open.insert(descriptor)
            state.connectionCount += 1
            return Connection(descriptor: descriptor, number: state.connectionCount, peer: self)
        }
    }

    private static func listen() throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard bind(descriptor, address, length) == 0 else { return Int32(-1) }
                guard Self.startListening(descriptor) == 0 else { return -1 }
                return getsockname(descriptor, address, &length)
            }
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        guard descriptor >= 0, result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    private static func startListening(_ descriptor: Int32) -> Int32 {
        Glibc.listen(descriptor, 1024)
    }
}
