public import Primitives

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
    /// Whether clients send certificates.
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
