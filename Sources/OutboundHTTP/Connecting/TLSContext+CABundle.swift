import CLatchkeyOpenSSL
import HTTPCore

/// The context of a client's TLS sessions.
extension TLSContext {
    /// - Parameters:
    ///   - caBundle: The path of the only authorities to trust; nil for the system's.
    ///   - system: Where the system has its authorities; nil for OpenSSL's own places.
    convenience init(
        trusting caBundle: String?, system: OutboundHTTPConfiguration.SystemAuthorities?
    ) throws(OutboundHTTPStartError) {
        var fault = COPENSSL_SOUND
        var reason: UnsafePointer<CChar>?
        guard
            let made = copenssl_client_context_make(
                caBundle, system?.directory, system?.bundle, &fault, &reason)
        else {
            let text = reason.map { ": " + String(cString: $0) } ?? ""
            guard fault == COPENSSL_AUTHORITIES_UNREADABLE else {
                throw OutboundHTTPStartError(.library, "OpenSSL did not make a context\(text)")
            }
            throw OutboundHTTPStartError(.caBundle, "\(caBundle ?? "")\(text)")
        }
        self.init(adopting: made)
    }
}
