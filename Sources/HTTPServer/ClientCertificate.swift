/// The certificate a client has shown, and that led to an authority that is trusted for it.
public struct ClientCertificate: Sendable, Hashable {
    /// The name of its holder (RFC 4514), such as `CN=service-1,O=Example`; what is beyond 1 KiB is cut.
    public let subject: String
    /// The SHA-256 of the certificate, in hexadecimal digits.
    public let fingerprint: String
}
