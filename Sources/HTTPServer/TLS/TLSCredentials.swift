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

/// Credentials that cannot be used.
public struct TLSError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The reason, as a stable code.
    public enum Code: String, Sendable, CaseIterable {
        /// OpenSSL could not allocate a context.
        case noMemory = "no_memory"
        /// No certificate in PEM, or a damaged one.
        case certificateUnreadable = "certificate_unreadable"
        /// A certificate that is too weak.
        case certificateRefused = "certificate_refused"
        /// No private key in PEM, or a damaged one.
        case keyUnreadable = "key_unreadable"
        /// A private key with a passphrase.
        case keyEncrypted = "key_encrypted"
        /// A private key of another certificate.
        case keyMismatch = "key_mismatch"
        /// No authority's certificate in PEM, or a damaged one.
        case authoritiesUnreadable = "authorities_unreadable"
    }

    /// The reason.
    public let code: Code
    /// OpenSSL's text, such as `ee key too small`; empty if there is none. Never contains any of the key.
    public let detail: String

    /// ``reason`` with ``detail``.
    public var description: String { detail.isEmpty ? reason : "\(reason) (\(detail))" }

    /// What is wrong.
    public var reason: String {
        switch code {
        case .noMemory: "OpenSSL has no memory for a TLS context"
        case .certificateUnreadable: "has no certificate in PEM, or a damaged one"
        case .certificateRefused: "has a certificate that is too weak"
        case .keyUnreadable: "has no private key in PEM, or a damaged one"
        case .keyEncrypted: "has a private key that needs a passphrase"
        case .keyMismatch: "has a private key that does not belong to the first certificate"
        case .authoritiesUnreadable: "has no authority's certificate in PEM, or a damaged one"
        }
    }

    /// What to do.
    public var remedy: String {
        switch code {
        case .noMemory: "give the process more memory"
        case .certificateUnreadable: "give the server's certificate first, then the intermediates up to its authority"
        case .certificateRefused: "get one with an RSA key of 2048 bits or more or one of P-256, signed with SHA-256"
        case .keyUnreadable: "give the key of the certificate"
        case .keyEncrypted:
            "remove the passphrase (openssl pkey -in … -out …), and let only the server's user read the file"
        case .keyMismatch: "give a matching pair, the server's own certificate first"
        case .authoritiesUnreadable: "give the authorities' certificates, one after another"
        }
    }
}
