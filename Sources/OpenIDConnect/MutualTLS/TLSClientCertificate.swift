import Crypto
public import Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

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
    /// In DER.
    private let certificates: [Data]
    /// Nil for a key of another type than RSA, P-256 and Ed25519.
    private let publicKey: PublicJWK?

    /// A certificate that the TLS library accepts with its key; nil if the chain has no certificate.
    public init?(
        chain: [UInt8], privateKey: Secret, subject: String, validity: ClosedRange<Timestamp>, isSelfIssued: Bool
    ) {
        let blocks = PEMBlock.all(in: String(decoding: chain, as: UTF8.self))
        certificates = blocks.filter { $0.label.hasSuffix("CERTIFICATE") }.compactMap(\.bytes)
        guard let first = certificates.first else { return nil }
        self.chain = chain
        self.privateKey = privateKey
        self.subject = subject
        self.validity = validity
        self.isSelfIssued = isSelfIssued
        thumbprint = Base64URL.encode(Array(SHA256.hash(data: first)))
        identifier = Base64URL.encode(Array(SHA256.hash(data: chain + [0] + Array(privateKey.exposed.utf8))))
        publicKey = (try? ClientKey(parsing: privateKey))?.publicJWK
    }

    /// Whether its public key can be published.
    package var isPublishable: Bool { publicKey != nil }

    /// Writes the public key as a JSON Web Key with the certificates (RFC 7517 section 4.7), by which a provider knows
    /// a self-signed certificate (RFC 8705 section 2.2).
    package func writePublicKey(to json: inout JSONObjectWriter) {
        publicKey?.write(to: &json)
        json.add("kid", thumbprint)
        json.add("x5t#S256", thumbprint)
        json.add("x5c", certificates.map { $0.base64EncodedString() })
    }
}
