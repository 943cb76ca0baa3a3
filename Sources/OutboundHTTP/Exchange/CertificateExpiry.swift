import CLatchkeyCurl
import Primitives

/// When a certificate's time is over, as libcurl tells it.
enum CertificateExpiry {
    /// Of the certificate the server showed when this connection was made; nil on a connection used again, on one
    /// without TLS, and where the TLS library does not tell.
    static func ofPeer(_ easy: UnsafeMutableRawPointer) -> Timestamp? {
        ccurl_certificate_expiry(easy).flatMap { moment(String(cString: $0)) }
    }

    /// Each TLS library has its own way to write it.
    static func moment(_ text: String) -> Timestamp? {
        let text = String(text.drop { $0 == " " })
        return UTCTime.moment(text, in: .openSSL) ?? UTCTime.moment(text, in: .certificate)
    }
}
