/// A client's certificate that chains to a trusted authority.
public struct ClientCertificate: Sendable, Hashable {
    /// The subject's name (RFC 4514), such as `CN=service-1,O=Example`, cut at 1 KiB.
    public let subject: String
    /// The SHA-256 of the certificate, in hexadecimal digits.
    public let fingerprint: String
}
