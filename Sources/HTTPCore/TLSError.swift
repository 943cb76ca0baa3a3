package import CLatchkeyOpenSSL

/// Credentials that cannot be used.
public struct TLSError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The reason, as a stable code.
    public enum Code: String, Sendable, CaseIterable {
        case noMemory = "no_memory"
        case certificateUnreadable = "certificate_unreadable"
        case certificateRefused = "certificate_refused"
        case keyUnreadable = "key_unreadable"
        case keyEncrypted = "key_encrypted"
        case keyMismatch = "key_mismatch"
        case authoritiesUnreadable = "authorities_unreadable"
    }

    /// The reason.
    public let code: Code
    /// OpenSSL's text, such as `ee key too small`; empty if there is none. Never contains any of the key.
    public let detail: String

    package init(code: Code, detail: String) {
        self.code = code
        self.detail = detail
    }

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
        case .certificateUnreadable: "give the own certificate first, then the intermediates up to its authority"
        case .certificateRefused: "get one with an RSA key of 2048 bits or more or one of P-256, signed with SHA-256"
        case .keyUnreadable: "give the key of the certificate"
        case .keyEncrypted:
            "remove the passphrase (openssl pkey -in … -out …), and let only the server's user read the file"
        case .keyMismatch: "give a matching pair, the own certificate first"
        case .authoritiesUnreadable: "give the authorities' certificates, one after another"
        }
    }
}

extension TLSError.Code {
    /// - Parameter fault: Not sound.
    package init(_ fault: copenssl_fault) {
        switch fault {
        case COPENSSL_CERTIFICATE_UNREADABLE: self = .certificateUnreadable
        case COPENSSL_CERTIFICATE_REFUSED: self = .certificateRefused
        case COPENSSL_KEY_UNREADABLE: self = .keyUnreadable
        case COPENSSL_KEY_ENCRYPTED: self = .keyEncrypted
        case COPENSSL_KEY_MISMATCH: self = .keyMismatch
        case COPENSSL_AUTHORITIES_UNREADABLE: self = .authoritiesUnreadable
        default: self = .noMemory
        }
    }
}
