import CLatchkeyOpenSSL
public import HTTPCore
public import Primitives
import Synchronization

/// A server's certificate and key, and the authorities for client certificates, as PEM texts.
public struct TLSCredentials: Sendable {
    /// Whether clients send certificates.
    public enum Clients: String, Sendable, CaseIterable {
        /// Clients are not asked for one.
        case none
        /// Clients are asked and may send none; an untrusted certificate fails the handshake.
        case optional
        /// The handshake fails without a trusted certificate.
        case required
    }

    /// PEM: the server's certificate first, then the intermediates up to its authority.
    public var certificateChain: [UInt8]
    /// PEM without a passphrase: the key of the first certificate.
    public var privateKey: Secret
    public var clients: Clients
    /// PEM: the authorities that clients' certificates must chain to.
    public var clientAuthorities: [UInt8]

    /// Takes the texts as they are; ``ServerTLS`` checks them.
    public init(
        certificateChain: [UInt8], privateKey: Secret, clients: Clients = .none, clientAuthorities: [UInt8] = []
    ) {
        self.certificateChain = certificateChain
        self.privateKey = privateKey
        self.clients = clients
        self.clientAuthorities = clientAuthorities
    }
}

extension TLSContext {
    convenience init(_ credentials: TLSCredentials) throws(TLSError) {
        let key = Array(credentials.privateKey.exposed.utf8)
        try self.init { fault, reason in
            copenssl_context_make(
                credentials.certificateChain, credentials.certificateChain.count, key, key.count,
                credentials.clientAuthorities, credentials.clientAuthorities.count, credentials.clients.asked, &fault,
                &reason)
        }
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

/// A client's certificate that chains to a trusted authority.
public struct ClientCertificate: Sendable, Hashable {
    /// The subject's name (RFC 4514), such as `CN=service-1,O=Example`, cut at 1 KiB.
    public let subject: String
    /// The SHA-256 of the certificate, in hexadecimal digits.
    public let fingerprint: String
}

/// Why certificates or keys cannot be used.
public typealias TLSError = HTTPCore.TLSError

/// The credentials of TLS listeners. They can be replaced while the server runs: new handshakes use the new ones, and
/// open connections keep theirs.
public final class ServerTLS: Sendable {
    private let present: Mutex<TLSContext>

    /// - Throws: ``TLSError`` if the credentials cannot be used.
    public init(_ credentials: TLSCredentials) throws(TLSError) {
        present = Mutex(try TLSContext(credentials))
    }

    /// Takes over the credentials of another one for new handshakes.
    public func replace(with other: ServerTLS) {
        let context = other.context
        present.withLock { $0 = context }
    }

    /// The validity period of the server's certificate.
    public var validity: ClosedRange<Timestamp> { context.validity }

    var context: TLSContext { present.withLock { $0 } }
}
