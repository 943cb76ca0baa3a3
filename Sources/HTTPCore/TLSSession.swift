import CLatchkeyOpenSSL
package import EventLoops
package import Primitives

/// TLS on one connection, on the server's or the client's side. Used on the connection's loop only.
package final class TLSSession {
    package enum HandshakeResult {
        case done
        /// Waits for the socket.
        case waiting
        /// Of a client: waits for ``TLSContext/readAuthorities()`` of the session's context.
        case needsAuthorities
        /// With OpenSSL's reason.
        case failed(String)
    }

    package let context: TLSContext
    private let pointer: OpaquePointer
    /// Whether close_notify is still to be sent because the socket took nothing.
    package private(set) var endIsDue = false

    /// Begins a server's session on a non-blocking socket, which the caller keeps. Nil if there is no memory.
    package init?(serving context: TLSContext, descriptor: Int32) {
        guard let made = copenssl_session_make(context.pointer, descriptor) else { return nil }
        pointer = made
        self.context = context
    }

    /// Begins a client's session on a connected non-blocking socket, which the caller keeps. Nil if there is no memory.
    /// - Parameter host: A name or an address that the server's certificate must be valid for.
    package init?(_ context: TLSContext, descriptor: Int32, to host: String) {
        let isAddress = IPAddress(host) != nil
        guard let made = copenssl_client_session_make(context.pointer, descriptor, host, isAddress ? 1 : 0) else {
            return nil
        }
        pointer = made
        self.context = context
    }

    deinit { copenssl_session_free(pointer) }

    // MARK: Handshake

    /// The socket has become readable or writable.
    package func becameReady(peerHasEnded: Bool) { copenssl_ready(pointer, peerHasEnded ? 1 : 0) }

    package func handshake() -> HandshakeResult {
        switch copenssl_handshake(pointer) {
        case COPENSSL_DONE: .done
        case COPENSSL_AGAIN: .waiting
        case COPENSSL_NEEDS_AUTHORITIES: .needsAuthorities
        default: .failed(copenssl_reason(pointer).map { String(cString: $0) } ?? "the connection ended")
        }
    }

    /// OpenSSL's reason of a failure after the handshake, such as the peer's alert; nil if there is none.
    package var failure: String? { copenssl_reason(pointer).map { String(cString: $0) } }

    /// Whether a server's handshake failed because the client speaks HTTP without TLS.
    package var sawPlainHTTP: Bool { copenssl_saw_plain_http(pointer) != 0 }

    /// What is wrong with the peer's certificate; nil if that is not why the handshake failed.
    package var certificateFault: String? { copenssl_certificate_fault(pointer).map { String(cString: $0) } }

    /// After a server's handshake, the client's trusted certificate; nil if the client sent none.
    package func clientCertificate() -> (subject: String, fingerprint: String)? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1025) { subject in
            var digest = [UInt8](repeating: 0, count: 32)
            guard let base = subject.baseAddress,
                copenssl_client_certificate(pointer, base, subject.count, &digest) != 0
            else { return nil }
            return (String(cString: base), digest.hexadecimal)
        }
    }

    /// After a client's handshake, when the server's certificate expires; nil if that is unknown.
    package var serverCertificateExpiry: Timestamp? {
        let seconds = copenssl_server_not_after(pointer)
        return seconds > 0 ? Timestamp(secondsSinceEpoch: seconds) : nil
    }

    // MARK: Input and output

    package func receive(into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
        var count = 0
        switch copenssl_read(pointer, buffer.baseAddress, buffer.count, &count) {
        case COPENSSL_DONE: return .bytes(count)
        case COPENSSL_AGAIN: return .wouldBlock
        case COPENSSL_ENDED: return .ended
        default: return .failed
        }
    }

    /// Sends as much as the socket takes; the next call must continue at the first byte not taken.
    /// - Returns: How many bytes that is; nil if nothing can be sent any more.
    package func send(_ bytes: UnsafeRawBufferPointer) -> Int? {
        var count = 0
        switch copenssl_write(pointer, bytes.baseAddress, bytes.count, &count) {
        case COPENSSL_DONE: return count
        case COPENSSL_AGAIN: return 0
        default: return nil
        }
    }

    /// Sends close_notify (RFC 8446 section 6.1). True once nothing is left to send.
    @discardableResult
    package func end() -> Bool {
        endIsDue = copenssl_end(pointer) == COPENSSL_AGAIN
        return !endIsDue
    }
}
