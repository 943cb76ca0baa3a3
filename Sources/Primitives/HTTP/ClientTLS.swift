import Synchronization

/// What a client presents for mutual TLS. It can be replaced while requests are sent: new connections present the new
/// certificate, and no connection that presented the old one is used again.
///
/// Equal is the same object only.
public final class ClientTLS: Sendable, Hashable {
    private let present: Mutex<TLSClientCertificate>

    /// Presents a certificate.
    public init(_ certificate: TLSClientCertificate) { present = Mutex(certificate) }

    /// The present certificate.
    public var certificate: TLSClientCertificate { present.withLock { $0 } }

    /// Presents another certificate from now on.
    public func replace(with certificate: TLSClientCertificate) { present.withLock { $0 = certificate } }

    public static func == (left: ClientTLS, right: ClientTLS) -> Bool { left === right }

    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// A client's certificate and its key, for mutual TLS (RFC 8705). The TLS library has read both.
public struct TLSClientCertificate: Sendable {
    /// PEM: the client's certificate first, then its intermediates.
    public let chain: [UInt8]
    /// PEM without a passphrase: the key of the first certificate.
    public let privateKey: Secret
    /// The subject of the first certificate (RFC 4514).
    public let subject: String
    /// When the first certificate is valid.
    public let validity: ClosedRange<Timestamp>
    /// Whether the first certificate names itself as its issuer.
    public let isSelfIssued: Bool
    /// The SHA-256 of the first certificate in base64url, as tokens that are bound to it have it in `x5t#S256` (RFC
    /// 8705 section 3.1).
    public let thumbprint: String
    /// The same for the same chain and key only.
    package let identifier: String
    /// Writes the public key as a JSON Web Key with the certificates (RFC 7517 section 4.7), by which a provider knows
    /// a self-signed certificate (RFC 8705 section 2.2); nil for a key of another type than RSA, P-256 and Ed25519.
    package let writePublicKey: (@Sendable (inout JSONObjectWriter) -> Void)?

    /// A certificate, with what was computed of it.
    package init(
        chain: [UInt8], privateKey: Secret, subject: String, validity: ClosedRange<Timestamp>, isSelfIssued: Bool,
        thumbprint: String, identifier: String, writePublicKey: (@Sendable (inout JSONObjectWriter) -> Void)?
    ) {
        self.chain = chain
        self.privateKey = privateKey
        self.subject = subject
        self.validity = validity
        self.isSelfIssued = isSelfIssued
        self.thumbprint = thumbprint
        self.identifier = identifier
        self.writePublicKey = writePublicKey
    }
}
