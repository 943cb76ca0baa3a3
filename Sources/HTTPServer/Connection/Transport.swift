import CLatchkeySystem
import Glibc

/// How a connection's bytes go over its socket. An enumeration of the two ways there are, so that a plain connection pays
/// a comparison for each call and nothing more.
enum Transport {
    case plain
    case tls(TLSSession)

    func receive(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
        switch self {
        case .plain: SystemCalls.receive(descriptor, into: buffer)
        case .tls(let session): session.receive(into: buffer)
        }
    }

    func send(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Transfer {
        switch self {
        case .plain: SystemCalls.send(descriptor, bytes)
        case .tls(let session): session.send(bytes)
        }
    }

    /// Whether less than what was asked for means that there is no more now: a TLS record is never longer than 16 KiB,
    /// and there may be a next one.
    var readsAllAtOnce: Bool {
        if case .plain = self { return true }
        return false
    }

    /// Tells the client that no more will be sent.
    func endWriting(_ descriptor: Int32) {
        if case .tls(let session) = self, !session.end() { return }
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// The socket is about to be closed.
    func close() {
        if case .tls(let session) = self { _ = session.end() }
    }
}
