import CLatchkeySystem
import Glibc

/// A system call that failed.
public struct SystemError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The call's name.
    public let call: String
    /// `errno`, taken right after the call.
    public let number: Int32

    public var description: String { "\(call): \(String(cString: strerror(number)))" }

    /// The failure of the call made just now.
    static func last(_ call: String) -> SystemError { SystemError(call: call, number: errno) }
}

/// What a call on a non-blocking descriptor came to.
enum Transfer {
    case bytes(Int)
    /// Nothing now; the poller will tell.
    case wouldBlock
    /// The other side sends no more.
    case ended
    case failed(Int32)
}

/// The system calls of a connection, each retried when a signal interrupts it.
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

    /// Without SIGPIPE when the other side is gone.
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

    /// A failed close leaves nothing to do: the descriptor is gone all the same.
    static func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }
}
