import CLatchkeyOpenSSL
import HTTPCore
import Primitives

/// The context of a listener's TLS sessions.
extension TLSContext {
    convenience init(_ credentials: TLSCredentials) throws(TLSError) {
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
        self.init(adopting: made)
    }

    /// The validity period of the server's certificate.
    var validity: ClosedRange<Timestamp> {
        let start = copenssl_context_not_before(pointer)
        let end = max(start, copenssl_context_not_after(pointer))
        return Timestamp(secondsSinceEpoch: start)...Timestamp(secondsSinceEpoch: end)
    }
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
