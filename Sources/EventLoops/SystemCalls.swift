import CLatchkeySystem
import Glibc

/// A system call that failed.
package struct SystemError: Error, Sendable, Hashable, CustomStringConvertible {
    package let call: String
    /// Its `errno`.
    package let number: Int32

    package init(call: String, number: Int32) {
        self.call = call
        self.number = number
    }

    /// The call and the system's text for ``number``.
    package var description: String { "\(call): \(String(cString: strerror(number)))" }

    /// The failure of the call just made.
    package static func last(_ call: String) -> SystemError { SystemError(call: call, number: errno) }
}

/// The outcome of reading from a non-blocking descriptor.
package enum Transfer {
    case bytes(Int)
    /// Nothing now; the poller reports a change.
    case wouldBlock
    /// The peer has ended its side.
    case ended
    case failed
}

/// The system calls of a connection, retried when a signal interrupts them.
package enum SystemCalls {
    package static func receive(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return .bytes(count) }
            if count == 0 { return .ended }
            if errno != EINTR { return errno == EAGAIN ? .wouldBlock : .failed }
        }
    }

    /// Without SIGPIPE if the peer is gone.
    /// - Parameter more: Whether other bytes follow at once, for the same packet.
    /// - Returns: How many bytes the socket takes, 0 if it is full; nil if nothing can be sent any more.
    package static func send(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, more: Bool = false) -> Int? {
        let flags = Int32(MSG_NOSIGNAL) | (more ? Int32(MSG_MORE) : 0)
        while true {
            let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, flags)
            if count >= 0 { return count }
            if errno != EINTR { return errno == EAGAIN ? 0 : nil }
        }
    }

    package static func setOption(_ descriptor: Int32, level: Int32, _ name: Int32, _ value: Int32) throws(SystemError)
    {
        var value = value
        guard setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size)) == 0 else {
            throw .last("setsockopt")
        }
    }

    /// The error of a socket that no call has reported yet; 0 if there is none.
    package static func pendingError(_ descriptor: Int32) -> Int32 {
        var error: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno
    }

    /// How many sent bytes the peer has not received yet; 0 if the system cannot tell.
    package static func unsentBytes(_ descriptor: Int32) -> Int { max(0, Int(csystem_unsent(descriptor))) }

    /// Has the next close reset the connection, so that the system forgets the bytes that the peer has not received.
    package static func resetAtClose(_ descriptor: Int32) {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// A failed close needs no handling: the descriptor is gone.
    package static func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }
}
