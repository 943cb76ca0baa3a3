import CLatchkeyOpenSSL
import EventLoops
import Primitives

/// TLS on one connection. Used on the connection's loop only.
final class TLSSession {
    enum HandshakeResult {
        case done
        /// Waits for the socket.
        case waiting
        /// The client speaks HTTP without TLS.
        case plainHTTP
        /// With OpenSSL's reason.
        case failed(String)
    }

    private let pointer: OpaquePointer
    /// Whether close_notify is still to be sent because the socket took nothing.
    private(set) var endIsDue = false
    /// Set at the end of the handshake; nil if the client sent none.
    private(set) var clientCertificate: ClientCertificate?

    /// Nil if there is no memory.
    init?(_ context: TLSContext, descriptor: Int32) {
        guard let made = copenssl_session_make(context.pointer, descriptor) else { return nil }
        pointer = made
    }

    deinit { copenssl_session_free(pointer) }

    /// The socket has become readable or writable.
    func becameReady(peerHasEnded: Bool) { copenssl_ready(pointer, peerHasEnded ? 1 : 0) }

    func handshake() -> HandshakeResult {
        switch copenssl_handshake(pointer) {
        case COPENSSL_DONE:
            clientCertificate = findClientCertificate()
            return .done
        case COPENSSL_AGAIN: return .waiting
        default:
            if copenssl_saw_plain_http(pointer) != 0 { return .plainHTTP }
            return .failed(copenssl_reason(pointer).map { String(cString: $0) } ?? "the connection ended")
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

    /// Sends close_notify (RFC 8446 section 6.1). True once nothing is left to send.
    func end() -> Bool {
        endIsDue = copenssl_end(pointer) == COPENSSL_AGAIN
        return !endIsDue
    }

    private func findClientCertificate() -> ClientCertificate? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1025) { subject in
            var digest = [UInt8](repeating: 0, count: 32)
            guard let base = subject.baseAddress,
                copenssl_client_certificate(pointer, base, subject.count, &digest) != 0
            else { return nil }
            return ClientCertificate(subject: String(cString: base), fingerprint: digest.hexadecimal)
        }
    }
}
