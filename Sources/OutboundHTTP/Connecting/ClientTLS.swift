import CLatchkeyOpenSSL
import EventLoops
import Primitives

/// The OpenSSL context of a client's TLS sessions.
///
/// Sendable without the compiler's check: OpenSSL locks the parts of a context that sessions share; nothing else of it
/// changes.
final class ClientTLSContext: @unchecked Sendable {
    fileprivate let pointer: OpaquePointer

    /// - Parameter caBundle: The path of the only authorities to trust; nil for the system's.
    init(caBundle: String?) throws(OutboundHTTPStartError) {
        var fault = COPENSSL_SOUND
        var reason: UnsafePointer<CChar>?
        guard let made = copenssl_client_context_make(caBundle, &fault, &reason) else {
            let text = reason.map { ": " + String(cString: $0) } ?? ""
            guard fault == COPENSSL_AUTHORITIES_UNREADABLE else {
                throw OutboundHTTPStartError(.library, "OpenSSL did not make a context\(text)")
            }
            throw OutboundHTTPStartError(.caBundle, "\(caBundle ?? "")\(text)")
        }
        pointer = made
    }

    deinit { copenssl_context_free(pointer) }
}

/// The client's side of TLS on one connection. Used on the connection's loop only.
final class ClientTLSSession {
    enum HandshakeResult {
        case done
        /// Waits for the socket.
        case waiting
        /// With OpenSSL's reason.
        case failed(String)
    }

    private let pointer: OpaquePointer
    private let context: ClientTLSContext

    /// Nil if there is no memory.
    /// - Parameter host: A name or an address that the server's certificate must be valid for.
    init?(_ context: ClientTLSContext, descriptor: Int32, host: String) {
        let isAddress = IPAddress(host) != nil
        guard let made = copenssl_client_session_make(context.pointer, descriptor, host, isAddress ? 1 : 0) else {
            return nil
        }
        pointer = made
        self.context = context
    }

    deinit { copenssl_session_free(pointer) }

    /// The socket has become readable or writable.
    func becameReady(peerHasEnded: Bool) { copenssl_ready(pointer, peerHasEnded ? 1 : 0) }

    func handshake() -> HandshakeResult {
        switch copenssl_handshake(pointer) {
        case COPENSSL_DONE: return .done
        case COPENSSL_AGAIN: return .waiting
        default:
            let reason = copenssl_certificate_fault(pointer) ?? copenssl_reason(pointer)
            return .failed(reason.map { String(cString: $0) } ?? "the connection ended")
        }
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
        var count = 0
        switch copenssl_read(pointer, buffer.baseAddress, buffer.count, &count) {
        case COPENSSL_DONE: return .bytes(count)
        case COPENSSL_AGAIN: return .wouldBlock
        case COPENSSL_ENDED: return .ended
        default: return .failed(0)
        }
    }

    /// Sends as much as the socket takes; the next call must continue at the first byte not taken.
    func send(_ bytes: UnsafeRawBufferPointer) -> Transfer {
        var count = 0
        switch copenssl_write(pointer, bytes.baseAddress, bytes.count, &count) {
        case COPENSSL_DONE: return .bytes(count)
        case COPENSSL_AGAIN: return .wouldBlock
        default: return .failed(0)
        }
    }

    /// Sends close_notify (RFC 8446 section 6.1), if the socket takes it at once.
    func end() { _ = copenssl_end(pointer) }

    /// When the server's certificate expires.
    var certificateExpiry: Timestamp? {
        let seconds = copenssl_server_not_after(pointer)
        return seconds > 0 ? Timestamp(secondsSinceEpoch: seconds) : nil
    }
}
