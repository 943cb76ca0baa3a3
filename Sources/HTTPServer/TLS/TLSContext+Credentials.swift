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
