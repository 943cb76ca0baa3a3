import Dispatch
import Glibc
import Primitives

/// Why a notification has no response.
public enum NotificationError: String, Error, Sendable {
    case noConnection
    case notSent
    case noResponse
}

/// Posts to a relying party on this machine, over a new connection, with blocking calls on a queue of their own.
enum NotificationSender {
    private static let queue = DispatchQueue(label: "carrier-simulator.notifications", attributes: .concurrent)
    private static let seconds = 10

    /// - Returns: The status of the response.
    static func post(
        _ body: [UInt8], as type: String = "application/json", bearing token: String? = nil, to url: NotificationURL
    ) async throws -> Int {
        let authorization = token.map { "Authorization: Bearer \($0)\r\n" } ?? ""
        let head = """
            POST \(url.path) HTTP/1.1\r\nHost: 127.0.0.1:\(url.port)\r\nConnection: close\r\n\(authorization)\
            Content-Type: \(type)\r\nContent-Length: \(body.count)\r\n\r\n
            """
        let bytes = Array(head.utf8) + body
        return try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try exchange(bytes, port: url.port) }) }
        }
    }

    private static func exchange(_ bytes: [UInt8], port: UInt16) throws(NotificationError) -> Int {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw .noConnection }
        defer { close(descriptor) }
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw .noConnection }
        // Without the flag, SIGPIPE ends the process if the peer has closed the connection.
        guard send(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count else { throw .notSent }
        // The status line begins with the version, a space, and three digits.
        var start = [UInt8](repeating: 0, count: 12)
        guard recv(descriptor, &start, start.count, CInt(MSG_WAITALL)) == start.count,
            let status = Int(String(decoding: start[9...], as: UTF8.self))
        else { throw .noResponse }
        return status
    }
}

/// A relying party's notification endpoint: plain HTTP on 127.0.0.1, because the simulator never leaves this machine.
struct NotificationURL: Sendable, Hashable {
    let port: UInt16
    let path: String

    init?(_ text: String) {
        let prefix = "http://127.0.0.1:"
        guard text.hasPrefix(prefix), text.utf8.allSatisfy(\.isVisibleASCII) else { return nil }
        let rest = text.dropFirst(prefix.count)
        let digits = rest.prefix { $0.isNumber }
        let path = rest.dropFirst(digits.count)
        guard let port = UInt16(digits), port > 0, path.hasPrefix("/") else { return nil }
        self.port = port
        self.path = String(path)
    }
}
