import CLatchkeySystem
import Glibc

/// A system call that failed.
public struct SystemError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name of the call.
    public let call: String
    /// Its `errno`.
    public let number: Int32

    /// The call and the system's text for ``number``.
    public var description: String { "\(call): \(String(cString: strerror(number)))" }

    /// The failure of the call just made.
    static func last(_ call: String) -> SystemError { SystemError(call: call, number: errno) }
}

/// The outcome of a call on a non-blocking descriptor.
enum Transfer {
    case bytes(Int)
    /// Nothing now; the poller reports a change.
    case wouldBlock
    /// The peer has ended its side.
    case ended
    case failed(Int32)
}

/// The system calls of a connection, retried when a signal interrupts them.
enum SystemCalls {
    static func receive(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return .bytes(count) }
            if count == 0 { return .ended }
            let number = errno
            if number == EINTR { continue }
            return number == EAGAIN || number == EWOULDBLOCK ? .wouldBlock : .failed(number)
        }
    }

    /// Without SIGPIPE if the peer is gone.
    static func send(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Transfer {
        while true {
            let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            if count >= 0 { return .bytes(count) }
            let number = errno
            if number == EINTR { continue }
            return number == EAGAIN || number == EWOULDBLOCK ? .wouldBlock : .failed(number)
        }
    }

    static func setOption(_ descriptor: Int32, level: Int32, _ name: Int32, _ value: Int32) throws(SystemError) {
        var value = value
        guard setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size)) == 0 else {
            throw .last("setsockopt")
        }
    }

    /// A failed close needs no handling: the descriptor is gone.
    static func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }
}
