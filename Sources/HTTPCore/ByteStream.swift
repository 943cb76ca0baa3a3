package import EventLoops
import Glibc

/// The socket of a connection, plain or with TLS. A value, so that a plain connection pays only a comparison for each
/// call.
package struct ByteStream {
    /// -1 once it is closed: its number may be another socket's then.
    package private(set) var descriptor: Int32
    /// Nil on a plain connection.
    package var tls: TLSSession?
    /// Whether the socket may have something to read: true until a read finds less than it asked for.
    package private(set) var mayRead = true
    /// Whether the peer has ended its side: it is read to the end even after all its bytes were.
    package private(set) var peerHasEnded = false
    private var registration: EventLoop.Registration?

    /// - Parameter descriptor: Closed by ``close(on:)``.
    package init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Has a loop tell a member of the socket's events.
    package mutating func register(_ member: any LoopMember, on loop: EventLoop) throws(SystemError) {
        registration = try loop.register(member, descriptor: descriptor)
    }

    package mutating func becameReady(peerHasEnded: Bool) {
        mayRead = true
        if peerHasEnded { self.peerHasEnded = true }
        guard let tls else { return }
        tls.becameReady(peerHasEnded: peerHasEnded)
        if tls.endIsDue { endWriting() }
    }

    /// The socket may have something that the poller has not reported yet.
    package mutating func expectInput() { becameReady(peerHasEnded: false) }

    package mutating func receive(into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
        let received = if let tls { tls.receive(into: buffer) } else { SystemCalls.receive(descriptor, into: buffer) }
        if case .bytes(let count) = received {
            // A short read means that the socket is empty; the poller reports new bytes. Not with TLS: a record has at
            // most 16 KiB, and another may follow.
            mayRead = count == buffer.count || peerHasEnded || tls != nil
        } else {
            mayRead = false
        }
        return received
    }

    /// As ``SystemCalls/send(_:_:more:)``.
    @inlinable
    package func send(_ bytes: UnsafeRawBufferPointer, more: Bool = false) -> Int? {
        if let tls { tls.send(bytes) } else { SystemCalls.send(descriptor, bytes, more: more) }
    }

    /// Ends this side, once TLS has sent its end.
    package func endWriting() {
        if let tls, !tls.end() { return }
        shutdown(descriptor, Int32(SHUT_WR))
    }

    package mutating func close(on loop: EventLoop) {
        if let registration { loop.unregister(registration, descriptor: descriptor) }
        registration = nil
        tls?.end()
        tls = nil
        if descriptor >= 0 { SystemCalls.closeDescriptor(descriptor) }
        descriptor = -1
    }
}
