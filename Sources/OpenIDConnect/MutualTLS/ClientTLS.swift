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
