import EventLoops
import Glibc
import HTTPCore

/// The transport of a connection. An enumeration, so that a plain connection pays only a comparison for each call.
enum Transport {
    case plain
    case tls(TLSSession)

    func receive(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
        switch self {
        case .plain: SystemCalls.receive(descriptor, into: buffer)
        case .tls(let session): session.receive(into: buffer)
        }
    }

    /// - Parameter more: Whether other bytes follow at once, for the same packet.
    func send(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, more: Bool = false) -> Transfer {
        switch self {
        case .plain: SystemCalls.send(descriptor, bytes, more: more)
        case .tls(let session): session.send(bytes)
        }
    }

    /// Whether a short read means that the socket is empty. Not for TLS: a record has at most 16 KiB, and another may
    /// follow.
    var readsAllAtOnce: Bool {
        if case .plain = self { return true }
        return false
    }

    /// Ends the server's side.
    func endWriting(_ descriptor: Int32) {
        if case .tls(let session) = self, !session.end() { return }
        shutdown(descriptor, Int32(SHUT_WR))
    }

    func close() { if case .tls(let session) = self { session.end() } }
}
