import CLatchkeyOpenSSL
import HTTPCore

/// The context of a client's TLS sessions.
extension TLSContext {
    /// - Parameters:
    ///   - caBundle: The path of the only authorities to trust; nil for the system's.
    ///   - additional: The path of more authorities to trust; nil for none.
    ///   - system: Where the system has its authorities; nil for OpenSSL's own places.
    convenience init(
        trusting caBundle: String?, and additional: String?,
        system: OutboundHTTPConfiguration.SystemAuthorities?
    ) throws(OutboundHTTPStartError) {
        var fault = COPENSSL_SOUND
        var reason: UnsafePointer<CChar>?
        guard
            let made = copenssl_client_context_make(
                caBundle, additional, system?.directory, system?.bundle, &fault, &reason)
        else {
            let text = reason.map { ": " + String(cString: $0) } ?? ""
            guard fault == COPENSSL_AUTHORITIES_UNREADABLE else {
                throw OutboundHTTPStartError(.library, "OpenSSL did not make a context\(text)")
            }
            let paths = [caBundle, additional].compactMap(\.self).joined(separator: ", ")
            throw OutboundHTTPStartError(.caBundle, paths + text)
        }
        self.init(adopting: made)
    }
}
