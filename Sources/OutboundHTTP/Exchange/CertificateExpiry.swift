import CLatchkeyCurl
import Primitives

/// When a server's certificate expires, from libcurl's certificate information.
enum CertificateExpiry {
    /// The expiry of the certificate that the server sent when this connection was made. Nil on a reused connection,
    /// without TLS, and if the TLS library does not report it.
    static func ofPeer(_ easy: UnsafeMutableRawPointer) -> Timestamp? {
        ccurl_certificate_expiry(easy).flatMap { moment(String(cString: $0)) }
    }

    /// Each TLS library has its own form.
    static func moment(_ text: String) -> Timestamp? {
        let text = String(text.drop { $0 == " " })
        return UTCTime.moment(text, in: .openSSL) ?? UTCTime.moment(text, in: .certificate)
    }
}
