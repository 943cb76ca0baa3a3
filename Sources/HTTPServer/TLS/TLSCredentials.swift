public import Primitives

/// What a server shows who it is with, and whom it asks to do so, as PEM texts.
public struct TLSCredentials: Sendable {
    /// Whether clients show certificates.
    public enum Clients: String, Sendable, CaseIterable {
        /// They are not asked.
        case none
        /// They are asked, and may have none; one that is not good ends the handshake.
        case optional
        /// Without a good one the handshake ends.
        case required
    }

    /// The server's certificate first, then those that lead to its authority.
    public var certificateChain: [UInt8]
    public var privateKey: Secret
    public var clients: Clients
    /// The authorities that clients' certificates have to lead to.
    public var clientAuthorities: [UInt8]

    public init(
        certificateChain: [UInt8], privateKey: Secret, clients: Clients = .none, clientAuthorities: [UInt8] = []
    ) {
        self.certificateChain = certificateChain
        self.privateKey = privateKey
        self.clients = clients
        self.clientAuthorities = clientAuthorities
    }
}

/// Why credentials cannot be used.
public struct TLSError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Code: String, Sendable, CaseIterable {
        case noMemory = "no_memory"
        case certificateUnreadable = "certificate_unreadable"
        case certificateRefused = "certificate_refused"
        case keyUnreadable = "key_unreadable"
        case keyEncrypted = "key_encrypted"
        case keyMismatch = "key_mismatch"
        case authoritiesUnreadable = "authorities_unreadable"
    }

    public let code: Code
    /// OpenSSL's word on it, such as `ee key too small`; empty if it has none. Never holds any of the key.
    public let detail: String

    public var description: String { detail.isEmpty ? reason : "\(reason) (\(detail))" }

    /// What is wrong.
    public var reason: String {
        switch code {
        case .noMemory: "there is no memory for a TLS context"
        case .certificateUnreadable: "has no certificate in PEM, or one that is damaged"
        case .certificateRefused: "has a certificate that is too weak to be used"
        case .keyUnreadable: "has no private key in PEM, or one that is damaged"
        case .keyEncrypted: "has a private key that needs a passphrase"
        case .keyMismatch: "has a private key that is not that of the first certificate"
        case .authoritiesUnreadable: "has no certificate of an authority in PEM, or one that is damaged"
        }
    }

    /// What to do.
    public var remedy: String {
        switch code {
        case .noMemory: "give the process more"
        case .certificateUnreadable: "give the server's certificate first, then those that lead to its authority"
        case .certificateRefused: "get one with an RSA key of 2048 bits or more or one of P-256, signed with SHA-256"
        case .keyUnreadable: "give the key that the certificate was made for"
        case .keyEncrypted: "take the passphrase away (openssl pkey -in … -out …), and keep the file to its user"
        case .keyMismatch: "give the two that were made together, the server's own certificate first"
        case .authoritiesUnreadable: "give the authorities' certificates, one after another"
        }
    }
}
