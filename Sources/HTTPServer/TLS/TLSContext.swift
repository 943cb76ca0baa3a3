import CLatchkeyOpenSSL
import Primitives

/// The OpenSSL context of a listener's TLS sessions.
///
/// Sendable without the compiler's check: OpenSSL locks the parts of a context that sessions share; nothing else of it
/// changes.
final class TLSContext: @unchecked Sendable {
    let pointer: OpaquePointer
    /// The validity period of the server's certificate.
    let validity: ClosedRange<Timestamp>

    init(_ credentials: TLSCredentials) throws(TLSError) {
        var fault = COPENSSL_SOUND
        var reason: UnsafePointer<CChar>?
        let key = Array(credentials.privateKey.exposed.utf8)
        let made = copenssl_context_make(
            credentials.certificateChain, credentials.certificateChain.count, key, key.count,
            credentials.clientAuthorities, credentials.clientAuthorities.count, credentials.clients.asked, &fault,
            &reason)
        guard let made else {
            throw TLSError(code: TLSError.Code(fault), detail: reason.map { String(cString: $0) } ?? "")
        }
        pointer = made
        let start = copenssl_context_not_before(made)
        validity =
            Timestamp(
                secondsSinceEpoch: start)...Timestamp(secondsSinceEpoch: max(start, copenssl_context_not_after(made)))
    }

    deinit { copenssl_context_free(pointer) }
}

extension TLSCredentials.Clients {
    fileprivate var asked: copenssl_clients {
        switch self {
        case .none: COPENSSL_CLIENTS_UNASKED
        case .optional: COPENSSL_CLIENTS_ASKED
        case .required: COPENSSL_CLIENTS_REQUIRED
        }
    }
}

extension TLSError.Code {
    fileprivate init(_ fault: copenssl_fault) {
        switch fault {
        case COPENSSL_CERTIFICATE_UNREADABLE: self = .certificateUnreadable
        case COPENSSL_CERTIFICATE_REFUSED: self = .certificateRefused
        case COPENSSL_KEY_UNREADABLE: self = .keyUnreadable
        case COPENSSL_KEY_ENCRYPTED: self = .keyEncrypted
        case COPENSSL_KEY_MISMATCH: self = .keyMismatch
        case COPENSSL_AUTHORITIES_UNREADABLE: self = .authoritiesUnreadable
        default: self = .noMemory
        }
    }
}
